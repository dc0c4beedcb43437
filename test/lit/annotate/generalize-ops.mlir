// RUN: epl-opt %s --epl-generalize-ops | FileCheck %s

// CHECK-DAG: #[[SCALAR:.*]] = affine_map<(d0, d1) -> ()>
// CHECK-DAG: #[[ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[A:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[B:.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #[[C:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>

// CHECK-LABEL: func.func @named
// CHECK-NOT: linalg.{{fill|matmul|transpose}}
func.func @named(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) -> tensor<2x4xf32> {
  %zero = arith.constant 0.0 : f32
  // CHECK: %[[EMPTY:.*]] = tensor.empty() : tensor<4x2xf32>
  %0 = tensor.empty() : tensor<4x2xf32>
  // CHECK: %[[INIT:.*]] = linalg.generic {indexing_maps = [#[[SCALAR]], #[[ID]]], iterator_types = ["parallel", "parallel"]}
  // CHECK-SAME: ins(%{{.*}} : f32) outs(%[[EMPTY]] : tensor<4x2xf32>)
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<4x2xf32>) -> tensor<4x2xf32>
  // CHECK: linalg.generic {indexing_maps = [#[[A]], #[[B]], #[[C]]], iterator_types = ["parallel", "parallel", "reduction"]}
  // CHECK-SAME: outs(%[[INIT]] : tensor<4x2xf32>)
  %2 = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x2xf32>) outs(%1 : tensor<4x2xf32>) -> tensor<4x2xf32>
  %3 = tensor.empty() : tensor<2x4xf32>
  // CHECK: linalg.generic
  %4 = linalg.transpose ins(%2 : tensor<4x2xf32>) outs(%3 : tensor<2x4xf32>) permutation = [1, 0]
  return %4 : tensor<2x4xf32>
}

// Ops of arith and math on tensors, with an init of their own: upstream takes an operand.
// CHECK-LABEL: func.func @elementwise
// CHECK-SAME: %[[X:.*]]: tensor<4x2xf32>, %[[P:.*]]: i1
func.func @elementwise(%x: tensor<4x2xf32>, %p: i1) -> tensor<4x2xf32> {
  // CHECK: %[[EMPTY:.*]] = tensor.empty() : tensor<4x2xf32>
  // CHECK: linalg.generic {indexing_maps = [#[[ID]], #[[ID]]]
  // CHECK-SAME: ins(%[[X]] : tensor<4x2xf32>) outs(%[[EMPTY]] : tensor<4x2xf32>)
  // CHECK: math.tanh %{{.*}} : f32
  %0 = math.tanh %x : tensor<4x2xf32>
  // CHECK: linalg.generic {indexing_maps = [#[[SCALAR]], #[[ID]], #[[ID]], #[[ID]]]
  // CHECK: arith.select %{{.*}} : f32
  %1 = arith.select %p, %0, %x : tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}

// A softmax is taken apart, and a concatenation the op of the dialect.
// CHECK-LABEL: func.func @composed
// CHECK-NOT: linalg.softmax
// CHECK-NOT: tensor.concat
// CHECK: math.exp %{{.*}} : f32
// CHECK: arith.divf %{{.*}} : f32
// CHECK: epl.concatenate %{{.*}}, %{{.*}} dim 1 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
func.func @composed(%x: tensor<4x2xf32>) -> tensor<4x4xf32> {
  %e = tensor.empty() : tensor<4x2xf32>
  %0 = linalg.softmax dimension(1) ins(%x : tensor<4x2xf32>) outs(%e : tensor<4x2xf32>) -> tensor<4x2xf32>
  %1 = tensor.concat dim(1) %x, %0 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// A stack of what no iteration changes is a broadcast; one of what the iterations make stays.
// CHECK-LABEL: func.func @stacks
func.func @stacks(%x: tensor<4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<4xf32>) {
  %h = epl.loop_carry <0, trip_count = 3> 0 %x : tensor<4xf32> -> tensor<4xf32>
  %next = math.tanh %h : tensor<4xf32>
  // CHECK: %[[SQUARE:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32>)
  %square = arith.mulf %x, %x : tensor<4xf32>
  // CHECK: %[[LAST:.*]] = epl.loop_last
  %last = epl.loop_last <0, trip_count = 3> 0 %next : tensor<4xf32>
  // CHECK: %[[SAME:.*]] = linalg.generic {indexing_maps = [#[[$COLUMNS:.*]], #[[$WHOLE:.*]]], iterator_types = ["parallel", "parallel"]} ins(%[[SQUARE]] : tensor<4xf32>)
  %same = epl.loop_stack <0, trip_count = 3> %square : tensor<4xf32> -> tensor<3x4xf32>
  // CHECK: %[[STACK:.*]] = epl.loop_stack <0, trip_count = 3> %{{.*}} : tensor<4xf32> -> tensor<3x4xf32>
  %own = epl.loop_stack <0, trip_count = 3> %next : tensor<4xf32> -> tensor<3x4xf32>
  // CHECK: return %[[SAME]], %[[STACK]], %[[LAST]]
  return %same, %own, %last : tensor<3x4xf32>, tensor<3x4xf32>, tensor<4xf32>
}

// The same where the loop is in scopes, whose results are of iterations if what they yield is.
// CHECK-LABEL: func.func @stacks_in_scopes
func.func @stacks_in_scopes(%x: tensor<4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %h = epl.loop_carry <0, trip_count = 3> 0 %x : tensor<4xf32> -> tensor<4xf32>
  %next, %square = epl.replicate -> tensor<4xf32>, tensor<4xf32> {
    %n = math.tanh %h : tensor<4xf32>
    %s = arith.mulf %x, %x : tensor<4xf32>
    epl.yield %n, %s : tensor<4xf32>, tensor<4xf32>
  }
  %last = epl.loop_last <0, trip_count = 3> 0 %next : tensor<4xf32>
  // CHECK: %[[SCOPE:.*]]:2 = epl.replicate
  // CHECK: %[[SAME:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<4xf32>)
  // CHECK: %[[OWN:.*]] = epl.loop_stack <0, trip_count = 3> %{{.*}} : tensor<4xf32> -> tensor<3x4xf32>
  // CHECK: epl.yield %[[SAME]], %[[OWN]]
  %same, %own = epl.replicate -> tensor<3x4xf32>, tensor<3x4xf32> {
    %a = epl.loop_stack <0, trip_count = 3> %square : tensor<4xf32> -> tensor<3x4xf32>
    %b = epl.loop_stack <0, trip_count = 3> %next : tensor<4xf32> -> tensor<3x4xf32>
    epl.yield %a, %b : tensor<3x4xf32>, tensor<3x4xf32>
  }
  return %same, %own : tensor<3x4xf32>, tensor<3x4xf32>
}

// What is on a mesh is stacked there.
epl.mesh @mesh axes ["data"=2]
// CHECK-LABEL: func.func @on_a_mesh
// CHECK-NEXT: epl.loop_stack
func.func @on_a_mesh(%x: !epl.dist<tensor<4xf32>, <@mesh, [{}]>>) -> !epl.dist<tensor<3x4xf32>, <@mesh, [{}, {}]>> {
  %0 = epl.loop_stack <0, trip_count = 3> %x : !epl.dist<tensor<4xf32>, <@mesh, [{}]>> -> !epl.dist<tensor<3x4xf32>, <@mesh, [{}, {}]>>
  return %0 : !epl.dist<tensor<3x4xf32>, <@mesh, [{}, {}]>>
}

// What an op does not read of an operand is no use of it.
// CHECK-LABEL: func.func @unread
func.func @unread(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: tensor.empty() : tensor<4xf32>
  // CHECK: %[[NONE:.*]] = tensor.empty() : tensor<4xf32>
  // CHECK: linalg.generic {{.*}} ins(%arg0, %[[NONE]] : tensor<4xf32>, tensor<4xf32>)
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (d)>, affine_map<(d) -> (d)>],
                       iterator_types = ["parallel"]}
      ins(%x, %y : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %1 = arith.negf %a : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Equal ops of two scopes stay two: nothing is merged here. Locations stay.
// CHECK-LABEL: func.func @two_scopes
func.func @two_scopes(%x: tensor<4x2xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) {
  // CHECK-COUNT-2: math.tanh
  %0 = math.tanh %x : tensor<4x2xf32> loc("epl.s0/tanh")
  %1 = math.tanh %x : tensor<4x2xf32> loc("epl.s1/tanh")
  return %0, %1 : tensor<4x2xf32>, tensor<4x2xf32>
}
// RUN: epl-opt %s --epl-generalize-ops --mlir-print-debuginfo | FileCheck %s --check-prefix=LOC
// LOC-LABEL: func.func @two_scopes
// LOC: } -> tensor<4x2xf32> loc(#[[S0:.*]])
// LOC: } -> tensor<4x2xf32> loc(#[[S1:.*]])
// LOC-DAG: #[[S0]] = loc("epl.s0/tanh")
// LOC-DAG: #[[S1]] = loc("epl.s1/tanh")
