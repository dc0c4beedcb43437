// RUN: %compare(2)
// RUN: epl-compile %s --devices=cpu:2 --emit=local | FileCheck %s

// Along the columns of parts of the rows nothing is exchanged. Along the split rows their sums are; the maxima are taken
// of all rows, since upstream's maximum that ignores NaN is none that devices combine. MLIR's shard dialect stops with
// "sharding interface is not implemented".

// CHECK: arith.maxnumf
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<4x4xf32>) outs(%{{.*}} : tensor<4xf32>)
// CHECK: epl.all_reduce %{{.*}} partial = sum{"data"}

func.func @main(%x: tensor<8x4xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %e = tensor.empty() : tensor<8x4xf32>
  %0 = linalg.softmax dimension(1) ins(%x : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = linalg.softmax dimension(0) ins(%x : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0, %1 : tensor<8x4xf32>, tensor<8x4xf32>
}
