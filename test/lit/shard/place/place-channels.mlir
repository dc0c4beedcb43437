// RUN: epl-opt %s -epl-propagate -epl-place | FileCheck %s

// What comes from another mesh may be made of what is sent there before: it is distributed anew where it is read, not
// at the begin of the step, where no send of this mesh is done yet.

#forward = #epl.work<@tg0, forward>
epl.mesh @mesh0 axes ["data"=2] first 0 strides [2]
epl.mesh @mesh1 axes ["data"=2] first 1 strides [2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh0
epl.taskgraph @tg1 strategy(<replicate, 1>) on @mesh1

// CHECK-LABEL: func.func @step.mesh0
// CHECK-SAME: %[[RECEIVED:[a-z0-9]*]]: tensor<8x4xf32> {epl.channel = 1 : i64
// CHECK: %[[SENT:.*]] = math.exp
// CHECK-NEXT: %[[WHOLE:.*]] = epl.reshard %[[RECEIVED]]
// CHECK-NEXT: epl.sort %[[WHOLE]] dim 0
func.func @step.mesh0(%x: tensor<8x4xf32> {epl.position = 0 : i64, epl.role = "batch", epl.batch_dim = 0 : i64,
                                           epl.sharding = #epl.sharding<@mesh0, [{"data"}, {}]>},
                      %received: tensor<8x4xf32> {epl.channel = 1 : i64, epl.sharding = #epl.sharding<@mesh0, [{"data"}, {}]>})
    -> (tensor<8x4xf32> {epl.position = 0 : i64}, tensor<8x4xf32> {epl.channel = 0 : i64}) attributes {epl.mesh = @mesh0} {
  %0 = math.exp %x {epl.work = #forward} : tensor<8x4xf32>
  %1 = epl.sort %received dim 0 {epl.work = #forward} : (tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: f32, %b: f32):
    %less = arith.cmpf olt, %a, %b : f32
    epl.yield %less : i1
  }
  return %1, %0 : tensor<8x4xf32>, tensor<8x4xf32>
}

func.func @step.mesh1(%0: tensor<8x4xf32> {epl.channel = 0 : i64, epl.sharding = #epl.sharding<@mesh1, [{"data"}, {}]>})
    -> (tensor<8x4xf32> {epl.channel = 1 : i64}) attributes {epl.mesh = @mesh1} {
  %1 = math.sin %0 {epl.work = #epl.work<@tg1, forward>} : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
