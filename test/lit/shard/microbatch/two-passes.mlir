// RUN: epl-opt %s --epl-form-micro-batches=count=4 | FileCheck %s

// Parameters that are updated by a sum over samples, and then read with samples again: a second loop behind the
// first one. Samples that both read are kept; what only the second one reads of the batch is made there.

#fwd = #epl.work<@tg0, forward>
#apply = #epl.work<@tg0, apply>
#id = affine_map<(n) -> (n)>
#none = affine_map<(n) -> ()>
epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// CHECK-LABEL: func.func public @main
// CHECK: epl.loop_slice <0, trip_count = 4, micro_batches = true> %arg1
// CHECK: %[[H:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %arg0 : tensor<2xf32>, tensor<f32>)
// CHECK-NOT: math.cos
// CHECK: %[[SUM:.*]] = epl.loop_last <0, trip_count = 4, micro_batches = true> 0
// CHECK: %[[KEPT:.*]] = epl.loop_stack <0, trip_count = 4, micro_batches = true> %[[H]]
// CHECK: %[[NEW:.*]] = arith.subf %arg0, %[[SUM]]
// CHECK: %[[X:.*]] = epl.loop_slice <1, trip_count = 4, micro_batches = true> %arg1
// CHECK: linalg.generic {{.*}} ins(%[[X]] : tensor<2xf32>)
// CHECK: math.cos
// CHECK: %[[PART:.*]] = epl.loop_slice <1, trip_count = 4, micro_batches = true> %[[KEPT]]
// CHECK: linalg.generic {{.*}} ins(%[[PART]], %{{.*}}, %[[NEW]]
// CHECK: epl.loop_last <1, trip_count = 4, micro_batches = true> 0
func.func public @main(%w: tensor<f32> {epl.role = "state"},
                       %x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<f32> {epl.updates = 0 : i64}, tensor<f32>) {
  %zero = arith.constant {epl.work = #fwd} dense<0.0> : tensor<f32>
  %0 = tensor.empty() {epl.work = #fwd} : tensor<8xf32>
  %h = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel"], epl.work = #fwd}
      ins(%x, %w : tensor<8xf32>, tensor<f32>) outs(%0 : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %c = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"], epl.work = #fwd}
      ins(%x : tensor<8xf32>) outs(%0 : tensor<8xf32>) {
  ^bb0(%a: f32, %out: f32):
    %r = math.cos %a : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %sum = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"], epl.work = #fwd}
      ins(%h : tensor<8xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %r = arith.addf %acc, %a : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %new = arith.subf %w, %sum {epl.work = #apply} : tensor<f32>
  %loss = linalg.generic {indexing_maps = [#id, #id, #none, #none], iterator_types = ["reduction"], epl.work = #fwd}
      ins(%h, %c, %new : tensor<8xf32>, tensor<8xf32>, tensor<f32>) outs(%zero : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %p: f32, %acc: f32):
    %q = arith.mulf %a, %p : f32
    %s = arith.addf %q, %b : f32
    %r = arith.addf %acc, %s : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %new, %loss : tensor<f32>, tensor<f32>
}
