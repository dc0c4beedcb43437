// RUN: epl-opt %s | epl-opt | FileCheck %s
// RUN: epl-opt %s --mlir-print-op-generic | epl-opt | FileCheck %s

// CHECK: epl.mesh @one axes []
epl.mesh @one axes []
// CHECK: epl.mesh @mesh axes ["data"=2, "model"=4]{{$}}
epl.mesh @mesh axes ["data"=2, "model"=4]
// CHECK: epl.mesh @second axes ["data"=2, "model"=2] first 1 strides [3, 1]
epl.mesh @second axes ["data"=2, "model"=2] first 1 strides [3, 1]
