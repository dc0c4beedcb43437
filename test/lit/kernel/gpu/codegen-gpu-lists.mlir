// RUN: epl-opt %s --epl-codegen-gpu="threads=1" | FileCheck %s

// Code of launches that follow one another has an entry for lists of launches, too: @often and @same are one code in
// two sizes. Of @once there is one launch, and of @chain each launch reads what the one before has made.

// CHECK: epl.binary ptx
// CHECK-SAME: .visible .entry often(
// CHECK-SAME: .visible .entry often$list(
// The row of the block, and of that row the first block, the number of blocks and the arguments.
// CHECK-SAME: %ctaid.x
// CHECK-SAME: ld.global.nc.b32
// CHECK-SAME: ld.global.nc.b64
// CHECK-SAME: st.global.b32
// CHECK-NOT: $list(
epl.kernel @often fusion {
^bb0(%x: tensor<1000xf32>):
  epl.yield %x : tensor<1000xf32>
} {extent = 1000 : i64, form = "flat", workspace = 0 : i64}
func.func private @often.body(%x: memref<1000xf32>, %y: memref<1000xf32>, %workspace: memref<0xi8>, %axes: memref<1xi64>, %begin: i64, %end: i64)
    attributes {epl.kernel = @often} {
  %i = arith.index_cast %begin : i64 to index
  %0 = memref.load %x[%i] : memref<1000xf32>
  %1 = arith.mulf %0, %0 : f32
  memref.store %1, %y[%i] : memref<1000xf32>
  return
}
epl.kernel @same fusion {
^bb0(%x: tensor<7xf32>):
  epl.yield %x : tensor<7xf32>
} {extent = 7 : i64, form = "flat", workspace = 0 : i64}
func.func private @same.body(%x: memref<7xf32>, %y: memref<7xf32>, %workspace: memref<0xi8>, %axes: memref<1xi64>, %begin: i64, %end: i64)
    attributes {epl.kernel = @same} {
  %i = arith.index_cast %begin : i64 to index
  %0 = memref.load %x[%i] : memref<7xf32>
  %1 = arith.mulf %0, %0 : f32
  memref.store %1, %y[%i] : memref<7xf32>
  return
}
epl.kernel @once fusion {
^bb0(%x: tensor<1000xf32>):
  epl.yield %x : tensor<1000xf32>
} {extent = 1000 : i64, form = "flat", workspace = 0 : i64}
func.func private @once.body(%x: memref<1000xf32>, %y: memref<1000xf32>, %workspace: memref<0xi8>, %axes: memref<1xi64>, %begin: i64, %end: i64)
    attributes {epl.kernel = @once} {
  %i = arith.index_cast %begin : i64 to index
  %0 = memref.load %x[%i] : memref<1000xf32>
  memref.store %0, %y[%i] : memref<1000xf32>
  return
}
epl.kernel @chain fusion {
^bb0(%x: tensor<1000xf32>):
  epl.yield %x : tensor<1000xf32>
} {extent = 1000 : i64, form = "flat", workspace = 0 : i64}
func.func private @chain.body(%x: memref<1000xf32>, %y: memref<1000xf32>, %workspace: memref<0xi8>, %axes: memref<1xi64>, %begin: i64, %end: i64)
    attributes {epl.kernel = @chain} {
  %i = arith.index_cast %begin : i64 to index
  %0 = memref.load %x[%i] : memref<1000xf32>
  %1 = arith.addf %0, %0 : f32
  memref.store %1, %y[%i] : memref<1000xf32>
  return
}
func.func @step(%x: tensor<1000xf32>, %y: tensor<7xf32>) -> (tensor<1000xf32>, tensor<7xf32>) {
  %0 = epl.launch @often(%x) : (tensor<1000xf32>) -> (tensor<1000xf32>)
  %1 = epl.launch @same(%y) : (tensor<7xf32>) -> (tensor<7xf32>)
  %2 = epl.launch @once(%0) : (tensor<1000xf32>) -> (tensor<1000xf32>)
  %3 = epl.launch @chain(%2) : (tensor<1000xf32>) -> (tensor<1000xf32>)
  %4 = epl.launch @chain(%3) : (tensor<1000xf32>) -> (tensor<1000xf32>)
  return %4, %1 : tensor<1000xf32>, tensor<7xf32>
}
