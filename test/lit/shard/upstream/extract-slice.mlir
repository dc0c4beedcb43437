// RUN: %compare(2) --rtol=0 --atol=0
// RUN: epl-compile %s --devices=cpu:2 --emit=local | FileCheck %s

// A slice of whole rows is one of each part's rows; one of some rows is taken from all. MLIR's shard dialect knows no
// slices.

// CHECK: tensor.extract_slice {{.*}} : tensor<4x4xi32> to tensor<4x2xi32>
// CHECK: tensor.extract_slice {{.*}} : tensor<8x4xi32> to tensor<3x4xi32>

func.func @main(%x: tensor<8x4xi32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> (tensor<8x2xi32>, tensor<3x4xi32>) {
  %0 = tensor.extract_slice %x[0, 1] [8, 2] [1, 1] : tensor<8x4xi32> to tensor<8x2xi32>
  %1 = tensor.extract_slice %x[1, 0] [3, 4] [2, 1] : tensor<8x4xi32> to tensor<3x4xi32>
  %2 = arith.muli %0, %0 : tensor<8x2xi32>
  %3 = arith.muli %1, %1 : tensor<3x4xi32>
  return %2, %3 : tensor<8x2xi32>, tensor<3x4xi32>
}
