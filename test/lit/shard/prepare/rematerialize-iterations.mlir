// RUN: epl-opt %s --epl-rematerialize-iterations | FileCheck %s

!x = tensor<8xf32>
!xs = tensor<3x8xf32>
#id = affine_map<(i) -> (i)>
#fwd = #epl.work<@tg0, forward>
#bwd = #epl.work<@tg0, backward>

epl.taskgraph @tg0 strategy(<replicate, 1>)

// The square of a value that is kept anyway is made again, and no longer stacked; what a product of both loops'
// values reads stays.
// CHECK-LABEL: func.func @square
func.func @square(%xs: !xs) -> !xs {
  %e = tensor.empty() : !x
  %t = epl.loop_slice <0, trip_count = 3> %xs : !xs -> !x
  // CHECK: %[[TANH:.*]] = linalg.generic
  %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%t : !x) outs(%e : !x) attrs = {epl.work = #fwd} {
  ^bb0(%a: f32, %o: f32):
    %0 = math.tanh %a : f32
    linalg.yield %0 : f32
  } -> !x
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%v : !x) outs(%e : !x) attrs = {epl.work = #fwd} {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %a, %a : f32
    linalg.yield %0 : f32
  } -> !x
  // CHECK: %[[S:.*]] = epl.loop_stack <0, trip_count = 3> %[[TANH]]
  // CHECK-NOT: epl.loop_stack
  %vs = epl.loop_stack <0, trip_count = 3> %v : !x -> !xs
  %qs = epl.loop_stack <0, trip_count = 3> reverse %q : !x -> !xs
  // CHECK: %[[V:.*]] = epl.loop_slice <1, trip_count = 3> reverse %[[S]]
  %vr = epl.loop_slice <1, trip_count = 3> reverse %vs : !xs -> !x
  %qr = epl.loop_slice <1, trip_count = 3> %qs : !xs -> !x
  // CHECK: %[[Q:.*]] = linalg.generic {{.*}} ins(%[[V]] : tensor<8xf32>) {{.*}} attrs = {{.*}}backward
  // CHECK: arith.mulf
  // CHECK: linalg.generic {{.*}} ins(%[[V]], %[[Q]]
  %g = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%vr, %qr : !x, !x) outs(%e : !x) attrs = {epl.work = #bwd} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.subf %a, %b : f32
    linalg.yield %0 : f32
  } -> !x
  // CHECK: epl.loop_stack <1
  %gs = epl.loop_stack <1, trip_count = 3> %g : !x -> !xs
  return %gs : !xs
}

// An iteration that reads another iteration's square has not what it is made of.
// CHECK-LABEL: func.func @other_iteration
func.func @other_iteration(%xs: !xs) -> !xs {
  %e = tensor.empty() : !x
  %t = epl.loop_slice <0, trip_count = 3> %xs : !xs -> !x
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%t : !x) outs(%e : !x) attrs = {epl.work = #fwd} {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %a, %a : f32
    linalg.yield %0 : f32
  } -> !x
  // CHECK: %[[S:.*]] = epl.loop_stack <0, trip_count = 3>
  %qs = epl.loop_stack <0, trip_count = 3> %q : !x -> !xs
  %tr = epl.loop_slice <1, trip_count = 3> %xs : !xs -> !x
  // CHECK: %[[Q:.*]] = epl.loop_slice <1, trip_count = 3> reverse %[[S]]
  %qr = epl.loop_slice <1, trip_count = 3> reverse %qs : !xs -> !x
  // CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[Q]]
  %g = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%tr, %qr : !x, !x) outs(%e : !x) attrs = {epl.work = #bwd} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.subf %a, %b : f32
    linalg.yield %0 : f32
  } -> !x
  %gs = epl.loop_stack <1, trip_count = 3> %g : !x -> !xs
  return %gs : !xs
}

// In micro-batches the loops of a step are in that over these: a value of the iteration is there for both.
// CHECK-LABEL: func.func @micro_batches
func.func @micro_batches(%ws: !xs, %batches: tensor<2x8xf32>) -> tensor<2x3x8xf32> {
  %e = tensor.empty() : !x
  // CHECK: %[[X:.*]] = epl.loop_slice <0,
  %x = epl.loop_slice <0, trip_count = 2, micro_batches = true> %batches : tensor<2x8xf32> -> !x
  %w = epl.loop_slice <1, trip_count = 3 in <0, trip_count = 2, micro_batches = true>> %ws : !xs -> !x
  %q = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%w, %x : !x, !x) outs(%e : !x) attrs = {epl.work = #fwd} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> !x
  // CHECK-NOT: epl.loop_stack <1
  %qs = epl.loop_stack <1, trip_count = 3 in <0, trip_count = 2, micro_batches = true>> %q : !x -> !xs
  // CHECK: %[[W:.*]] = epl.loop_slice <2, trip_count = 3 in <0, trip_count = 2, micro_batches = true>> reverse %arg0
  %wr = epl.loop_slice <2, trip_count = 3 in <0, trip_count = 2, micro_batches = true>> reverse %ws : !xs -> !x
  %qr = epl.loop_slice <2, trip_count = 3 in <0, trip_count = 2, micro_batches = true>> reverse %qs : !xs -> !x
  // CHECK: linalg.generic {{.*}} ins(%[[W]], %[[X]] : {{.*}}backward
  %g = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%wr, %qr : !x, !x) outs(%e : !x) attrs = {epl.work = #bwd} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.subf %a, %b : f32
    linalg.yield %0 : f32
  } -> !x
  %gs = epl.loop_stack <2, trip_count = 3 in <0, trip_count = 2, micro_batches = true>> %g : !x -> !xs
  %all = epl.loop_stack <0, trip_count = 2, micro_batches = true> %gs : !xs -> tensor<2x3x8xf32>
  return %all : tensor<2x3x8xf32>
}
