// RUN: epl-opt %s -epl-fuse-collectives | FileCheck %s
// RUN: epl-opt %s -epl-fuse-collectives="max-bytes=64 small-bytes=4" | FileCheck %s --check-prefix=BYTES
// RUN: epl-opt %s -epl-fuse-collectives -mlir-print-debuginfo | FileCheck %s --check-prefix=WHERE

// Tasks hand on what they are given: the pass looks at what depends on what.

!whole = !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
!pending = !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>
!model = !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"model"}>>
!both = !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data", "model"}>>
!max = !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = max{"data"}>>
!flag = !epl.dist<tensor<i1>, <@mesh, []>>

epl.mesh @mesh axes ["data"=2, "model"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// Shapes, element types and what else splits the tensors may differ. So may what stays pending.
// CHECK-LABEL: func.func @joined
// CHECK-NEXT: %[[SUM:.*]]:3 = epl.all_reduce %arg0, %arg1, %arg2 : !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>, !epl.dist<tensor<6x4xi32>, <@mesh, [{"model"}, {}], partial = sum{"data"}>>, !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data", "model"}>> -> !epl.dist<tensor<8xf32>, <@mesh, [{}]>>, !epl.dist<tensor<6x4xi32>, <@mesh, [{"model"}, {}]>>, !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"model"}>>
// CHECK-NEXT: return %[[SUM]]#0, %[[SUM]]#1, %[[SUM]]#2
// WHERE-LABEL: func.func @joined
// WHERE: epl.all_reduce {{.*}} loc(#[[BOTH:.*]])
func.func @joined(%a: !pending, %b: !epl.dist<tensor<6x4xi32>, <@mesh, [{"model"}, {}], partial = sum{"data"}>>, %c: !both)
    -> (!whole, !epl.dist<tensor<6x4xi32>, <@mesh, [{"model"}, {}]>>, !model) {
  %0 = epl.all_reduce %a : !pending -> !whole loc("first")
  %1 = epl.all_reduce %b : !epl.dist<tensor<6x4xi32>, <@mesh, [{"model"}, {}], partial = sum{"data"}>>
      -> !epl.dist<tensor<6x4xi32>, <@mesh, [{"model"}, {}]>> loc("second")
  %2 = epl.all_reduce %c : !both -> !model loc("second")
  return %0, %1, %2 : !whole, !epl.dist<tensor<6x4xi32>, <@mesh, [{"model"}, {}]>>, !model
}

// A sum of what a sum gave.
// CHECK-LABEL: func.func @dependence
// CHECK-NEXT: %[[FIRST:.*]] = epl.all_reduce %arg0
// CHECK-NEXT: %[[MADE:.*]] = epl.task <@tg0, forward>(%[[FIRST]])
// CHECK: %[[SECOND:.*]] = epl.all_reduce %[[MADE]]
// CHECK-NEXT: return %[[FIRST]], %[[SECOND]]
func.func @dependence(%a: !pending) -> (!whole, !whole) {
  %0 = epl.all_reduce %a : !pending -> !whole
  %1 = epl.task <@tg0, forward>(%0) : (!whole) -> !pending {
  ^bb0(%x: tensor<8xf32>):
    epl.yield %x : tensor<8xf32>
  }
  %2 = epl.all_reduce %1 : !pending -> !whole
  return %0, %2 : !whole, !whole
}

// One axis behind the other, in one chain of two.
// CHECK-LABEL: func.func @dependence_at_once
// CHECK-NEXT: %[[FIRST:.*]]:2 = epl.all_reduce %arg0, %arg1
// CHECK-NEXT: %[[SECOND:.*]]:2 = epl.all_reduce %[[FIRST]]#0, %[[FIRST]]#1
// CHECK-NEXT: return %[[SECOND]]#0, %[[SECOND]]#1
func.func @dependence_at_once(%a: !both, %b: !both) -> (!whole, !whole) {
  %0 = epl.all_reduce %a : !both -> !model
  %1 = epl.all_reduce %0 : !model -> !whole
  %2 = epl.all_reduce %b : !both -> !model
  %3 = epl.all_reduce %2 : !model -> !whole
  return %1, %3 : !whole, !whole
}

// Other members, other members in part, another reduction.
// CHECK-LABEL: func.func @other_kinds
// CHECK-COUNT-4: = epl.all_reduce %{{[^,]*}} :
// CHECK-NEXT: return
func.func @other_kinds(%a: !pending, %b: !model, %c: !both, %d: !max) -> (!whole, !whole, !whole, !whole) {
  %0 = epl.all_reduce %a : !pending -> !whole
  %1 = epl.all_reduce %b : !model -> !whole
  %2 = epl.all_reduce %c : !both -> !whole
  %3 = epl.all_reduce %d : !max -> !whole
  return %0, %1, %2, %3 : !whole, !whole, !whole, !whole
}

// People see what makes each of them necessary, once; work that is not the same is nobody's.
// CHECK-LABEL: func.func @causes
// CHECK-NEXT: epl.all_reduce %arg0, %arg1, %arg2 {epl.cause = "a + b", epl.work = #epl.work<@tg0, backward>} :
// CHECK-NEXT: epl.all_reduce %arg3, %arg4 :
func.func @causes(%a: !pending, %b: !pending, %c: !pending, %d: !model, %e: !model) -> (!whole, !whole, !whole, !whole, !whole) {
  %0 = epl.all_reduce %a {epl.cause = "a", epl.work = #epl.work<@tg0, backward>} : !pending -> !whole
  %1 = epl.all_reduce %b {epl.cause = "b", epl.work = #epl.work<@tg0, backward>} : !pending -> !whole
  %2 = epl.all_reduce %c {epl.cause = "a", epl.work = #epl.work<@tg0, backward>} : !pending -> !whole
  %3 = epl.all_reduce %d {epl.work = #epl.work<@tg0, forward>} : !model -> !whole
  %4 = epl.all_reduce %e {epl.work = #epl.work<@tg0, backward>} : !model -> !whole
  return %0, %1, %2, %3, %4 : !whole, !whole, !whole, !whole, !whole
}

// CHECK-LABEL: func.func @guards
// CHECK: %[[THEN:.*]]:2 = epl.all_reduce %arg0, %arg2 {epl.guards = [#epl.guard<0, true>]}
// CHECK-NEXT: %[[ELSE:.*]] = epl.all_reduce %arg1 {epl.guards = [#epl.guard<0, false>]}
// CHECK-NEXT: %[[ALWAYS:.*]] = epl.all_reduce %arg3 :
// CHECK-NEXT: return %[[THEN]]#0, %[[ELSE]], %[[THEN]]#1, %[[ALWAYS]]
func.func @guards(%a: !pending, %b: !pending, %c: !pending, %d: !pending, %p: !flag) -> (!whole, !whole, !whole, !whole) {
  epl.predicate 0 %p : !flag
  %0 = epl.all_reduce %a {epl.guards = [#epl.guard<0, true>]} : !pending -> !whole
  %1 = epl.all_reduce %b {epl.guards = [#epl.guard<0, false>]} : !pending -> !whole
  %2 = epl.all_reduce %c {epl.guards = [#epl.guard<0, true>]} : !pending -> !whole
  %3 = epl.all_reduce %d : !pending -> !whole
  return %0, %1, %2, %3 : !whole, !whole, !whole, !whole
}

// What is read before the other is made does not wait for it.
// CHECK-LABEL: func.func @deadline
// CHECK-NEXT: %[[EARLY:.*]] = epl.all_reduce %arg0
// CHECK-NEXT: %[[MADE:.*]]:2 = epl.task <@tg0, backward>(%[[EARLY]], %arg1)
// CHECK: epl.all_reduce %[[MADE]]#1
func.func @deadline(%a: !pending, %b: !whole) -> (!whole, !whole) {
  %0 = epl.all_reduce %a : !pending -> !whole
  %1:2 = epl.task <@tg0, backward>(%0, %b) : (!whole, !whole) -> (!whole, !pending) {
  ^bb0(%x: tensor<8xf32>, %y: tensor<8xf32>):
    epl.yield %x, %y : tensor<8xf32>, tensor<8xf32>
  }
  %2 = epl.all_reduce %1#1 : !pending -> !whole
  return %1#0, %2 : !whole, !whole
}

// What could have been summed before goes to the one before.
// CHECK-LABEL: func.func @goes_up
// CHECK-NEXT: %[[SUM:.*]]:2 = epl.all_reduce %arg0, %arg1
// CHECK-NEXT: epl.task <@tg0, backward>(%[[SUM]]#0)
func.func @goes_up(%a: !pending, %b: !pending) -> (!whole, !whole) {
  %0 = epl.all_reduce %a : !pending -> !whole
  %1 = epl.task <@tg0, backward>(%0) : (!whole) -> !whole {
  ^bb0(%x: tensor<8xf32>):
    epl.yield %x : tensor<8xf32>
  }
  %2 = epl.all_reduce %b : !pending -> !whole
  return %1, %2 : !whole, !whole
}

// What nobody waits for comes down to what is made later, with those that it was joined with.
// CHECK-LABEL: func.func @comes_down
// CHECK-NEXT: %[[MADE:.*]] = epl.task <@tg0, backward>(%arg2)
// CHECK: %[[SUM:.*]]:3 = epl.all_reduce %arg0, %arg1, %[[MADE]]
// CHECK-NEXT: epl.task <@tg0, apply>(%[[SUM]]#0)
// BYTES-LABEL: func.func @comes_down
// BYTES-NEXT: %[[SUM:.*]]:2 = epl.all_reduce %arg0, %arg1 :
// BYTES-NEXT: %[[MADE:.*]] = epl.task <@tg0, backward>(%arg2)
// BYTES: epl.all_reduce %[[MADE]] :
func.func @comes_down(%a: !pending, %b: !pending, %c: !whole) -> (!whole, !whole, !whole) {
  %0 = epl.all_reduce %a : !pending -> !whole
  %1 = epl.all_reduce %b : !pending -> !whole
  %2 = epl.task <@tg0, backward>(%c) : (!whole) -> !pending {
  ^bb0(%x: tensor<8xf32>):
    epl.yield %x : tensor<8xf32>
  }
  %3 = epl.all_reduce %2 : !pending -> !whole
  %4 = epl.task <@tg0, apply>(%0) : (!whole) -> !whole {
  ^bb0(%x: tensor<8xf32>):
    epl.yield %x : tensor<8xf32>
  }
  return %4, %1, %3 : !whole, !whole, !whole
}

// 64 bytes take two tensors of 32, and scalars besides.
// BYTES-LABEL: func.func @bytes
// BYTES-NEXT: epl.all_reduce %arg0, %arg1, %arg2 :
// BYTES-NEXT: epl.all_reduce %arg3, %arg4 :
func.func @bytes(%a: !pending, %b: !pending, %c: !epl.dist<tensor<f32>, <@mesh, [], partial = sum{"data"}>>, %d: !pending,
                 %e: !epl.dist<tensor<f32>, <@mesh, [], partial = sum{"data"}>>)
    -> (!whole, !whole, !epl.dist<tensor<f32>, <@mesh, []>>, !whole, !epl.dist<tensor<f32>, <@mesh, []>>) {
  %0 = epl.all_reduce %a : !pending -> !whole
  %1 = epl.all_reduce %b : !pending -> !whole
  %2 = epl.all_reduce %c : !epl.dist<tensor<f32>, <@mesh, [], partial = sum{"data"}>> -> !epl.dist<tensor<f32>, <@mesh, []>>
  %3 = epl.all_reduce %d : !pending -> !whole
  %4 = epl.all_reduce %e : !epl.dist<tensor<f32>, <@mesh, [], partial = sum{"data"}>> -> !epl.dist<tensor<f32>, <@mesh, []>>
  return %0, %1, %2, %3, %4 : !whole, !whole, !epl.dist<tensor<f32>, <@mesh, []>>, !whole, !epl.dist<tensor<f32>, <@mesh, []>>
}

// Those of an iteration, and those that are done once: %a's comes down behind the loop.
// CHECK-LABEL: func.func @loop
// CHECK-NEXT: epl.loop_carry <0, trip_count = 3> 0 %arg1
// CHECK-NEXT: %[[MADE:.*]]:2 = epl.task <@tg0, forward>
// CHECK: %[[TURN:.*]]:2 = epl.all_reduce %[[MADE]]#0, %[[MADE]]#1
// CHECK-NEXT: %[[LAST:.*]] = epl.loop_last <0, trip_count = 3> 0 %[[TURN]]#0
// CHECK-NEXT: %[[STACK:.*]] = epl.loop_stack <0, trip_count = 3> %[[TURN]]#1
// CHECK-NEXT: %[[END:.*]] = epl.task <@tg0, forward>(%[[LAST]])
// CHECK: %[[ONCE:.*]]:2 = epl.all_reduce %arg0, %[[END]]
// CHECK-NEXT: return %[[ONCE]]#0, %[[ONCE]]#1, %[[STACK]]
func.func @loop(%a: !pending, %b: !whole) -> (!whole, !whole, !epl.dist<tensor<3x8xf32>, <@mesh, [{}, {}]>>) {
  %0 = epl.all_reduce %a : !pending -> !whole
  %1 = epl.loop_carry <0, trip_count = 3> 0 %b : !whole -> !whole
  %2:2 = epl.task <@tg0, forward>(%1) : (!whole) -> (!pending, !pending) {
  ^bb0(%x: tensor<8xf32>):
    epl.yield %x, %x : tensor<8xf32>, tensor<8xf32>
  }
  %3 = epl.all_reduce %2#0 : !pending -> !whole
  %4 = epl.all_reduce %2#1 : !pending -> !whole
  %5 = epl.loop_last <0, trip_count = 3> 0 %3 : !whole
  %6 = epl.loop_stack <0, trip_count = 3> %4 : !whole -> !epl.dist<tensor<3x8xf32>, <@mesh, [{}, {}]>>
  %7 = epl.task <@tg0, forward>(%5) : (!whole) -> !pending {
  ^bb0(%x: tensor<8xf32>):
    epl.yield %x : tensor<8xf32>
  }
  %8 = epl.all_reduce %7 : !pending -> !whole
  return %0, %8, %6 : !whole, !whole, !epl.dist<tensor<3x8xf32>, <@mesh, [{}, {}]>>
}

// So it is with sums of which members keep parts, and with parts that they join, by dimension.
// CHECK-LABEL: func.func @shared_state
// CHECK-NEXT: %[[PARTS:.*]]:2 = epl.reduce_scatter %arg0, %arg1 :
// CHECK-NEXT: %[[ROWS:.*]]:2 = epl.all_gather %[[PARTS]]#0, %[[PARTS]]#1 dim 0 :
// CHECK-NEXT: %[[COLUMNS:.*]] = epl.all_gather %arg2 dim 1 :
// CHECK-NEXT: return %[[ROWS]]#0, %[[ROWS]]#1, %[[COLUMNS]]
func.func @shared_state(%a: !pending, %b: !pending, %c: !epl.dist<tensor<4x8xf32>, <@mesh, [{}, {"data"}]>>)
    -> (!whole, !whole, !epl.dist<tensor<4x8xf32>, <@mesh, [{}, {}]>>) {
  %0 = epl.reduce_scatter %a : !pending -> !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>
  %1 = epl.all_gather %0 dim 0 : !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>> -> !whole
  %2 = epl.reduce_scatter %b : !pending -> !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>
  %3 = epl.all_gather %2 dim 0 : !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>> -> !whole
  %4 = epl.all_gather %c dim 1 : !epl.dist<tensor<4x8xf32>, <@mesh, [{}, {"data"}]>> -> !epl.dist<tensor<4x8xf32>, <@mesh, [{}, {}]>>
  return %1, %3, %4 : !whole, !whole, !epl.dist<tensor<4x8xf32>, <@mesh, [{}, {}]>>
}

// WHERE-DAG: #[[FIRST:.*]] = loc("first")
// WHERE-DAG: #[[SECOND:.*]] = loc("second")
// WHERE: #[[BOTH]] = loc(fused[#[[FIRST]], #[[SECOND]]])
