// RUN: epl-opt %s --split-input-file | epl-opt --split-input-file | FileCheck %s
// RUN: epl-opt %s --split-input-file --mlir-print-op-generic | epl-opt --split-input-file | FileCheck %s

// CHECK: epl.mesh @mesh axes ["data"=2, "model"=2, "rows"=3]
epl.mesh @mesh axes ["data"=2, "model"=2, "rows"=3]
// CHECK: epl.taskgraph @tg0 strategy(<replicate, 1>)
epl.taskgraph @tg0 strategy(<replicate, 1>)
// CHECK: epl.taskgraph @tg1 strategy(<split, 4>) on @mesh name("head")
epl.taskgraph @tg1 strategy(<split, 4>) on @mesh name("head")
// CHECK: epl.taskgraph @tg2 strategy(<split, 2>) dims([#epl.dim_constraint<"wq" = 1>, #epl.dim_constraint<"wo" whole>])
epl.taskgraph @tg2 strategy(<split, 2>) dims([#epl.dim_constraint<"wq" = 1>, #epl.dim_constraint<"wo" whole>])

// CHECK-LABEL: func.func @reshard
func.func @reshard(%x: tensor<12x4xf32>) {
  // CHECK: epl.reshard %{{.*}} to <@mesh, [{"data", "rows"}, {"model"}]> : tensor<12x4xf32>
  %0 = epl.reshard %x to <@mesh, [{"data", "rows"}, {"model"}]> : tensor<12x4xf32>
  // CHECK: epl.reshard %{{.*}} to <@mesh, [{}, {}], partial = max{"model"}> : tensor<12x4xf32>
  %2 = epl.reshard %0 to <@mesh, [{}, {}], partial = max{"model"}> : tensor<12x4xf32>
  // CHECK: epl.reshard %{{.*}} to <@mesh, [{}, {}]> {epl.work = #epl.work<@tg0, forward>} : tensor<12x4xf32>
  %1 = epl.reshard %0 to <@mesh, [{}, {}]> {epl.work = #epl.work<@tg0, forward>} : tensor<12x4xf32>
  return
}

// CHECK-LABEL: func.func @concatenate
func.func @concatenate(%a: tensor<4x2xf32>, %b: tensor<4x3xf32>) {
  // CHECK: epl.concatenate %{{.*}} dim 0 : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %0 = epl.concatenate %a dim 0 : (tensor<4x2xf32>) -> tensor<4x2xf32>
  // CHECK: epl.concatenate %{{.*}}, %{{.*}} dim 1 : (tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<4x5xf32>
  %1 = epl.concatenate %a, %b dim 1 : (tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<4x5xf32>
  return
}
