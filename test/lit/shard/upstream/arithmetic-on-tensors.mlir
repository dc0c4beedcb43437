// RUN: %compare(2) --rtol=0 --atol=0
// RUN: epl-compile %s --devices=cpu:2 --emit=local | FileCheck %s

// Additions of whole tensors are loops over elements as any others. MLIR's shard dialect stops with "sharding interface
// is not implemented".

// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<4x4xf32>, tensor<4x4xf32>)
// CHECK: arith.addf %{{.*}}, %{{.*}} : f32

func.func @main(%x: tensor<8x4xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<8x4xf32> {
  %0 = arith.addf %x, %x : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
