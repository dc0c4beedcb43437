// RUN: epl-opt %s --epl-form-kernels --split-input-file | FileCheck %s

epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!m = !epl.dist<tensor<4x8xf32>, <@mesh, [{}, {}]>>
!v = !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
!t = !epl.dist<tensor<4x2x8xf32>, <@mesh, [{}, {}, {}]>>
!r = !epl.dist<tensor<4x2xf32>, <@mesh, [{}, {}]>>
!c = !epl.dist<tensor<2x8xf32>, <@mesh, [{}, {}]>>
#id = affine_map<(d0, d1) -> (d0, d1)>
#last = affine_map<(d0, d1) -> (d1)>
#first = affine_map<(d0, d1) -> (d0)>
#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#rows = affine_map<(d0, d1, d2) -> (d0, d1)>
#inner = affine_map<(d0, d1, d2) -> (d1, d2)>
#columns = affine_map<(d0, d1, d2) -> (d2)>

// Two readers of every element of a tensor read it together, though neither reads the other.
// CHECK-LABEL: func.func @readers
// CHECK: %[[R:.*]]:2 = epl.cluster fusion(%{{.*}}) : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
// CHECK-NOT: epl.cluster
// CHECK: epl.yield %[[R]]#0, %[[R]]#1
func.func @readers(%arg0: !m) -> (!m, !v) {
  %r:2 = epl.task <@tg0, forward> (%arg0) : (!m) -> (!m, !v) {
  ^bb0(%x: tensor<4x8xf32>):
    %z = arith.constant dense<0.0> : tensor<8xf32>
    %e = tensor.empty() : tensor<4x8xf32>
    %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = math.exp %a : f32
      linalg.yield %s : f32
    } -> tensor<4x8xf32>
    %1 = linalg.generic {indexing_maps = [#id, #last], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%z : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<8xf32>
    epl.yield %0, %1 : tensor<4x8xf32>, tensor<8xf32>
  }
  return %r#0, %r#1 : !m, !v
}

// A reader joins any that fits, not only the last one: sums of rows and of columns share a kernel if the rows
// are the same. The sum over the first dimension only, between them, fits neither.
// CHECK-LABEL: func.func @between
// CHECK: %[[R:.*]]:2 = epl.cluster fusion(%{{.*}}) : (tensor<4x2x8xf32>) -> (tensor<4x2xf32>, tensor<8xf32>)
// CHECK: %[[C:.*]] = epl.cluster fusion(%{{.*}}) : (tensor<4x2x8xf32>) -> tensor<2x8xf32>
// CHECK: epl.yield %[[R]]#0, %[[C]], %[[R]]#1
func.func @between(%arg0: !t) -> (!r, !c, !v) {
  %r:3 = epl.task <@tg0, forward> (%arg0) : (!t) -> (!r, !c, !v) {
  ^bb0(%x: tensor<4x2x8xf32>):
    %z42 = arith.constant dense<0.0> : tensor<4x2xf32>
    %z28 = arith.constant dense<0.0> : tensor<2x8xf32>
    %z8 = arith.constant dense<0.0> : tensor<8xf32>
    %0 = linalg.generic {indexing_maps = [#id3, #rows], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<4x2x8xf32>) outs(%z42 : tensor<4x2xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<4x2xf32>
    %1 = linalg.generic {indexing_maps = [#id3, #inner], iterator_types = ["reduction", "parallel", "parallel"]} ins(%x : tensor<4x2x8xf32>) outs(%z28 : tensor<2x8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<2x8xf32>
    %2 = linalg.generic {indexing_maps = [#id3, #columns], iterator_types = ["reduction", "reduction", "parallel"]} ins(%x : tensor<4x2x8xf32>) outs(%z8 : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<8xf32>
    epl.yield %0, %1, %2 : tensor<4x2xf32>, tensor<2x8xf32>, tensor<8xf32>
  }
  return %r#0, %r#1, %r#2 : !r, !c, !v
}

// The sum of a row, what is left of the row without it, and the sum of that over the rows: one kernel, as in
// the gradient of a layer norm.
// CHECK-LABEL: func.func @rows_and_columns
// CHECK: %[[R:.*]]:2 = epl.cluster fusion(%{{.*}}) : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
// CHECK-NOT: epl.cluster
// CHECK: epl.yield %[[R]]#0, %[[R]]#1
func.func @rows_and_columns(%arg0: !m) -> (!m, !v) {
  %r:2 = epl.task <@tg0, forward> (%arg0) : (!m) -> (!m, !v) {
  ^bb0(%x: tensor<4x8xf32>):
    %z4 = arith.constant dense<0.0> : tensor<4xf32>
    %z8 = arith.constant dense<0.0> : tensor<8xf32>
    %e = tensor.empty() : tensor<4x8xf32>
    %0 = linalg.generic {indexing_maps = [#id, #first], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x8xf32>) outs(%z4 : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    %1 = linalg.generic {indexing_maps = [#id, #first, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %0 : tensor<4x8xf32>, tensor<4xf32>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.subf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<4x8xf32>
    %2 = linalg.generic {indexing_maps = [#id, #last], iterator_types = ["reduction", "parallel"]} ins(%1 : tensor<4x8xf32>) outs(%z8 : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<8xf32>
    epl.yield %1, %2 : tensor<4x8xf32>, tensor<8xf32>
  }
  return %r#0, %r#1 : !m, !v
}

// -----

epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!m = !epl.dist<tensor<4x8xf32>, <@mesh, [{}, {}]>>
!v = !epl.dist<tensor<4xf32>, <@mesh, [{}]>>
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// A contraction is never fused with what reads it, and a broadcast that it reads is made before it: its
// operands are arguments, which a library takes.
// CHECK-LABEL: func.func @contraction
// CHECK: %[[B:.*]] = epl.cluster fusion(%{{.*}}) : (tensor<4xf32>) -> tensor<4x8xf32>
// CHECK: %[[S:.*]] = epl.cluster contraction(%{{.*}}, %[[B]]) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4xf32>
// CHECK: epl.cluster fusion(%[[S]])
func.func @contraction(%arg0: !m, %arg1: !v) -> !v {
  %r = epl.task <@tg0, forward> (%arg0, %arg1) : (!m, !v) -> !v {
  ^bb0(%x: tensor<4x8xf32>, %y: tensor<4xf32>):
    %z = arith.constant dense<0.0> : tensor<4xf32>
    %e = tensor.empty() : tensor<4x8xf32>
    %e1 = tensor.empty() : tensor<4xf32>
    %0 = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<4xf32>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<4x8xf32>
    %1 = linalg.generic {indexing_maps = [#id, #id, #row], iterator_types = ["parallel", "reduction"]} ins(%x, %0 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%z : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%1 : tensor<4xf32>) outs(%e1 : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = math.sqrt %a : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    epl.yield %2 : tensor<4xf32>
  }
  return %r : !v
}

// -----

// A gather shares the kernel of what makes its positions and of what reads its elements; what it reads from is there
// before.
epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!table = !epl.dist<tensor<9x8xf32>, <@mesh, [{}, {}]>>
!i = !epl.dist<tensor<4xi32>, <@mesh, [{}]>>
!m = !epl.dist<tensor<4x8xf32>, <@mesh, [{}, {}]>>
#id = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>
#id1 = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func.func @gather
// CHECK: %[[T:.*]] = epl.cluster fusion(%{{.*}}) : (tensor<9x8xf32>) -> tensor<9x8xf32>
// CHECK: math.exp
// CHECK: %[[R:.*]] = epl.cluster fusion({{.*}}%[[T]]{{.*}}) : {{.*}} -> tensor<4x8xf32>
// CHECK: arith.addi
// CHECK: tensor.extract
// CHECK: math.sin
// CHECK-NOT: epl.cluster
// CHECK: epl.yield %[[R]]
func.func @gather(%arg0: !table, %arg1: !i) -> !m {
  %r = epl.task <@tg0, forward> (%arg0, %arg1) : (!table, !i) -> !m {
  ^bb0(%x: tensor<9x8xf32>, %i: tensor<4xi32>):
    %et = tensor.empty() : tensor<9x8xf32>
    %table = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<9x8xf32>) outs(%et : tensor<9x8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %e = math.exp %a : f32
      linalg.yield %e : f32
    } -> tensor<9x8xf32>
    %ei = tensor.empty() : tensor<4xi32>
    %at = linalg.generic {indexing_maps = [#id1, #id1], iterator_types = ["parallel"]} ins(%i : tensor<4xi32>) outs(%ei : tensor<4xi32>) {
    ^bb0(%a: i32, %o: i32):
      %s = arith.addi %a, %a : i32
      linalg.yield %s : i32
    } -> tensor<4xi32>
    %em = tensor.empty() : tensor<4x8xf32>
    %rows = linalg.generic {indexing_maps = [#first, #id], iterator_types = ["parallel", "parallel"]} ins(%at : tensor<4xi32>) outs(%em : tensor<4x8xf32>) {
    ^bb0(%p: i32, %o: f32):
      %row = arith.index_cast %p : i32 to index
      %column = linalg.index 1 : index
      %e = tensor.extract %table[%row, %column] : tensor<9x8xf32>
      linalg.yield %e : f32
    } -> tensor<4x8xf32>
    %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%rows : tensor<4x8xf32>) outs(%em : tensor<4x8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = math.sin %a : f32
      linalg.yield %s : f32
    } -> tensor<4x8xf32>
    epl.yield %y : tensor<4x8xf32>
  }
  return %r : !m
}
