// RUN: epl-opt %s -epl-seed-batch -epl-seed-split -epl-seed-zero=level=v1 | FileCheck %s --check-prefixes=CHECK,V1
// RUN: epl-opt %s -epl-seed-batch -epl-seed-split -epl-seed-zero=level=v3 | FileCheck %s --check-prefixes=CHECK,V3

// Of the body's state there is a copy on every device, so that all share it; of the head's only along "data". Where the
// axes do not divide one dimension together, they take two.

#forward = #epl.work<@body, forward>
#head = #epl.work<@head, forward>
#apply = #epl.work<@head, apply>

epl.mesh @mesh axes ["data"=2, "model"=2]
epl.taskgraph @body strategy(<replicate, 1>) on @mesh
epl.taskgraph @head strategy(<split, 2>) on @mesh

// CHECK-LABEL: func.func @step
// V1-SAME: "w", epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{}, {}]>
// V3-SAME: "w", epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{"data"}, {"model"}]>
// V1-SAME: "head", epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{}, {"model"}]>
// V3-SAME: "head", epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{"data"}, {"model"}]>
// CHECK-SAME: "momentum", epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{"data"}, {"model"}]>
// CHECK-SAME: "bias", epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{"data", "model"}]>
func.func @step(%w: tensor<6x4xf32> {epl.role = "state", epl.name = "w"},
                %v: tensor<4x12xf32> {epl.role = "state", epl.name = "head"},
                %momentum: tensor<6x4xf32> {epl.role = "state", epl.name = "momentum"},
                %bias: tensor<4xf32> {epl.role = "state", epl.name = "bias"},
                %x: tensor<16x6xf32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<6x4xf32> {epl.updates = 0 : i64}, tensor<4x12xf32> {epl.updates = 1 : i64},
        tensor<6x4xf32> {epl.updates = 2 : i64}, tensor<4xf32> {epl.updates = 3 : i64}, tensor<16x12xf32>) {
  %z0 = arith.constant {epl.work = #forward} dense<0.0> : tensor<16x4xf32>
  // V3: epl.reshard %arg0 to <@mesh, [{}, {}]> {epl.work = #epl.work<@body, forward>}
  %y = linalg.matmul {epl.work = #forward} ins(%x, %w : tensor<16x6xf32>, tensor<6x4xf32>) outs(%z0 : tensor<16x4xf32>) -> tensor<16x4xf32>
  %z1 = arith.constant {epl.work = #head} dense<0.0> : tensor<16x12xf32>
  // V3: epl.reshard %arg1 to <@mesh, [{}, {"model"}]> {epl.work = #epl.work<@head, forward>}
  %o = linalg.matmul {epl.work = #head} ins(%y, %v : tensor<16x4xf32>, tensor<4x12xf32>) outs(%z1 : tensor<16x12xf32>) -> tensor<16x12xf32>
  %0 = arith.addf %momentum, %w {epl.work = #apply} : tensor<6x4xf32>
  %1 = arith.addf %bias, %bias {epl.work = #apply} : tensor<4xf32>
  return %w, %v, %0, %1, %o : tensor<6x4xf32>, tensor<4x12xf32>, tensor<6x4xf32>, tensor<4xf32>, tensor<16x12xf32>
}
