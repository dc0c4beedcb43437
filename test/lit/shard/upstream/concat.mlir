// RUN: %compare(2) --rtol=0 --atol=0
// RUN: epl-compile %s --devices=cpu:2 --emit=local | FileCheck %s

// Columns beside columns are joined part by part; rows below rows are gathered first. MLIR's shard dialect knows no
// concatenations.

// CHECK: epl.concatenate {{.*}} : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x8xi32>
// CHECK: epl.concatenate {{.*}} : (tensor<8x4xi32>, tensor<8x4xi32>) -> tensor<16x4xi32>

func.func @main(%x: tensor<8x4xi32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> (tensor<8x8xi32>, tensor<16x4xi32>) {
  %0 = arith.muli %x, %x : tensor<8x4xi32>
  %1 = tensor.concat dim(1) %x, %0 : (tensor<8x4xi32>, tensor<8x4xi32>) -> tensor<8x8xi32>
  %2 = tensor.concat dim(0) %x, %0 : (tensor<8x4xi32>, tensor<8x4xi32>) -> tensor<16x4xi32>
  return %1, %2 : tensor<8x8xi32>, tensor<16x4xi32>
}
