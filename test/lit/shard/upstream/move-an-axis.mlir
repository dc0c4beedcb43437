// RUN: %compare(4) --rtol=0 --atol=0
// RUN: epl-compile %s --devices=cpu:4 --emit=local | FileCheck %s

// From two split dimensions to one that both axes split. MLIR 22's shard dialect cuts the rows and leaves the columns as
// they are (llvm-project #180962).

// CHECK: epl.all_to_all
// CHECK-NOT: epl.all_gather

epl.mesh @mesh axes ["data"=2, "model"=2]

func.func @main(%a: tensor<8x4xi32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.sharding = #epl.sharding<@mesh, [{"data"}, {"model"}]>},
                %s: tensor<8x4xi32> {epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{"data", "model"}, {}]>})
    -> (tensor<8x4xi32> {epl.updates = 1 : i64}) {
  %0 = arith.addi %a, %a : tensor<8x4xi32>
  return %0 : tensor<8x4xi32>
}
