// RUN: epl-opt %s --epl-form-micro-batches=count=4 | FileCheck %s

// Results of each micro-batch, as front ends write them: samples as (micro-batches, samples of one), and a sum over
// the latter. Each iteration has its own, without a sum over the samples of all; they are stacked. A sum of them over
// the micro-batches is carried.

#fwd = #epl.work<@tg0, forward>
epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// CHECK-LABEL: func.func public @of_each
// CHECK-SAME: -> (tensor<4x1x3xf32> {epl.caller_shape = array<i64: 4, 3>}, tensor<3xf32>)
// CHECK: %[[X:.*]] = epl.loop_slice <0, trip_count = 4, micro_batches = true> %arg0 {{.*}} -> tensor<2x3xf32>
// CHECK: %[[PARTS:.*]] = tensor.expand_shape %[[X]] {{.*}} : tensor<2x3xf32> into tensor<1x2x3xf32>
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[PARTS]] : tensor<1x2x3xf32>)
// CHECK: epl.loop_carry
// CHECK: %[[TOTAL:.*]] = epl.loop_last
// CHECK: %[[STACK:.*]] = epl.loop_stack <0, trip_count = 4, micro_batches = true> %[[SUM]] {{.*}} -> tensor<4x1x3xf32>
// CHECK: return %[[STACK]], %[[TOTAL]]
func.func public @of_each(%x: tensor<8x3xf32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<4x3xf32>, tensor<3xf32>) {
  %parts = tensor.expand_shape %x [[0, 1], [2]] output_shape [4, 2, 3] {epl.work = #fwd}
      : tensor<8x3xf32> into tensor<4x2x3xf32>
  %zeros = arith.constant {epl.work = #fwd} dense<0.0> : tensor<4x3xf32>
  %sums = linalg.generic {indexing_maps = [affine_map<(m, n, d) -> (m, n, d)>, affine_map<(m, n, d) -> (m, d)>],
                          iterator_types = ["parallel", "reduction", "parallel"], epl.work = #fwd}
      ins(%parts : tensor<4x2x3xf32>) outs(%zeros : tensor<4x3xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %r = arith.addf %acc, %a : f32
    linalg.yield %r : f32
  } -> tensor<4x3xf32>
  %zero = arith.constant {epl.work = #fwd} dense<0.0> : tensor<3xf32>
  %total = linalg.generic {indexing_maps = [affine_map<(m, d) -> (m, d)>, affine_map<(m, d) -> (d)>],
                           iterator_types = ["reduction", "parallel"], epl.work = #fwd}
      ins(%sums : tensor<4x3xf32>) outs(%zero : tensor<3xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %r = arith.addf %acc, %a : f32
    linalg.yield %r : f32
  } -> tensor<3xf32>
  return %sums, %total : tensor<4x3xf32>, tensor<3xf32>
}
