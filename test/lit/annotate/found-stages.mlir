// RUN: epl-opt %s --epl-annotate="devices=4 find-stages=2" | FileCheck %s
// RUN: epl-opt %s --epl-annotate=find-stages=2 | FileCheck %s --check-prefix=ONE

// A step whose stages the compiler finds: a task graph and a mesh for each, all work in the first. On one device they
// share it.

// CHECK: epl.mesh @mesh0 axes ["data"=2] first 0 strides [2]
// CHECK: epl.mesh @mesh1 axes ["data"=2] first 1 strides [2]
// CHECK: epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh0 {epl.stages = [@tg0_1]}
// CHECK-NEXT: epl.taskgraph @tg0_1 strategy(<replicate, 1>) on @mesh1
// CHECK-LABEL: func.func @step
// CHECK-NOT: epl.stages
// CHECK-COUNT-2: epl.work = #epl.work<@tg0, forward>
// ONE: epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh {epl.stages = [@tg0_1]}
// ONE-NEXT: epl.taskgraph @tg0_1 strategy(<replicate, 1>) on @mesh
func.func @step(%x: tensor<4xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<4xf32> {
  %0 = math.tanh %x : tensor<4xf32>
  %1 = math.sin %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
