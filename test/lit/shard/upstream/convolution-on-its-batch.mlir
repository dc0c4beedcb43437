// RUN: %compare(2) --rtol=0 --atol=0
// RUN: epl-compile %s --devices=cpu:2 --emit=local | FileCheck %s

// A convolution whose batch is split: MLIR's shard dialect takes "only projected permutations".

// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<2x8x8x3xi32>, tensor<3x3x3x4xi32>)
// CHECK-NOT: epl.all_

func.func @main(%x: tensor<4x8x8x3xi32> {epl.role = "batch", epl.batch_dim = 0 : i64}, %k: tensor<3x3x3x4xi32> {epl.role = "constant"})
    -> tensor<4x6x6x4xi32> {
  %z = arith.constant dense<0> : tensor<4x6x6x4xi32>
  %0 = linalg.conv_2d_nhwc_hwcf ins(%x, %k : tensor<4x8x8x3xi32>, tensor<3x3x3x4xi32>) outs(%z : tensor<4x6x6x4xi32>) -> tensor<4x6x6x4xi32>
  return %0 : tensor<4x6x6x4xi32>
}
