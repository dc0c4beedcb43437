// RUN: epl-opt %s --epl-form-micro-batches=count=4 --epl-split-meshes | FileCheck %s --check-prefix=SPLIT
// RUN: epl-opt %s --epl-shard="micro-batches=4 split-backward=true" | FileCheck %s --check-prefix=TASKS

// Two stages in four micro-batches. The body sends each iteration's activations, and receives the gradient of these:
// a channel carries those of all iterations, along a dimension of its own. Sums over samples are carried where they
// are made, so that none of them is sent. Each mesh cuts the batch by itself.

#fwd0 = #epl.work<@tg0, forward>
#fwd1 = #epl.work<@tg1, forward>
#bwd0 = #epl.work<@tg0, backward>
#bwd1 = #epl.work<@tg1, backward>
#apply0 = #epl.work<@tg0, apply>
#apply1 = #epl.work<@tg1, apply>
#all = affine_map<(n, d) -> (n, d)>
#row = affine_map<(n, d) -> (d)>

epl.mesh @mesh0 axes ["data"=1]
epl.mesh @mesh1 axes ["data"=1] first 1 strides [1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh0
epl.taskgraph @tg1 strategy(<replicate, 1>) on @mesh1

// SPLIT-LABEL: func.func @step.mesh0
// SPLIT-SAME: %[[X:arg[0-9]+]]: tensor<4x2x3xf32> {epl.batch_dim = 1 : i64, epl.caller_shape = array<i64: 8, 3>
// SPLIT-SAME: %[[DH:arg[0-9]+]]: tensor<4x2x3xf32> {epl.batch_dim = 1 : i64, epl.channel = 1 : i64, epl.messages}
// SPLIT-SAME: tensor<4x2x3xf32> {epl.channel = 0 : i64, epl.messages})
// SPLIT: %[[X0:.*]] = epl.loop_slice <0, trip_count = 4, micro_batches = true> %[[X]]
// SPLIT: %[[H:.*]] = linalg.generic {{.*}} ins(%[[X0]]
// SPLIT: epl.loop_slice <0, trip_count = 4, micro_batches = true> %[[DH]] {epl.work = #epl.work<@tg0, backward>}
// SPLIT: %[[SENT:.*]] = epl.loop_stack <0, trip_count = 4, micro_batches = true> %[[H]]
// SPLIT: epl.loop_last
// SPLIT: return {{.*}}, %[[SENT]]

// SPLIT-LABEL: func.func @step.mesh1
// SPLIT-SAME: %[[X:arg[0-9]+]]: tensor<4x2x3xf32> {epl.batch_dim = 1 : i64, epl.caller_shape = array<i64: 8, 3>
// SPLIT-SAME: %[[H:arg[0-9]+]]: tensor<4x2x3xf32> {epl.batch_dim = 1 : i64, epl.channel = 0 : i64, epl.messages}
// SPLIT: epl.loop_slice {{.*}} %[[H]]
// SPLIT: epl.loop_slice {{.*}} %[[X]]
// SPLIT: epl.loop_carry
// SPLIT: epl.loop_stack
// SPLIT: epl.loop_last

// TASKS-LABEL: func.func @step.mesh0
// TASKS: epl.task <@tg0, forward>
// TASKS: epl.task <@tg0, backward_input>
// TASKS-NOT: backward_weight
// TASKS: epl.task <@tg0, apply>
// TASKS-LABEL: func.func @step.mesh1
// TASKS-DAG: %[[DH:.*]] = epl.task <@tg1, backward_input>
// TASKS-DAG: epl.task <@tg1, backward_weight>
// TASKS: epl.loop_stack {{.*}} %[[DH]]
func.func public @step(%w0: tensor<3xf32> {epl.role = "state"}, %w1: tensor<3xf32> {epl.role = "state"},
                %x: tensor<8x3xf32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<3xf32> {epl.updates = 0 : i64}, tensor<3xf32> {epl.updates = 1 : i64}) {
  %none = tensor.empty() {epl.work = #fwd0} : tensor<8x3xf32>
  %zero = arith.constant {epl.work = #bwd0} dense<0.0> : tensor<3xf32>
  %h = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"], epl.work = #fwd0}
      ins(%x, %w0 : tensor<8x3xf32>, tensor<3xf32>) outs(%none : tensor<8x3xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<8x3xf32>
  %y = linalg.generic {indexing_maps = [#all, #row, #all, #all], iterator_types = ["parallel", "parallel"], epl.work = #fwd1}
      ins(%h, %w1, %x : tensor<8x3xf32>, tensor<3xf32>, tensor<8x3xf32>) outs(%none : tensor<8x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.subf %p, %c : f32
    linalg.yield %r : f32
  } -> tensor<8x3xf32>
  %dh = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"], epl.work = #bwd1}
      ins(%y, %w1 : tensor<8x3xf32>, tensor<3xf32>) outs(%none : tensor<8x3xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<8x3xf32>
  %dw1 = linalg.generic {indexing_maps = [#all, #all, #row], iterator_types = ["reduction", "parallel"], epl.work = #bwd1}
      ins(%y, %h : tensor<8x3xf32>, tensor<8x3xf32>) outs(%zero : tensor<3xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %acc, %p : f32
    linalg.yield %r : f32
  } -> tensor<3xf32>
  %dw0 = linalg.generic {indexing_maps = [#all, #all, #row], iterator_types = ["reduction", "parallel"], epl.work = #bwd0}
      ins(%dh, %x : tensor<8x3xf32>, tensor<8x3xf32>) outs(%zero : tensor<3xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %acc, %p : f32
    linalg.yield %r : f32
  } -> tensor<3xf32>
  %n0 = arith.subf %w0, %dw0 {epl.work = #apply0} : tensor<3xf32>
  %n1 = arith.subf %w1, %dw1 {epl.work = #apply1} : tensor<3xf32>
  return %n0, %n1 : tensor<3xf32>, tensor<3xf32>
}
