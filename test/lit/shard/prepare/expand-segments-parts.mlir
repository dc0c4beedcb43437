// RUN: epl-opt %s -epl-expand-segments | FileCheck %s

#rows = affine_map<(m, n, k) -> (m, k)>
#weights = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
#each = affine_map<(m, n) -> (m, n)>
#product = {indexing_maps = [#rows, #weights, #out], iterator_types = ["parallel", "parallel", "reduction"]}
#work = #epl.work<@tg0, forward>

epl.mesh @mesh axes ["data"=1, "model"=2]
epl.taskgraph @tg0 strategy(<split, 2>) on @mesh

// Parts of 8, 4 and 4 elements: each of two shares has 4, 2 and 2 of them, so that slices and what is made of
// parts are those of the inner dimension. The caller's order is another one.
// CHECK-LABEL: func.func @parts(
// CHECK-SAME: %[[W:.*]]: tensor<6x2x8xf32> {epl.caller_parts = [array<i64>, array<i64: 8, 4, 4>, array<i64>], epl.caller_shape = array<i64: 6, 16>, epl.role = "state"}
// CHECK-SAME: -> (tensor<6x2x8xf32> {epl.caller_parts = [array<i64>, array<i64: 8, 4, 4>, array<i64>], epl.caller_shape = array<i64: 6, 16>, epl.updates = 0 : i64}
// CHECK: %[[T0:.*]] = tensor.extract_slice %[[T:.*]][0, 0] [4, 8] [1, 1] {epl.work = #epl.work<@tg0, forward>}
// CHECK: %[[T0S:.*]] = tensor.expand_shape %[[T0]] {{\[}}[0], [1, 2]] output_shape [4, 2, 4] {epl.work = #epl.work<@tg0, forward>}
// CHECK: %[[T1:.*]] = tensor.extract_slice %[[T]][0, 8] [4, 4] [1, 1]
// CHECK: %[[T1S:.*]] = tensor.expand_shape %[[T1]] {{\[}}[0], [1, 2]] output_shape [4, 2, 2]
// CHECK: %[[TS:.*]] = epl.concatenate %[[T0S]], %[[T1S]] dim 2 {epl.work = #epl.work<@tg0, forward>}
func.func @parts(%w: tensor<6x16xf32> {epl.role = "state"}, %x: tensor<4x6xf32>, %g: tensor<4x4xf32>, %t: tensor<4x12xf32>)
    -> (tensor<6x16xf32> {epl.updates = 0 : i64}, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x4xf32>, tensor<4x16xf32>) {
  %zero = arith.constant {epl.work = #work} 0.0 : f32
  %z = arith.constant {epl.work = #work} dense<0.0> : tensor<4x16xf32>
  // CHECK: %[[Y:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %[[W]] : tensor<4x6xf32>, tensor<6x2x8xf32>)
  %y = linalg.generic #product ins(%x, %w : tensor<4x6xf32>, tensor<6x16xf32>) outs(%z : tensor<4x16xf32>) attrs = {epl.work = #work} {
  ^bb0(%p: f32, %q: f32, %c: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x16xf32>
  // CHECK: %[[Q:.*]] = tensor.extract_slice %[[Y]][0, 0, 0] [4, 2, 4] [1, 1, 1] {epl.work = #epl.work<@tg0, forward>} : tensor<4x2x8xf32> to tensor<4x2x4xf32>
  // CHECK: %[[Q0:.*]] = tensor.collapse_shape %[[Q]] {{\[}}[0], [1, 2]] {epl.work = #epl.work<@tg0, forward>} : tensor<4x2x4xf32> into tensor<4x8xf32>
  %s0 = tensor.extract_slice %y[0, 0] [4, 8] [1, 1] {epl.work = #work} : tensor<4x16xf32> to tensor<4x8xf32>
  // CHECK: %[[KV:.*]] = tensor.extract_slice %[[Y]][0, 0, 4] [4, 2, 4]
  %s1 = tensor.extract_slice %y[0, 8] [4, 8] [1, 1] {epl.work = #work} : tensor<4x16xf32> to tensor<4x8xf32>
  // CHECK: tensor.extract_slice %[[KV]][0, 0, 0] [4, 2, 2]
  %k = tensor.extract_slice %s1[0, 0] [4, 4] [1, 1] {epl.work = #work} : tensor<4x8xf32> to tensor<4x4xf32>
  // CHECK: tensor.extract_slice %[[Y]][0, 0, 6] [4, 2, 2]
  %v = tensor.extract_slice %y[0, 12] [4, 4] [1, 1] {epl.work = #work} : tensor<4x16xf32> to tensor<4x4xf32>
  // CHECK: %[[P:.*]] = tensor.pad %{{.*}} low[0, 0, 6] high[0, 0, 0]
  %p = tensor.pad %g low[0, 12] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } {epl.work = #work} : tensor<4x4xf32> to tensor<4x16xf32>
  // CHECK: %[[C:.*]] = epl.concatenate %[[TS]], %{{.*}} dim 2 {epl.work = #epl.work<@tg0, forward>} : (tensor<4x2x6xf32>, tensor<4x2x2xf32>) -> tensor<4x2x8xf32>
  %c = epl.concatenate %t, %g dim 1 {epl.work = #work} : (tensor<4x12xf32>, tensor<4x4xf32>) -> tensor<4x16xf32>
  // CHECK: linalg.generic {{.*}} ins(%[[Y]], %[[P]], %[[C]] : tensor<4x2x8xf32>, tensor<4x2x8xf32>, tensor<4x2x8xf32>)
  %h = linalg.generic {indexing_maps = [#each, #each, #each, #each], iterator_types = ["parallel", "parallel"]}
      ins(%y, %p, %c : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>) outs(%z : tensor<4x16xf32>) attrs = {epl.work = #work} {
  ^bb0(%0: f32, %1: f32, %2: f32, %o: f32):
    %a = arith.addf %0, %1 : f32
    %b = arith.addf %a, %2 : f32
    linalg.yield %b : f32
  } -> tensor<4x16xf32>
  // The keys and values of the result are one tensor, in the order of old.
  // CHECK: %[[K:.*]] = tensor.collapse_shape
  // CHECK: %[[V:.*]] = tensor.collapse_shape
  // CHECK: %[[KV0:.*]] = epl.concatenate %[[K]], %[[V]] dim 1 {epl.work = {{.*}}} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  // CHECK: %[[H:.*]] = epl.concatenate %{{.*}} dim 1 {{.*}} -> tensor<4x16xf32>
  // CHECK: return %[[W]], %[[Q0]], %[[KV0]], %{{.*}}, %[[H]]
  return %w, %s0, %s1, %v, %h : tensor<6x16xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x4xf32>, tensor<4x16xf32>
}

// Heads are counted before the cut: what is one dimension has parts where that has. A constraint is one on the
// shares, a constant and positions keep the order that they have.
// CHECK-LABEL: func.func @heads(
// CHECK-SAME: tensor<2x8xf32> {epl.caller_parts = [array<i64: 8, 4, 4>, array<i64>], epl.caller_shape = array<i64: 16>
func.func @heads(%w: tensor<16xf32> {epl.role = "state"}) -> (tensor<4x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  // CHECK: %[[CONST:.*]] = arith.constant {{.*}} : tensor<16xf32>
  // CHECK-COUNT-3: tensor.expand_shape
  // CHECK: %[[DEALT:.*]] = epl.concatenate {{.*}} dim 1 {{.*}} -> tensor<2x8xf32>
  %c = arith.constant {epl.work = #work} dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0]> : tensor<16xf32>
  %e = tensor.empty() {epl.work = #work} : tensor<16xf32>
  // CHECK: epl.constrain %{{.*}} to <[{"model"}, {}]> {epl.work = {{.*}}} : tensor<2x8xf32>
  %k = epl.constrain %w to <[{"model"}]> {epl.work = #work} : tensor<16xf32>
  // CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[DEALT]] : tensor<2x8xf32>, tensor<2x8xf32>)
  %a = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%k, %c : tensor<16xf32>, tensor<16xf32>) outs(%e : tensor<16xf32>) attrs = {epl.work = #work} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    linalg.yield %m : f32
  } -> tensor<16xf32>
  // CHECK: linalg.generic {{.*}} iterator_types = ["parallel"]} ins(%{{.*}} : tensor<16xf32>)
  // CHECK: linalg.index 0
  %b = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%a : tensor<16xf32>) outs(%e : tensor<16xf32>) attrs = {epl.work = #work} {
  ^bb0(%p: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i32
    %f = arith.sitofp %j : i32 to f32
    %s = arith.addf %p, %f : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  // CHECK: %[[N:.*]] = tensor.expand_shape %{{.*}} {{\[}}[0], [1, 2]] output_shape [2, 4, 2] {{.*}} : tensor<2x8xf32> into tensor<2x4x2xf32>
  %h = tensor.expand_shape %b [[0, 1]] output_shape [8, 2] {epl.work = #work} : tensor<16xf32> into tensor<8x2xf32>
  // CHECK: tensor.extract_slice %[[N]][0, 0, 0] [2, 2, 2]
  // CHECK: tensor.extract_slice %[[N]][0, 2, 0] [2, 1, 2]
  // CHECK: tensor.extract_slice %[[N]][0, 3, 0] [2, 1, 2]
  %0 = tensor.extract_slice %h[0, 0] [4, 2] [1, 1] {epl.work = #work} : tensor<8x2xf32> to tensor<4x2xf32>
  %1 = tensor.extract_slice %h[4, 0] [2, 2] [1, 1] {epl.work = #work} : tensor<8x2xf32> to tensor<2x2xf32>
  %2 = tensor.extract_slice %h[6, 0] [2, 2] [1, 1] {epl.work = #work} : tensor<8x2xf32> to tensor<2x2xf32>
  return %0, %1, %2 : tensor<4x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}
