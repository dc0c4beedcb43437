// RUN: %compare(2) --rtol=0 --atol=0
// RUN: epl-compile %s --devices=cpu:2 --emit=local | FileCheck %s

// An addition of what is split by rows to what is split by columns: the one is brought to where the other is. MLIR's
// shard dialect crashes.

// CHECK: epl.all_to_all
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<{{4x4|8x2}}xi32>, tensor<{{4x4|8x2}}xi32>)

epl.mesh @mesh axes ["data"=2]

func.func @main(%x: tensor<8x4xi32> {epl.role = "batch", epl.batch_dim = 0 : i64},
                %y: tensor<8x4xi32> {epl.role = "constant", epl.sharding = #epl.sharding<@mesh, [{}, {"data"}]>}) -> tensor<8x4xi32> {
  %0 = arith.addi %x, %y : tensor<8x4xi32>
  return %0 : tensor<8x4xi32>
}
