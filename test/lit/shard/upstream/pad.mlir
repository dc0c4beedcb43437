// RUN: %compare(2) --rtol=0 --atol=0
// RUN: epl-compile %s --devices=cpu:2 --emit=local | FileCheck %s

// What stands before and behind the columns of each part, and of all rows. MLIR's shard dialect knows no padding.

// CHECK: tensor<4x4xi32> to tensor<4x5xi32>
// CHECK: tensor<8x4xi32> to tensor<11x4xi32>

func.func @main(%x: tensor<8x4xi32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> (tensor<8x5xi32>, tensor<11x4xi32>) {
  %c7 = arith.constant 7 : i32
  %0 = tensor.pad %x low[0, 1] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %c7 : i32
  } : tensor<8x4xi32> to tensor<8x5xi32>
  %1 = tensor.pad %x low[1, 0] high[2, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %c7 : i32
  } : tensor<8x4xi32> to tensor<11x4xi32>
  return %0, %1 : tensor<8x5xi32>, tensor<11x4xi32>
}
