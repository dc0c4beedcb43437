// RUN: epl-opt %s --epl-normalize-contractions | FileCheck %s

epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!x = !epl.dist<tensor<16x4xf32>, <@mesh, [{}, {}]>>
!dy = !epl.dist<tensor<16x8xf32>, <@mesh, [{}, {}]>>
!w = !epl.dist<tensor<4x8xf32>, <@mesh, [{}, {}]>>
!wt = !epl.dist<tensor<8x4xf32>, <@mesh, [{}, {}]>>
!v = !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
#id = affine_map<(d0, d1) -> (d0, d1)>
#t = affine_map<(d0, d1) -> (d1, d0)>
#none = affine_map<(d0, d1) -> ()>
#col = affine_map<(d0, d1) -> (d1)>
#mk = affine_map<(d0, d1, d2) -> (d0, d2)>
#km = affine_map<(d0, d1, d2) -> (d2, d0)>
#kn = affine_map<(d0, d1, d2) -> (d2, d1)>
#mn = affine_map<(d0, d1, d2) -> (d0, d1)>

// CHECK-DAG: #[[KM:.*]] = affine_map<(d0, d1, d2) -> (d2, d0)>
// CHECK-DAG: #[[KN:.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #[[MK:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[NM:.*]] = affine_map<(d0, d1, d2) -> (d1, d0)>
// CHECK-DAG: #[[MN:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[N:.*]] = affine_map<(d0, d1, d2) -> (d1)>

// JAX's weight gradient: the transpose of the result becomes its map; the operands swap, so that the minor
// dimension of the result is the second one's.
// CHECK-LABEL: func.func @weight_gradient
// CHECK: ^bb0(%[[X:.*]]: tensor<16x4xf32>, %[[DY:.*]]: tensor<16x8xf32>):
// CHECK: linalg.generic {{.*}} ins(%cst : f32) outs(%{{.*}} : tensor<4x8xf32>)
// CHECK: %[[W:.*]] = linalg.generic {{.*}}indexing_maps = [#[[KN]], #[[KM]], #[[NM]]]{{.*}} ins(%[[X]], %[[DY]] : {{.*}}) outs({{.*}} : tensor<4x8xf32>)
// CHECK: epl.yield %[[W]]
func.func @weight_gradient(%arg0: !x, %arg1: !dy) -> !w {
  %r = epl.task <@tg0, backward> (%arg0, %arg1) : (!x, !dy) -> !w {
  ^bb0(%x: tensor<16x4xf32>, %dy: tensor<16x8xf32>):
    %c = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<8x4xf32>
    %f = linalg.generic {indexing_maps = [#none, #id], iterator_types = ["parallel", "parallel"]} ins(%c : f32) outs(%e : tensor<8x4xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<8x4xf32>
    %0 = linalg.generic {indexing_maps = [#km, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%dy, %x : tensor<16x8xf32>, tensor<16x4xf32>) outs(%f : tensor<8x4xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<8x4xf32>
    %e1 = tensor.empty() : tensor<4x8xf32>
    %1 = linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<8x4xf32>) outs(%e1 : tensor<4x8xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<4x8xf32>
    epl.yield %1 : tensor<4x8xf32>
  }
  return %r : !w
}

// CHECK-LABEL: func.func @transposed_operand
// CHECK: ^bb0(%[[X:.*]]: tensor<16x4xf32>, %[[W:.*]]: tensor<8x4xf32>):
// CHECK: indexing_maps = [#[[MK]], #{{.*}}, #[[MN]]]{{.*}} ins(%[[X]], %[[W]] :
func.func @transposed_operand(%arg0: !x, %arg1: !wt) -> !dy {
  %r = epl.task <@tg0, forward> (%arg0, %arg1) : (!x, !wt) -> !dy {
  ^bb0(%x: tensor<16x4xf32>, %w: tensor<8x4xf32>):
    %z = arith.constant dense<0.0> : tensor<16x8xf32>
    %e = tensor.empty() : tensor<4x8xf32>
    %0 = linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<8x4xf32>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<4x8xf32>
    %1 = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %0 : tensor<16x4xf32>, tensor<4x8xf32>) outs(%z : tensor<16x8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<16x8xf32>
    epl.yield %1 : tensor<16x8xf32>
  }
  return %r : !dy
}

// CHECK-LABEL: func.func @broadcast_operand
// CHECK: ^bb0(%[[X:.*]]: tensor<16x4xf32>, %[[V:.*]]: tensor<8xf32>):
// CHECK: indexing_maps = [#[[MK]], #[[N]], #[[MN]]]{{.*}} ins(%[[X]], %[[V]] :
func.func @broadcast_operand(%arg0: !x, %arg1: !v) -> !dy {
  %r = epl.task <@tg0, forward> (%arg0, %arg1) : (!x, !v) -> !dy {
  ^bb0(%x: tensor<16x4xf32>, %v: tensor<8xf32>):
    %z = arith.constant dense<0.0> : tensor<16x8xf32>
    %e = tensor.empty() : tensor<4x8xf32>
    %0 = linalg.generic {indexing_maps = [#col, #id], iterator_types = ["parallel", "parallel"]} ins(%v : tensor<8xf32>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<4x8xf32>
    %1 = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %0 : tensor<16x4xf32>, tensor<4x8xf32>) outs(%z : tensor<16x8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<16x8xf32>
    epl.yield %1 : tensor<16x8xf32>
  }
  return %r : !dy
}

// Who else reads the result needs it as it is, and a start that is a value cannot be made transposed.
// CHECK-LABEL: func.func @keep
// CHECK: arith.addf
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<8x16xf32>)
// CHECK: arith.addf
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<8x16xf32>)
func.func @keep(%arg0: !x, %arg1: !w, %arg2: !dy) -> (!dy, !epl.dist<tensor<8x16xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<8x16xf32>, <@mesh, [{}, {}]>>) {
  %r:3 = epl.task <@tg0, forward> (%arg0, %arg1, %arg2) : (!x, !w, !dy) -> (!dy, !epl.dist<tensor<8x16xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<8x16xf32>, <@mesh, [{}, {}]>>) {
  ^bb0(%x: tensor<16x4xf32>, %w: tensor<4x8xf32>, %start: tensor<16x8xf32>):
    %z = arith.constant dense<0.0> : tensor<16x8xf32>
    %e = tensor.empty() : tensor<8x16xf32>
    %0 = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<16x4xf32>, tensor<4x8xf32>) outs(%z : tensor<16x8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<16x8xf32>
    %1 = linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<16x8xf32>) outs(%e : tensor<8x16xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<8x16xf32>
    %2 = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<16x4xf32>, tensor<4x8xf32>) outs(%start : tensor<16x8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<16x8xf32>
    %3 = linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<16x8xf32>) outs(%e : tensor<8x16xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<8x16xf32>
    epl.yield %0, %1, %3 : tensor<16x8xf32>, tensor<8x16xf32>, tensor<8x16xf32>
  }
  return %r#0, %r#1, %r#2 : !dy, !epl.dist<tensor<8x16xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<8x16xf32>, <@mesh, [{}, {}]>>
}
