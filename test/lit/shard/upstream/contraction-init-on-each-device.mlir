// RUN: %compare(2) --rtol=0 --atol=0
// RUN: epl-compile %s --devices=cpu:2 --emit=local | FileCheck %s --implicit-check-not=scf.if

// A product by columns, one by rows: a sum of parts that starts from zeros on each device. MLIR's shard dialect asks
// each device for its number and lets one of them start.

// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<8x4xi32>, tensor<4x3xi32>)
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<8x3xi32>, tensor<3x4xi32>)
// CHECK: epl.all_reduce %{{.*}} partial = sum{"model"}

epl.mesh @mesh axes ["data"=1, "model"=2]
#columns = #epl.sharding<@mesh, [{}, {"model"}]>
#rows = #epl.sharding<@mesh, [{"model"}, {}]>

func.func @main(%x: tensor<8x4xi32> {epl.role = "batch", epl.batch_dim = 0 : i64},
                %w1: tensor<4x6xi32> {epl.role = "constant", epl.sharding = #columns},
                %w2: tensor<6x4xi32> {epl.role = "constant", epl.sharding = #rows}) -> tensor<8x4xi32> {
  %z1 = arith.constant dense<0> : tensor<8x6xi32>
  %z2 = arith.constant dense<0> : tensor<8x4xi32>
  %0 = linalg.matmul ins(%x, %w1 : tensor<8x4xi32>, tensor<4x6xi32>) outs(%z1 : tensor<8x6xi32>) -> tensor<8x6xi32>
  %1 = arith.maxsi %0, %z1 : tensor<8x6xi32>
  %2 = linalg.matmul ins(%1, %w2 : tensor<8x6xi32>, tensor<6x4xi32>) outs(%z2 : tensor<8x4xi32>) -> tensor<8x4xi32>
  return %2 : tensor<8x4xi32>
}
