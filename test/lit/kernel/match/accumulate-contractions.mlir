// RUN: epl-opt %s --epl-accumulate-contractions | FileCheck %s

// Both products are added to what the loop carries; the second one in another shape. What an addition has beside it,
// another reader or another loop, keeps it.

// CHECK-LABEL: func.func @carried
// CHECK: ^bb0(%[[X:.*]]: tensor<16x4xf32>, %[[DY:.*]]: tensor<16x8xf32>, %[[G:.*]]: tensor<4x8xf32>, %[[H:.*]]: tensor<32xf32>, %[[I:.*]]: tensor<4x8xf32>):
// CHECK: %[[GN:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[DY]] : {{.*}}) outs(%[[G]] : tensor<4x8xf32>)
// CHECK: %[[HE:.*]] = tensor.expand_shape %[[H]]
// CHECK: %[[HN:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[DY]] : {{.*}}) outs(%[[HE]] : tensor<4x8xf32>)
// CHECK: %[[HC:.*]] = tensor.collapse_shape %[[HN]]
// CHECK: %[[P:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[DY]] : {{.*}}) outs(%{{.*}} : tensor<4x8xf32>)
// CHECK: %[[IN:.*]] = linalg.generic {{.*}} ins(%[[I]], %[[P]] :
// CHECK: epl.yield %[[GN]], %[[HC]], %[[IN]]

epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!x = !epl.dist<tensor<16x4xf32>, <@mesh, [{}, {}]>>
!dy = !epl.dist<tensor<16x8xf32>, <@mesh, [{}, {}]>>
!w = !epl.dist<tensor<4x8xf32>, <@mesh, [{}, {}]>>
!v = !epl.dist<tensor<32xf32>, <@mesh, [{}]>>
#km = affine_map<(i, j, k) -> (k, i)>
#kn = affine_map<(i, j, k) -> (k, j)>
#mn = affine_map<(i, j, k) -> (i, j)>
#id = affine_map<(i, j) -> (i, j)>
#one = affine_map<(i) -> (i)>
func.func @carried(%x: !x, %dy: !dy, %z: !w, %zv: !v) -> (!w, !v, !w, !w) {
  %g = epl.loop_carry <0, trip_count = 3> 0 %z : !w -> !w
  %h = epl.loop_carry <0, trip_count = 3> 1 %zv : !v -> !v
  %i = epl.loop_carry <0, trip_count = 3> 2 %z : !w -> !w
  %n:3 = epl.task <@tg0, backward> (%x, %dy, %g, %h, %i) : (!x, !dy, !w, !v, !w) -> (!w, !v, !w) {
  ^bb0(%xs: tensor<16x4xf32>, %dys: tensor<16x8xf32>, %gs: tensor<4x8xf32>, %hs: tensor<32xf32>, %is: tensor<4x8xf32>):
    %f = arith.constant dense<0.0> : tensor<4x8xf32>
    %e = tensor.empty() : tensor<4x8xf32>
    %ev = tensor.empty() : tensor<32xf32>
    %0 = linalg.generic {indexing_maps = [#km, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%xs, %dys : tensor<16x4xf32>, tensor<16x8xf32>) outs(%f : tensor<4x8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<4x8xf32>
    %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%gs, %0 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<4x8xf32>
    %2 = linalg.generic {indexing_maps = [#km, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%xs, %dys : tensor<16x4xf32>, tensor<16x8xf32>) outs(%f : tensor<4x8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<4x8xf32>
    %3 = tensor.collapse_shape %2 [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
    %4 = linalg.generic {indexing_maps = [#one, #one, #one], iterator_types = ["parallel"]} ins(%3, %hs : tensor<32xf32>, tensor<32xf32>) outs(%ev : tensor<32xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<32xf32>
    %5 = linalg.generic {indexing_maps = [#km, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%xs, %dys : tensor<16x4xf32>, tensor<16x8xf32>) outs(%f : tensor<4x8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<4x8xf32>
    %6 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%is, %5 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<4x8xf32>
    epl.yield %1, %4, %6 : tensor<4x8xf32>, tensor<32xf32>, tensor<4x8xf32>
  }
  %gl = epl.loop_last <0, trip_count = 3> 0 %n#0 : !w
  %hl = epl.loop_last <0, trip_count = 3> 1 %n#1 : !v
  %il = epl.loop_last <0, trip_count = 3> 2 %n#2 : !w
  %st = epl.loop_stack <0, trip_count = 3> %n#2 : !w -> !epl.dist<tensor<3x4x8xf32>, <@mesh, [{}, {}, {}]>>
  return %gl, %hl, %il, %il : !w, !v, !w, !w
}
