// RUN: epl-opt %s --epl-form-kernels --split-input-file | FileCheck %s
// RUN: epl-opt %s --epl-form-kernels=max-ops=1 --split-input-file | FileCheck %s --check-prefix=ONE
// RUN: epl-opt %s --epl-form-kernels=max-operands=2 --split-input-file | FileCheck %s --check-prefix=TWO

epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!v = !epl.dist<tensor<4xf32>, <@mesh, [{}]>>
#id = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>

// A value with two readers is computed once: their kernel gives both results. Fills are cloned inside, the
// start that no body reads is empty.
// CHECK-LABEL: func.func @share
// CHECK: %[[R:.*]]:2 = epl.cluster fusion(%[[X:.*]]) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK: ^bb0(%[[IN:.*]]: tensor<4xf32>):
// CHECK: math.exp
// CHECK: linalg.generic {{.*}} ins(%cst : f32)
// CHECK: arith.addf
// CHECK: epl.yield
// CHECK: epl.yield %[[R]]#0, %[[R]]#1
// Limits keep the two ops apart: of ops, or of tensors read and written.
// ONE-LABEL: func.func @share
// ONE-COUNT-2: epl.cluster
// TWO-LABEL: func.func @share
// TWO-COUNT-2: epl.cluster
func.func @share(%arg0: !v) -> (!v, !v) {
  %r:2 = epl.task <@tg0, forward> (%arg0) : (!v) -> (!v, !v) {
  ^bb0(%x: tensor<4xf32>):
    %c = arith.constant 1.0 : f32
    %e = tensor.empty() : tensor<4xf32>
    %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %y = math.exp %a : f32
      linalg.yield %y : f32
    } -> tensor<4xf32>
    %f = linalg.generic {indexing_maps = [#none, #id], iterator_types = ["parallel"]} ins(%c : f32) outs(%e : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<4xf32>
    %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%0, %f : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %y = arith.addf %a, %b : f32
      linalg.yield %y : f32
    } -> tensor<4xf32>
    epl.yield %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : !v, !v
}

// -----

epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!v = !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
!m = !epl.dist<tensor<4x8xf32>, <@mesh, [{}, {}]>>
#id = affine_map<(d0, d1) -> (d0, d1)>
#col = affine_map<(d0, d1) -> (d1)>

// A broadcast of an argument is read in its small form by each of the kernels that need it.
// CHECK-LABEL: func.func @clone
// CHECK: epl.cluster fusion(%{{.*}}, %[[B:.*]]) : (tensor<4x8xf32>, tensor<8xf32>)
// CHECK: epl.cluster fusion(%{{.*}}, %[[B]]) : (tensor<4x8xf32>, tensor<8xf32>)
func.func @clone(%arg0: !m, %arg1: !m, %arg2: !v) -> (!m, !m) {
  %r:2 = epl.task <@tg0, forward> (%arg0, %arg1, %arg2) : (!m, !m, !v) -> (!m, !m) {
  ^bb0(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %b: tensor<8xf32>):
    %e = tensor.empty() : tensor<4x8xf32>
    %0 = linalg.generic {indexing_maps = [#col, #id], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<8xf32>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<4x8xf32>
    %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %0 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%a: f32, %c: f32, %o: f32):
      %s = arith.addf %a, %c : f32
      linalg.yield %s : f32
    } -> tensor<4x8xf32>
    %2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %0 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%a: f32, %c: f32, %o: f32):
      %s = arith.mulf %a, %c : f32
      linalg.yield %s : f32
    } -> tensor<4x8xf32>
    epl.yield %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>
  }
  return %r#0, %r#1 : !m, !m
}

// -----

epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!m = !epl.dist<tensor<4x4xf32>, <@mesh, [{}, {}]>>
#id = affine_map<(d0, d1) -> (d0, d1)>
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>

// The ops before and after the contraction are connected directly too, but one kernel of both would wait
// for itself. Equal operands stay two arguments of the contraction.
// CHECK-LABEL: func.func @cycle
// CHECK: %[[E:.*]] = epl.cluster fusion
// CHECK: %[[P:.*]] = epl.cluster contraction(%[[E]], %[[E]]) : (tensor<4x4xf32>, tensor<4x4xf32>)
// CHECK: ^bb0(%[[L:.*]]: tensor<4x4xf32>, %[[R:.*]]: tensor<4x4xf32>):
// CHECK: linalg.generic {{.*}} ins(%[[L]], %[[R]] :
// CHECK: epl.cluster fusion(%[[P]], %[[E]])
func.func @cycle(%arg0: !m) -> !m {
  %r = epl.task <@tg0, forward> (%arg0) : (!m) -> !m {
  ^bb0(%x: tensor<4x4xf32>):
    %z = arith.constant dense<0.0> : tensor<4x4xf32>
    %e = tensor.empty() : tensor<4x4xf32>
    %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %y = math.exp %a : f32
      linalg.yield %y : f32
    } -> tensor<4x4xf32>
    %1 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%0, %0 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<4x4xf32>
    %2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%1, %0 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<4x4xf32>
    epl.yield %2 : tensor<4x4xf32>
  }
  return %r : !m
}

// -----

epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!m = !epl.dist<tensor<4x8xf32>, <@mesh, [{}, {}]>>
!row = !epl.dist<tensor<4x1xf32>, <@mesh, [{}, {}]>>
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#unit = affine_map<(d0, d1) -> (d0, 0)>

// Row reductions, values of rows and what reads them, through views and broadcasts, are one kernel. The view
// between is inside, the view of its result outside.
// CHECK-LABEL: func.func @rows
// CHECK: %[[R:.*]]:2 = epl.cluster fusion(%{{.*}}) : (tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4x8xf32>)
// CHECK: arith.addf
// CHECK: tensor.expand_shape
// CHECK: math.sqrt
// CHECK: arith.divf
// CHECK: epl.yield
// CHECK: %[[V:.*]] = tensor.expand_shape %[[R]]#0
// CHECK-NOT: epl.cluster
// CHECK: epl.yield %[[R]]#1, %[[V]]
func.func @rows(%arg0: !m) -> (!m, !row) {
  %r:2 = epl.task <@tg0, forward> (%arg0) : (!m) -> (!m, !row) {
  ^bb0(%x: tensor<4x8xf32>):
    %z = arith.constant dense<0.0> : tensor<4xf32>
    %e = tensor.empty() : tensor<4x8xf32>
    %e1 = tensor.empty() : tensor<4x1xf32>
    %0 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x8xf32>) outs(%z : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    %1 = tensor.expand_shape %0 [[0, 1]] output_shape [4, 1] : tensor<4xf32> into tensor<4x1xf32>
    %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<4x1xf32>) outs(%e1 : tensor<4x1xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = math.sqrt %a : f32
      linalg.yield %s : f32
    } -> tensor<4x1xf32>
    %3 = linalg.generic {indexing_maps = [#unit, #id], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<4x1xf32>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<4x8xf32>
    %4 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %3 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.divf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<4x8xf32>
    epl.yield %4, %1 : tensor<4x8xf32>, tensor<4x1xf32>
  }
  return %r#0, %r#1 : !m, !row
}

// -----

epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!m = !epl.dist<tensor<4x8xf32>, <@mesh, [{}, {}]>>
!v = !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
#id = affine_map<(d0, d1) -> (d0, d1)>
#t = affine_map<(d0, d1) -> (d1, d0)>
#first = affine_map<(d0, d1) -> (d0)>
#i = affine_map<(d0) -> (d0)>

// A column sum joins what it sums; who reads it stays apart.
// CHECK-LABEL: func.func @columns
// CHECK: %[[R:.*]]:2 = epl.cluster fusion(%{{.*}}) : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
// CHECK: epl.cluster fusion(%[[R]]#1)
func.func @columns(%arg0: !m) -> (!m, !v) {
  %r:2 = epl.task <@tg0, forward> (%arg0) : (!m) -> (!m, !v) {
  ^bb0(%x: tensor<4x8xf32>):
    %z = arith.constant dense<0.0> : tensor<8xf32>
    %e = tensor.empty() : tensor<4x8xf32>
    %e1 = tensor.empty() : tensor<8xf32>
    %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = math.exp %a : f32
      linalg.yield %s : f32
    } -> tensor<4x8xf32>
    %1 = linalg.generic {indexing_maps = [#t, #first], iterator_types = ["parallel", "reduction"]} ins(%0 : tensor<4x8xf32>) outs(%z : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<8xf32>
    %2 = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%1 : tensor<8xf32>) outs(%e1 : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.negf %a : f32
      linalg.yield %s : f32
    } -> tensor<8xf32>
    epl.yield %0, %2 : tensor<4x8xf32>, tensor<8xf32>
  }
  return %r#0, %r#1 : !m, !v
}

// -----

epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!m = !epl.dist<tensor<4x8xf32>, <@mesh, [{}, {}]>>
!t = !epl.dist<tensor<8x4xf32>, <@mesh, [{}, {}]>>
#id = affine_map<(d0, d1) -> (d0, d1)>
#t = affine_map<(d0, d1) -> (d1, d0)>

// A transpose walks its operand across the grain: it stays alone, on both sides.
// CHECK-LABEL: func.func @transpose
// CHECK-COUNT-3: epl.cluster fusion
func.func @transpose(%arg0: !m) -> !t {
  %r = epl.task <@tg0, forward> (%arg0) : (!m) -> !t {
  ^bb0(%x: tensor<4x8xf32>):
    %e = tensor.empty() : tensor<4x8xf32>
    %e1 = tensor.empty() : tensor<8x4xf32>
    %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = math.exp %a : f32
      linalg.yield %s : f32
    } -> tensor<4x8xf32>
    %1 = linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<4x8xf32>) outs(%e1 : tensor<8x4xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<8x4xf32>
    %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<8x4xf32>) outs(%e1 : tensor<8x4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.negf %a : f32
      linalg.yield %s : f32
    } -> tensor<8x4xf32>
    epl.yield %2 : tensor<8x4xf32>
  }
  return %r : !t
}

// -----

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!v = !epl.dist<tensor<8xindex>, <@mesh, [{"data"}]>>
!f = !epl.dist<tensor<4xf32>, <@mesh, [{}]>>
#id = affine_map<(d0) -> (d0)>

// Results that are constants need a kernel too; scalars and coordinates are computed inside.
// CHECK-LABEL: func.func @constants
// CHECK: epl.cluster fusion() : () -> tensor<4xindex>
// CHECK: epl.axis_index @mesh "data"
// CHECK: linalg.index
// CHECK: epl.cluster fusion() : () -> tensor<4xf32>
// CHECK: epl.yield %cst
func.func @constants() -> (!v, !f) {
  %r:2 = epl.task <@tg0, forward> () : () -> (!v, !f) {
    %f = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %c4 = arith.constant 4 : index
    %rank = epl.axis_index @mesh "data"
    %offset = arith.muli %rank, %c4 : index
    %e = tensor.empty() : tensor<4xindex>
    %0 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<4xindex>) {
    ^bb0(%o: index):
      %i = linalg.index 0 : index
      %s = arith.addi %i, %offset : index
      linalg.yield %s : index
    } -> tensor<4xindex>
    epl.yield %0, %f : tensor<4xindex>, tensor<4xf32>
  }
  return %r#0, %r#1 : !v, !f
}

// -----

epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!v = !epl.dist<tensor<4xf32>, <@mesh, [{}]>>
!w = !epl.dist<tensor<2xf32>, <@mesh, [{}]>>

// Ops that fit no loop nest with others are kernels of their own. An argument is passed on as it is; what
// nobody reads is dropped.
// CHECK-LABEL: func.func @alone
// CHECK: ^bb0(%[[X:.*]]: tensor<4xf32>):
// CHECK: %[[S:.*]] = epl.cluster fusion(%[[X]]) : (tensor<4xf32>) -> tensor<2xf32>
// CHECK: tensor.extract_slice
// CHECK-NOT: epl.cluster
// CHECK: epl.yield %[[S]], %[[X]]
func.func @alone(%arg0: !v) -> (!w, !v) {
  %r:2 = epl.task <@tg0, forward> (%arg0) : (!v) -> (!w, !v) {
  ^bb0(%x: tensor<4xf32>):
    %0 = tensor.extract_slice %x[1] [2] [1] : tensor<4xf32> to tensor<2xf32>
    %1 = tensor.extract_slice %x[2] [2] [1] : tensor<4xf32> to tensor<2xf32>
    epl.yield %0, %x : tensor<2xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : !w, !v
}

// -----

epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!v = !epl.dist<tensor<4xf32>, <@mesh, [{}]>>
!m = !epl.dist<tensor<4x3xf32>, <@mesh, [{}, {}]>>
#d0 = affine_map<(d0, d1) -> (d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>

// A broadcast is a result of the task and is read by the kernel that makes what it broadcasts: inside that
// kernel it is rematerialized.
// CHECK-LABEL: func.func @broadcast_of_own_value
// CHECK: %[[A:.*]]:2 = epl.cluster fusion
// CHECK: math.exp
// CHECK: arith.addf
// CHECK: %[[B:.*]] = epl.cluster fusion(%[[A]]#0)
// CHECK: epl.yield %[[B]], %[[A]]#1
func.func @broadcast_of_own_value(%arg0: !v, %arg1: !m) -> (!m, !m) {
  %r:2 = epl.task <@tg0, forward> (%arg0, %arg1) : (!v, !m) -> (!m, !m) {
  ^bb0(%x: tensor<4xf32>, %y: tensor<4x3xf32>):
    %e = tensor.empty() : tensor<4xf32>
    %f = tensor.empty() : tensor<4x3xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = math.exp %a : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    %1 = linalg.generic {indexing_maps = [#d0, #id], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<4xf32>) outs(%f : tensor<4x3xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<4x3xf32>
    %2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%1, %y : tensor<4x3xf32>, tensor<4x3xf32>) outs(%f : tensor<4x3xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<4x3xf32>
    epl.yield %1, %2 : tensor<4x3xf32>, tensor<4x3xf32>
  }
  return %r#0, %r#1 : !m, !m
}

// -----

epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!m = !epl.dist<tensor<4x4xf32>, <@mesh, [{}, {}]>>

// A product of anything but the inputs is no contraction that a library knows.
// CHECK-LABEL: func.func @product_of_magnitudes
// CHECK-NOT: contraction
// CHECK: epl.cluster fusion
func.func @product_of_magnitudes(%arg0: !m) -> !m {
  %r = epl.task <@tg0, forward> (%arg0) : (!m) -> !m {
  ^bb0(%x: tensor<4x4xf32>):
    %zero = arith.constant dense<0.0> : tensor<4x4xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%zero : tensor<4x4xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %m = math.absf %a : f32
      %p = arith.mulf %m, %b : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<4x4xf32>
    epl.yield %0 : tensor<4x4xf32>
  }
  return %r : !m
}

// -----

epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!v = !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
!w = !epl.dist<tensor<4xf32>, <@mesh, [{}]>>
!m = !epl.dist<tensor<4x8xf32>, <@mesh, [{}, {}]>>
#id = affine_map<(d0) -> (d0)>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#col = affine_map<(d0, d1) -> (d1)>

// Both readers of %x stay apart, though the op that leads from the exponential to the sum by way of the
// product stands behind the sum: the second vector shares the kernel of the first, which the sum reads.
// CHECK-LABEL: func.func @detour
// CHECK: %[[E:.*]] = epl.cluster fusion(%{{.*}}) : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK: %[[P:.*]] = epl.cluster contraction(%{{.*}}, %[[E]]{{.*}}) : (tensor<4xf32>, tensor<4x8xf32>{{.*}}) -> tensor<8xf32>
// CHECK: %[[V:.*]]:2 = epl.cluster fusion(%{{.*}}, %[[P]]) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
// CHECK: %[[S:.*]] = epl.cluster fusion(%{{.*}}, %[[V]]#0) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
// CHECK: epl.yield %[[S]], %[[V]]#1
func.func @detour(%arg0: !m, %arg1: !v, %arg2: !w) -> (!m, !v) {
  %r:2 = epl.task <@tg0, forward> (%arg0, %arg1, %arg2) : (!m, !v, !w) -> (!m, !v) {
  ^bb0(%x: tensor<4x8xf32>, %v: tensor<8xf32>, %w: tensor<4xf32>):
    %z = arith.constant dense<0.0> : tensor<8xf32>
    %e = tensor.empty() : tensor<8xf32>
    %e2 = tensor.empty() : tensor<4x8xf32>
    %first = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%v : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %y = math.exp %a : f32
      linalg.yield %y : f32
    } -> tensor<8xf32>
    %exp = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e2 : tensor<4x8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %y = math.exp %a : f32
      linalg.yield %y : f32
    } -> tensor<4x8xf32>
    %sum = linalg.generic {indexing_maps = [#id2, #col, #id2], iterator_types = ["parallel", "parallel"]} ins(%x, %first : tensor<4x8xf32>, tensor<8xf32>) outs(%e2 : tensor<4x8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %y = arith.addf %a, %b : f32
      linalg.yield %y : f32
    } -> tensor<4x8xf32>
    %product = linalg.generic {indexing_maps = [#row, #id2, #col], iterator_types = ["reduction", "parallel"]} ins(%w, %exp : tensor<4xf32>, tensor<4x8xf32>) outs(%z : tensor<8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %m = arith.mulf %a, %b : f32
      %y = arith.addf %o, %m : f32
      linalg.yield %y : f32
    } -> tensor<8xf32>
    %second = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%first, %product : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %y = arith.mulf %a, %b : f32
      linalg.yield %y : f32
    } -> tensor<8xf32>
    epl.yield %sum, %second : tensor<4x8xf32>, tensor<8xf32>
  }
  return %r#0, %r#1 : !m, !v
}

// -----

epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!v = !epl.dist<tensor<4xf32>, <@mesh, [{}]>>
#id = affine_map<(d0) -> (d0)>

// What is read at computed positions is made before, also if it is read element by element too.
// CHECK-LABEL: func.func @computed
// CHECK-COUNT-2: epl.cluster fusion
func.func @computed(%arg0: !v) -> !v {
  %r = epl.task <@tg0, forward> (%arg0) : (!v) -> !v {
  ^bb0(%x: tensor<4xf32>):
    %c3 = arith.constant 3 : index
    %e = tensor.empty() : tensor<4xf32>
    %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %y = math.exp %a : f32
      linalg.yield %y : f32
    } -> tensor<4xf32>
    %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%0 : tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %i = linalg.index 0 : index
      %j = arith.subi %c3, %i : index
      %b = tensor.extract %0[%j] : tensor<4xf32>
      %y = arith.addf %a, %b : f32
      linalg.yield %y : f32
    } -> tensor<4xf32>
    epl.yield %1 : tensor<4xf32>
  }
  return %r : !v
}
