// RUN: epl-opt %s --epl-simplify-generics | FileCheck %s

epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!row = !epl.dist<tensor<1x8xf32>, <@mesh, [{}, {}]>>
!v = !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
#id = affine_map<(d0) -> (d0)>
#zero = affine_map<(d0) -> (0, d0)>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
#col = affine_map<(d0, d1) -> (d1)>
#t = affine_map<(d0, d1) -> (d1, d0)>
#first = affine_map<(d0, d1) -> (d0)>

// The sum of one row is the row: here a view of what was a vector before.
// CHECK-LABEL: func.func @bias_gradient
// CHECK: ^bb0(%[[X:.*]]: tensor<8xf32>):
// CHECK-NOT: arith.addf
// CHECK: epl.yield %[[X]]
func.func @bias_gradient(%arg0: !v) -> !v {
  %r = epl.task <@tg0, backward> (%arg0) : (!v) -> !v {
  ^bb0(%x: tensor<8xf32>):
    %z = arith.constant dense<0.0> : tensor<8xf32>
    %0 = tensor.expand_shape %x [[0, 1]] output_shape [1, 8] : tensor<8xf32> into tensor<1x8xf32>
    %1 = linalg.generic {indexing_maps = [#t, #first], iterator_types = ["parallel", "reduction"]} ins(%0 : tensor<1x8xf32>) outs(%z : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<8xf32>
    epl.yield %1 : tensor<8xf32>
  }
  return %r : !v
}

// CHECK-LABEL: func.func @maximum
// CHECK: tensor.collapse_shape
// CHECK-NOT: linalg.generic
// CHECK: epl.yield
func.func @maximum(%arg0: !row) -> !v {
  %r = epl.task <@tg0, forward> (%arg0) : (!row) -> !v {
  ^bb0(%x: tensor<1x8xf32>):
    %z = arith.constant dense<0xFF800000> : tensor<8xf32>
    %1 = linalg.generic {indexing_maps = [#t, #first], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<1x8xf32>) outs(%z : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.maximumf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<8xf32>
    epl.yield %1 : tensor<8xf32>
  }
  return %r : !v
}

// JAX's broadcast_in_dim to one more dimension, then back.
// CHECK-LABEL: func.func @copies
// CHECK: ^bb0(%[[X:.*]]: tensor<8xf32>):
// CHECK: %[[E:.*]] = tensor.expand_shape %[[X]] {{\[\[}}0, 1]]
// CHECK-NOT: linalg.generic
// CHECK: epl.yield %[[E]], %[[X]]
func.func @copies(%arg0: !v) -> (!row, !v) {
  %r:2 = epl.task <@tg0, forward> (%arg0) : (!v) -> (!row, !v) {
  ^bb0(%x: tensor<8xf32>):
    %e = tensor.empty() : tensor<1x8xf32>
    %e1 = tensor.empty() : tensor<8xf32>
    %0 = linalg.generic {indexing_maps = [#col, #id2], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<1x8xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<1x8xf32>
    %1 = linalg.generic {indexing_maps = [#zero, #id], iterator_types = ["parallel"]} ins(%0 : tensor<1x8xf32>) outs(%e1 : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<8xf32>
    epl.yield %0, %1 : tensor<1x8xf32>, tensor<8xf32>
  }
  return %r#0, %r#1 : !row, !v
}

// A start that is not neutral counts.
// CHECK-LABEL: func.func @start
// CHECK: arith.addf
func.func @start(%arg0: !row, %arg1: !v) -> !v {
  %r = epl.task <@tg0, forward> (%arg0, %arg1) : (!row, !v) -> !v {
  ^bb0(%x: tensor<1x8xf32>, %z: tensor<8xf32>):
    %1 = linalg.generic {indexing_maps = [#t, #first], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<1x8xf32>) outs(%z : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<8xf32>
    epl.yield %1 : tensor<8xf32>
  }
  return %r : !v
}

// CHECK-LABEL: func.func @unread
// CHECK: %[[E:.*]] = tensor.empty
// CHECK: outs(%[[E]] : tensor<8xf32>)
func.func @unread(%arg0: !v) -> !v {
  %r = epl.task <@tg0, forward> (%arg0) : (!v) -> !v {
  ^bb0(%x: tensor<8xf32>):
    %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%x : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.negf %a : f32
      linalg.yield %s : f32
    } -> tensor<8xf32>
    epl.yield %1 : tensor<8xf32>
  }
  return %r : !v
}
