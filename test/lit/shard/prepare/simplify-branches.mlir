// RUN: epl-opt %s --epl-simplify-branches | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#scalar = affine_map<(d0, d1) -> ()>
#row = affine_map<(d0, d1, d2) -> (d0, d2)>
#column = affine_map<(d0, d1, d2) -> (d2, d1)>
#out = affine_map<(d0, d1, d2) -> (d0, d1)>

// What the branch keeps for its gradient, %kept, is %x in it; outside it is not: %other reads it in any case.
// CHECK-LABEL: func.func @residual
// CHECK-SAME: %[[P:.*]]: tensor<i1>, %[[X:.*]]: tensor<4x4xf32>, %[[Y:.*]]: tensor<4x4xf32>
func.func @residual(%p: tensor<i1>, %x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x4xf32>
  %b = tensor.empty() : tensor<4x4xi1>
  %all = linalg.generic {indexing_maps = [#scalar, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<i1>) outs(%b : tensor<4x4xi1>) {
  ^bb0(%in: i1, %o: i1):
    linalg.yield %in : i1
  } -> tensor<4x4xi1>
  // CHECK: %[[KEPT:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %[[X]] : tensor<4x4xi1>, tensor<4x4xf32>)
  %kept = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%all, %x : tensor<4x4xi1>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%c: i1, %in: f32, %o: f32):
    %0 = arith.select %c, %in, %zero : f32
    linalg.yield %0 : f32
  } -> tensor<4x4xf32>
  // CHECK: %[[D:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[Y]] :
  %d = linalg.generic {indexing_maps = [#row, #column, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%kept, %y : tensor<4x4xf32>, tensor<4x4xf32>) outs(%x : tensor<4x4xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %0 = arith.mulf %l, %r : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x4xf32>
  // CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[D]], %[[Y]] :
  %taken = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%all, %d, %y : tensor<4x4xi1>, tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%c: i1, %t: f32, %f: f32, %o: f32):
    %0 = arith.select %c, %t, %f : f32
    linalg.yield %0 : f32
  } -> tensor<4x4xf32>
  // CHECK: linalg.generic {{.*}} ins(%[[KEPT]] :
  %other = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%kept : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%in: f32, %o: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  } -> tensor<4x4xf32>
  return %taken, %other : tensor<4x4xf32>, tensor<4x4xf32>
}

// Selections within selections by the same scalar, which falls away when nothing reads it any more.
// CHECK-LABEL: func.func @chain
// CHECK-SAME: %[[P:.*]]: tensor<i1>, %[[X:.*]]: tensor<4x4xf32>, %[[Y:.*]]: tensor<4x4xf32>, %[[Z:.*]]: tensor<4x4xf32>
// CHECK-COUNT-1: linalg.generic {{.*}} ins(%[[P]], %[[X]], %[[Z]] :
// CHECK-NOT: linalg.generic
func.func @chain(%p: tensor<i1>, %x: tensor<4x4xf32>, %y: tensor<4x4xf32>, %z: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %e = tensor.empty() : tensor<4x4xf32>
  %inner = linalg.generic {indexing_maps = [#scalar, #id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %x, %y : tensor<i1>, tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%c: i1, %t: f32, %f: f32, %o: f32):
    %0 = arith.select %c, %t, %f : f32
    linalg.yield %0 : f32
  } -> tensor<4x4xf32>
  %outer = linalg.generic {indexing_maps = [#scalar, #id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %inner, %z : tensor<i1>, tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%c: i1, %t: f32, %f: f32, %o: f32):
    %0 = arith.select %c, %t, %f : f32
    linalg.yield %0 : f32
  } -> tensor<4x4xf32>
  return %outer : tensor<4x4xf32>
}

// A side that is transposed, or broadcast, is not the selection.
// CHECK-LABEL: func.func @transposed
// CHECK-COUNT-2: linalg.generic
#transposed = affine_map<(d0, d1) -> (d1, d0)>
func.func @transposed(%p: tensor<i1>, %x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %e = tensor.empty() : tensor<4x4xf32>
  %inner = linalg.generic {indexing_maps = [#scalar, #transposed, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %x, %y : tensor<i1>, tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%c: i1, %t: f32, %f: f32, %o: f32):
    %0 = arith.select %c, %t, %f : f32
    linalg.yield %0 : f32
  } -> tensor<4x4xf32>
  %outer = linalg.generic {indexing_maps = [#scalar, #id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %inner, %y : tensor<i1>, tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%c: i1, %t: f32, %f: f32, %o: f32):
    %0 = arith.select %c, %t, %f : f32
    linalg.yield %0 : f32
  } -> tensor<4x4xf32>
  return %outer : tensor<4x4xf32>
}

// The predicate of an iteration says nothing of the next one: what is carried, %next, is read there in any case.
// CHECK-LABEL: func.func @iterations
// CHECK: %[[H:.*]] = epl.loop_carry
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %[[H]], %{{.*}} :
// CHECK: %[[NEXT:.*]] = linalg.generic {{.*}} ins(%[[S]] :
// CHECK: epl.loop_last <0, trip_count = 3> 0 %[[NEXT]]
func.func @iterations(%ps: tensor<3xi1>, %x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<3x4x4xf32> {
  %e = tensor.empty() : tensor<4x4xf32>
  %p = epl.loop_slice <0, trip_count = 3> %ps : tensor<3xi1> -> tensor<i1>
  %h = epl.loop_carry <0, trip_count = 3> 0 %x : tensor<4x4xf32> -> tensor<4x4xf32>
  %s = linalg.generic {indexing_maps = [#scalar, #id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %h, %y : tensor<i1>, tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%c: i1, %t: f32, %f: f32, %o: f32):
    %0 = arith.select %c, %t, %f : f32
    linalg.yield %0 : f32
  } -> tensor<4x4xf32>
  %next = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%in: f32, %o: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  } -> tensor<4x4xf32>
  %kept = linalg.generic {indexing_maps = [#scalar, #id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %next, %y : tensor<i1>, tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%c: i1, %t: f32, %f: f32, %o: f32):
    %0 = arith.select %c, %t, %f : f32
    linalg.yield %0 : f32
  } -> tensor<4x4xf32>
  %stack = epl.loop_stack <0, trip_count = 3> %kept : tensor<4x4xf32> -> tensor<3x4x4xf32>
  %last = epl.loop_last <0, trip_count = 3> 0 %next : tensor<4x4xf32>
  return %stack : tensor<3x4x4xf32>
}
