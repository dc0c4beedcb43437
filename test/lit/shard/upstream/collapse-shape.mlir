// RUN: %compare(2) --rtol=0 --atol=0
// RUN: epl-compile %s --devices=cpu:2 --emit=local | FileCheck %s

// Dimensions as one, once with the split one outermost and once with it within: there it is no part of the whole, and
// the rows are gathered. MLIR's shard dialect knows no reshapes.

// CHECK: tensor.collapse_shape {{.*}} : tensor<4x6xi32> into tensor<24xi32>
// CHECK: tensor.collapse_shape {{.*}} : tensor<6x8xi32> into tensor<48xi32>

func.func @main(%x: tensor<8x6xi32> {epl.role = "batch", epl.batch_dim = 0 : i64}, %y: tensor<6x8xi32> {epl.role = "batch", epl.batch_dim = 1 : i64})
    -> (tensor<48xi32>, tensor<48xi32>) {
  %0 = tensor.collapse_shape %x [[0, 1]] : tensor<8x6xi32> into tensor<48xi32>
  %1 = tensor.collapse_shape %y [[0, 1]] : tensor<6x8xi32> into tensor<48xi32>
  %2 = arith.muli %0, %0 : tensor<48xi32>
  %3 = arith.muli %1, %1 : tensor<48xi32>
  return %2, %3 : tensor<48xi32>, tensor<48xi32>
}
