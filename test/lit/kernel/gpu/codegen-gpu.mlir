// RUN: epl-opt %s --epl-codegen-gpu="gpu=sm_90 threads=1" | FileCheck %s
// RUN: epl-opt %s --epl-codegen-gpu | FileCheck %s --check-prefix=LEAST

// The functions of all phases of all kernels become one module. @k1 is the code of @k0: both have the same entries. The
// threads of a slice, 32 here, are a group; where the grid has too few groups, these run slices in a loop.

// CHECK: epl.kernel @k0 fusion
// CHECK-NOT: symbol
// CHECK: epl.kernel @k1 fusion
// CHECK: symbol = "k0"
// CHECK-NOT: func.func
// CHECK-NOT: memref.global
// CHECK: epl.binary ptx("sm_90") isa 78 []
// CHECK-SAME: .version 7.8
// CHECK-SAME: .target sm_90
// CHECK-SAME: .visible .entry k0(
// CHECK-SAME: fma.rn.f64
// CHECK-SAME: .visible .entry k0$1(
// CHECK-SAME: shr.u64
// CHECK-SAME: %nctaid.x
// CHECK-NOT: .visible .entry k1(
// LEAST: epl.binary ptx("sm_80") isa 70 []
epl.kernel @k0 fusion {
^bb0(%x: tensor<1000xf64>):
  epl.yield %x : tensor<1000xf64>
} {extent = 1000 : i64, form = "flat", workspace = 0 : i64}
func.func private @k0.body(%x: memref<1000xf64>, %y: memref<1000xf64>, %workspace: memref<0xi8>, %axes: memref<1xi64>, %begin: i64, %end: i64)
    attributes {epl.kernel = @k0} {
  %i = arith.index_cast %begin : i64 to index
  %0 = memref.load %x[%i] : memref<1000xf64>
  %1 = math.sin %0 : f64
  memref.store %1, %y[%i] : memref<1000xf64>
  return
}

func.func private @k0$1.body(%x: memref<1000xf64>, %y: memref<1000xf64>, %workspace: memref<0xi8>, %axes: memref<1xi64>, %begin: i64, %end: i64)
    attributes {epl.kernel = @k0, passthrough = [["epl-group", "32"], "epl-rounds"]} {
  %i = arith.index_cast %begin : i64 to index
  %0 = memref.load %x[%i] : memref<1000xf64>
  memref.store %0, %y[%i] : memref<1000xf64>
  return
}

epl.kernel @k1 fusion {
^bb0(%x: tensor<3xf64>):
  epl.yield %x : tensor<3xf64>
} {extent = 3 : i64, form = "flat", workspace = 0 : i64}
func.func private @k1.body(%x: memref<3xf64>, %y: memref<3xf64>, %workspace: memref<0xi8>, %axes: memref<1xi64>, %begin: i64, %end: i64)
    attributes {epl.kernel = @k1} {
  %i = arith.index_cast %begin : i64 to index
  %0 = memref.load %x[%i] : memref<3xf64>
  %1 = math.sin %0 : f64
  memref.store %1, %y[%i] : memref<3xf64>
  return
}
func.func private @k1$1.body(%x: memref<3xf64>, %y: memref<3xf64>, %workspace: memref<0xi8>, %axes: memref<1xi64>, %begin: i64, %end: i64)
    attributes {epl.kernel = @k1, passthrough = [["epl-group", "32"], "epl-rounds"]} {
  %i = arith.index_cast %begin : i64 to index
  %0 = memref.load %x[%i] : memref<3xf64>
  memref.store %0, %y[%i] : memref<3xf64>
  return
}
