// RUN: %compare(4) --rtol=0 --atol=0
// RUN: epl-compile %s --devices=cpu:4 --emit=local | FileCheck %s

// Features as heads: four devices split 8 x 3 along the heads; 6 x 4 they split before and after, with the heads whole in
// between. MLIR's shard dialect knows no reshapes.

// CHECK: tensor.expand_shape {{.*}} : tensor<2x6xi32> into tensor<2x2x3xi32>
// CHECK: tensor.expand_shape {{.*}} : tensor<2x24xi32> into tensor<2x6x4xi32>

epl.mesh @mesh axes ["data"=1, "model"=4]

func.func @main(%x: tensor<2x24xi32> {epl.role = "constant", epl.sharding = #epl.sharding<@mesh, [{}, {"model"}]>})
    -> (tensor<2x8x3xi32>, tensor<2x6x4xi32>) {
  %0 = tensor.expand_shape %x [[0], [1, 2]] output_shape [2, 8, 3] : tensor<2x24xi32> into tensor<2x8x3xi32>
  %1 = tensor.expand_shape %x [[0], [1, 2]] output_shape [2, 6, 4] : tensor<2x24xi32> into tensor<2x6x4xi32>
  %2 = arith.muli %0, %0 : tensor<2x8x3xi32>
  %3 = arith.muli %1, %1 : tensor<2x6x4xi32>
  return %2, %3 : tensor<2x8x3xi32>, tensor<2x6x4xi32>
}
