// RUN: epl-opt %s -epl-propagate -epl-place | FileCheck %s

// What iterations receive is distributed anew in each of them, where the next op wants another part than comes: a
// reshard of the messages of all would wait for the last. One that nobody distributes is sharded where it comes.

#backward = #epl.work<@tg0, backward>
epl.mesh @mesh0 axes ["model"=2] first 0 strides [1]
epl.mesh @mesh1 axes ["data"=1] first 2 strides [1]
epl.taskgraph @tg0 strategy(<split, 2>) on @mesh0
epl.taskgraph @tg1 strategy(<replicate, 1>) on @mesh1

// CHECK-LABEL: func.func @step.mesh0
// CHECK-SAME: %[[WHOLE:arg[0-9]+]]: tensor<2x4x6xf32> {epl.channel = 0 : i64, epl.messages, epl.sharding = #epl.sharding<@mesh0, [{}, {}, {}]>}
// CHECK-SAME: %[[OPEN:arg[0-9]+]]: tensor<2x4x6xf32> {epl.channel = 1 : i64, epl.messages, epl.sharding = #epl.sharding<@mesh0, [{}, {}, {"model"}]>}
// CHECK: %[[PART:.*]] = epl.loop_slice {{.*}} %[[WHOLE]] {
// CHECK-NEXT: %[[COLUMNS:.*]] = epl.reshard %[[PART]] to <@mesh0, [{}, {"model"}]>
// CHECK-NEXT: %[[OTHER:.*]] = epl.loop_slice {{.*}} %[[OPEN]] {
// CHECK: linalg.generic {{.*}} ins(%[[COLUMNS]], %[[OTHER]], %{{.*}} :
func.func @step.mesh0(%w: tensor<6xf32> {epl.position = 0 : i64, epl.role = "constant", epl.sharding = #epl.sharding<@mesh0, [{"model"}]>},
                      %whole: tensor<2x4x6xf32> {epl.channel = 0 : i64, epl.messages, epl.sharding = #epl.sharding<@mesh0, [{}, {}, {}]>},
                      %open: tensor<2x4x6xf32> {epl.channel = 1 : i64, epl.messages})
    -> (tensor<2x4x6xf32> {epl.position = 0 : i64}) attributes {epl.mesh = @mesh0} {
  %0 = epl.loop_slice <0, trip_count = 2, micro_batches = true> %whole {epl.work = #backward} : tensor<2x4x6xf32> -> tensor<4x6xf32>
  %1 = epl.loop_slice <0, trip_count = 2, micro_batches = true> %open {epl.work = #backward} : tensor<2x4x6xf32> -> tensor<4x6xf32>
  %2 = tensor.empty() {epl.work = #backward} : tensor<4x6xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(n, d) -> (n, d)>, affine_map<(n, d) -> (n, d)>, affine_map<(n, d) -> (d)>, affine_map<(n, d) -> (n, d)>],
                       iterator_types = ["parallel", "parallel"], epl.work = #backward}
      ins(%0, %1, %w : tensor<4x6xf32>, tensor<4x6xf32>, tensor<6xf32>) outs(%2 : tensor<4x6xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %out: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.mulf %p, %c : f32
    linalg.yield %q : f32
  } -> tensor<4x6xf32>
  %4 = epl.loop_stack <0, trip_count = 2, micro_batches = true> %3 {epl.work = #backward} : tensor<4x6xf32> -> tensor<2x4x6xf32>
  return %4 : tensor<2x4x6xf32>
}

func.func @step.mesh1(%x: tensor<2x4x6xf32> {epl.position = 1 : i64, epl.role = "constant", epl.sharding = #epl.sharding<@mesh1, [{}, {}, {}]>})
    -> (tensor<2x4x6xf32> {epl.channel = 0 : i64, epl.messages}, tensor<2x4x6xf32> {epl.channel = 1 : i64, epl.messages}) attributes {epl.mesh = @mesh1} {
  %0 = epl.loop_slice <0, trip_count = 2, micro_batches = true> %x {epl.work = #epl.work<@tg1, forward>} : tensor<2x4x6xf32> -> tensor<4x6xf32>
  %2 = math.sin %0 {epl.work = #epl.work<@tg1, forward>} : tensor<4x6xf32>
  %1 = epl.loop_stack <0, trip_count = 2, micro_batches = true> %0 {epl.work = #epl.work<@tg1, forward>} : tensor<4x6xf32> -> tensor<2x4x6xf32>
  %3 = epl.loop_stack <0, trip_count = 2, micro_batches = true> %2 {epl.work = #epl.work<@tg1, forward>} : tensor<4x6xf32> -> tensor<2x4x6xf32>
  return %1, %3 : tensor<2x4x6xf32>, tensor<2x4x6xf32>
}
