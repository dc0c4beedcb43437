// RUN: epl-opt %s | epl-opt | FileCheck %s
// RUN: epl-opt %s --mlir-print-op-generic | epl-opt | FileCheck %s

// CHECK: epl.mesh @one axes []
epl.mesh @one axes []
// CHECK: epl.mesh @mesh axes ["data"=2, "model"=4]{{$}}
epl.mesh @mesh axes ["data"=2, "model"=4]
// A role is printed where it is not the one that the name is.
// CHECK: epl.mesh @roles axes ["rows"=2 : data, "columns"=4 : model, "data2"=2, "data"=2 : none, "model"=1 : data, "depth"=3]
epl.mesh @roles axes ["rows"=2 : data, "columns"=4 : model, "data2"=2 : data, "data"=2 : none, "model"=1 : data, "depth"=3 : none]
// CHECK: epl.mesh @second axes ["data"=2, "model"=2] first 1 strides [3, 1]
epl.mesh @second axes ["data"=2, "model"=2] first 1 strides [3, 1]
