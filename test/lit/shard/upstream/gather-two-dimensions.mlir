// RUN: %compare(4) --rtol=0 --atol=0
// RUN: epl-compile %s --devices=cpu:4 --emit=local | FileCheck %s

// From two split dimensions to none. MLIR 22's shard dialect gathers one of them (llvm-project #180962).

// CHECK-DAG: epl.all_gather %{{.*}} dim 0
// CHECK-DAG: epl.all_gather %{{.*}} dim 1

epl.mesh @mesh axes ["data"=2, "model"=2]

func.func @main(%a: tensor<8x4xi32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.sharding = #epl.sharding<@mesh, [{"data"}, {"model"}]>},
                %s: tensor<8x4xi32> {epl.role = "state"}) -> (tensor<8x4xi32> {epl.updates = 1 : i64}) {
  %0 = arith.addi %a, %a : tensor<8x4xi32>
  return %0 : tensor<8x4xi32>
}
