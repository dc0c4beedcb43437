// RUN: epl-opt %s -split-input-file -epl-form-tasks | FileCheck %s

#fwd = #epl.work<@tg0, forward>
#whole = #epl.sharding<@mesh, [{}]>
#none = #epl.sharding<@mesh, []>
#pending = #epl.sharding<@mesh, [{}], partial = sum{"data"}>
!whole = !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
!flag = !epl.dist<tensor<i1>, <@mesh, []>>
!pending = !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>
#id = affine_map<(d0) -> (d0)>
#scalar = affine_map<(d0) -> ()>

// What only one side of the selection reads is done where the predicate says so: the exponential, its sum over the
// devices, and the other side. What both read is not.
// CHECK-LABEL: func.func @collective
// CHECK-SAME: %[[P:[^:]*]]: !epl.dist<tensor<i1>
// CHECK-NEXT: %[[BOTH:.*]] = epl.task <@tg0, forward>
// CHECK: math.sin
// CHECK-NOT: epl.guards
// CHECK: epl.predicate 0 %[[P]]
// CHECK-NEXT: %[[A:.*]] = epl.task <@tg0, forward>(%[[BOTH]])
// CHECK: math.exp
// CHECK: } {epl.guards = [#epl.guard<0, true>]}
// CHECK: %[[B:.*]] = epl.task <@tg0, forward>(%[[BOTH]])
// CHECK: math.cos
// CHECK: } {epl.guards = [#epl.guard<0, false>]}
// CHECK: %[[SUM:.*]] = epl.all_reduce %[[A]] {epl.guards = [#epl.guard<0, true>]}
// CHECK: epl.task <@tg0, forward>(%[[P]], %[[SUM]], %[[B]])
// CHECK: arith.select
// CHECK-NOT: epl.guards
epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
func.func @collective(%flag: !flag, %x: !whole) -> !whole {
  %p = epl.to_local %flag : !flag -> tensor<i1>
  %0 = epl.to_local %x : !whole -> tensor<8xf32>
  %1 = math.sin %0 {epl.work = #fwd, epl.sharding = [#whole]} : tensor<8xf32>
  %2 = math.exp %1 {epl.work = #fwd, epl.sharding = [#pending]} : tensor<8xf32>
  %3 = epl.from_local %2 : tensor<8xf32> -> !pending
  %4 = epl.all_reduce %3 : !pending -> !whole
  %5 = epl.to_local %4 : !whole -> tensor<8xf32>
  %6 = math.cos %1 {epl.work = #fwd, epl.sharding = [#whole]} : tensor<8xf32>
  %empty = tensor.empty() {epl.work = #fwd, epl.sharding = [#whole]} : tensor<8xf32>
  %7 = linalg.generic {indexing_maps = [#scalar, #id, #id, #id], iterator_types = ["parallel"]}
      ins(%p, %5, %6 : tensor<i1>, tensor<8xf32>, tensor<8xf32>) outs(%empty : tensor<8xf32>)
      attrs = {epl.work = #fwd, epl.sharding = [#whole]} {
  ^bb0(%c: i1, %a: f32, %b: f32, %o: f32):
    %s = arith.select %c, %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %8 = epl.from_local %7 : tensor<8xf32> -> !whole
  return %8 : !whole
}

// -----

#fwd = #epl.work<@tg0, forward>
#whole = #epl.sharding<@mesh, [{}]>
#none = #epl.sharding<@mesh, []>
!whole = !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
!one = !epl.dist<tensor<f32>, <@mesh, []>>
#id = affine_map<(d0) -> (d0)>
#scalar = affine_map<(d0) -> ()>

// Elementwise branches stay in the selection's task. So does work before the predicate that it could wait for: %early.
// CHECK-LABEL: func.func @elementwise
// CHECK-NOT: epl.predicate
// CHECK-NOT: epl.guards
epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
func.func @elementwise(%x: !whole, %y: !one) -> !whole {
  %0 = epl.to_local %x : !whole -> tensor<8xf32>
  %1 = epl.to_local %y : !one -> tensor<f32>
  %zero = arith.constant {epl.work = #fwd, epl.sharding = [#none]} dense<0.0> : tensor<f32>
  %early = linalg.generic {indexing_maps = [#id, #scalar], iterator_types = ["reduction"]}
      ins(%0 : tensor<8xf32>) outs(%zero : tensor<f32>) attrs = {epl.work = #fwd, epl.sharding = [#none]} {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  %p = arith.cmpf ogt, %1, %zero {epl.work = #fwd, epl.sharding = [#none]} : tensor<f32>
  %2 = math.exp %0 {epl.work = #fwd, epl.sharding = [#whole]} : tensor<8xf32>
  %empty = tensor.empty() {epl.work = #fwd, epl.sharding = [#whole]} : tensor<8xf32>
  %3 = linalg.generic {indexing_maps = [#scalar, #id, #scalar, #id], iterator_types = ["parallel"]}
      ins(%p, %2, %early : tensor<i1>, tensor<8xf32>, tensor<f32>) outs(%empty : tensor<8xf32>)
      attrs = {epl.work = #fwd, epl.sharding = [#whole]} {
  ^bb0(%c: i1, %a: f32, %b: f32, %o: f32):
    %s = arith.select %c, %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %4 = epl.from_local %3 : tensor<8xf32> -> !whole
  return %4 : !whole
}

// -----

#fwd = #epl.work<@tg0, forward>
#whole = #epl.sharding<@mesh, [{}]>
#pending = #epl.sharding<@mesh, [{}], partial = sum{"data"}>
!whole = !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
!flag = !epl.dist<tensor<i1>, <@mesh, []>>
!pending = !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>
#id = affine_map<(d0) -> (d0)>
#scalar = affine_map<(d0) -> ()>

// A predicate that a loop leaves behind stands behind all of the loop, the plan has its iterations together.
// CHECK-LABEL: func.func @after_a_loop
// CHECK: %[[P:.*]] = epl.loop_last <0, trip_count = 3> 0
// CHECK-NEXT: epl.loop_last <0, trip_count = 3> 1
// CHECK-NEXT: epl.predicate 0 %[[P]]
// CHECK: epl.all_reduce {{.*}} {epl.guards = [#epl.guard<0, true>]}
epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
func.func @after_a_loop(%flag: !flag, %x: !whole) -> (!whole, !whole) {
  %carried = epl.loop_carry <0, trip_count = 3> 0 %flag : !flag -> !flag
  %h = epl.loop_carry <0, trip_count = 3> 1 %x : !whole -> !whole
  %last = epl.loop_last <0, trip_count = 3> 0 %carried : !flag
  %end = epl.loop_last <0, trip_count = 3> 1 %h : !whole
  %p = epl.to_local %last : !flag -> tensor<i1>
  %0 = epl.to_local %x : !whole -> tensor<8xf32>
  %2 = math.exp %0 {epl.work = #fwd, epl.sharding = [#pending]} : tensor<8xf32>
  %3 = epl.from_local %2 : tensor<8xf32> -> !pending
  %4 = epl.all_reduce %3 : !pending -> !whole
  %5 = epl.to_local %4 : !whole -> tensor<8xf32>
  %empty = tensor.empty() {epl.work = #fwd, epl.sharding = [#whole]} : tensor<8xf32>
  %7 = linalg.generic {indexing_maps = [#scalar, #id, #id, #id], iterator_types = ["parallel"]}
      ins(%p, %5, %0 : tensor<i1>, tensor<8xf32>, tensor<8xf32>) outs(%empty : tensor<8xf32>)
      attrs = {epl.work = #fwd, epl.sharding = [#whole]} {
  ^bb0(%c: i1, %a: f32, %b: f32, %o: f32):
    %s = arith.select %c, %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %8 = epl.from_local %7 : tensor<8xf32> -> !whole
  return %8, %end : !whole, !whole
}

// -----

#fwd = #epl.work<@tg0, forward>
#whole = #epl.sharding<@mesh, [{}]>
#rows = #epl.sharding<@mesh, [{}, {}]>
#none = #epl.sharding<@mesh, []>
#pending = #epl.sharding<@mesh, [{}], partial = sum{"data"}>
#any = #epl.sharding<@mesh, [], partial = any{"data"}>
!whole = !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
!pending = !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>
!rows = !epl.dist<tensor<3x8xf32>, <@mesh, [{}, {}]>>
!pending_rows = !epl.dist<tensor<3x8xf32>, <@mesh, [{}, {}], partial = sum{"data"}>>
!flag = !epl.dist<tensor<i1>, <@mesh, []>>
!pending_flag = !epl.dist<tensor<i1>, <@mesh, [], partial = any{"data"}>>
#id = affine_map<(d0) -> (d0)>
#both = affine_map<(d0, d1) -> (d0, d1)>
#scalar = affine_map<(d0, d1) -> ()>

// Of what leaves a loop nothing waits for a predicate that the rest of the loop does not: what else leaves it is read
// by the exponential, which is done in the task that makes the predicate.
// CHECK-LABEL: func.func @leaves_with_others
// CHECK: epl.loop_stack <0, trip_count = 3> %{{[^ ]*}} :
// CHECK: epl.loop_stack <0, trip_count = 3> %{{[^ ]*}} :
// CHECK: %[[A:.*]]:2 = epl.task
// CHECK: math.exp
// CHECK: %[[P:.*]] = epl.all_reduce
// CHECK: epl.predicate 0 %[[P]]
// CHECK: epl.all_reduce {{.*}} {epl.guards = [#epl.guard<0, true>]}
epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
func.func @leaves_with_others(%xs: !rows, %y: !whole) -> (!rows, !rows) {
  %0 = epl.to_local %y : !whole -> tensor<8xf32>
  %false = arith.constant {epl.work = #fwd, epl.sharding = [#none]} dense<false> : tensor<i1>
  %found = linalg.generic {indexing_maps = [#id, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
      ins(%0 : tensor<8xf32>) outs(%false : tensor<i1>) attrs = {epl.work = #fwd, epl.sharding = [#any]} {
  ^bb0(%a: f32, %o: i1):
    %zero = arith.constant 0.0 : f32
    %c = arith.cmpf ogt, %a, %zero : f32
    %s = arith.ori %c, %o : i1
    linalg.yield %s : i1
  } -> tensor<i1>
  %1 = epl.from_local %found : tensor<i1> -> !pending_flag
  %2 = epl.all_reduce %1 : !pending_flag -> !flag
  %p = epl.to_local %2 : !flag -> tensor<i1>
  %3 = epl.loop_slice <0, trip_count = 3> %xs : !rows -> !whole
  %x = epl.to_local %3 : !whole -> tensor<8xf32>
  %e = tensor.empty() {epl.work = #fwd, epl.sharding = [#whole]} : tensor<8xf32>
  %4, %5 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%e, %e : tensor<8xf32>, tensor<8xf32>)
      attrs = {epl.work = #fwd, epl.sharding = [#whole, #pending]} {
  ^bb0(%a: f32, %o: f32, %q: f32):
    %s = math.sin %a : f32
    linalg.yield %a, %s : f32, f32
  } -> (tensor<8xf32>, tensor<8xf32>)
  %6 = epl.from_local %4 : tensor<8xf32> -> !whole
  %7 = epl.from_local %5 : tensor<8xf32> -> !pending
  %8 = epl.loop_stack <0, trip_count = 3> %6 : !whole -> !rows
  %9 = epl.loop_stack <0, trip_count = 3> %7 : !pending -> !pending_rows
  %10 = epl.to_local %8 : !rows -> tensor<3x8xf32>
  %11 = math.exp %10 {epl.work = #fwd, epl.sharding = [#rows]} : tensor<3x8xf32>
  %12 = epl.all_reduce %9 : !pending_rows -> !rows
  %13 = epl.to_local %12 : !rows -> tensor<3x8xf32>
  %empty = tensor.empty() {epl.work = #fwd, epl.sharding = [#rows]} : tensor<3x8xf32>
  %14 = linalg.generic {indexing_maps = [#scalar, #both, #both, #both], iterator_types = ["parallel", "parallel"]}
      ins(%p, %13, %11 : tensor<i1>, tensor<3x8xf32>, tensor<3x8xf32>) outs(%empty : tensor<3x8xf32>)
      attrs = {epl.work = #fwd, epl.sharding = [#rows]} {
  ^bb0(%c: i1, %a: f32, %b: f32, %o: f32):
    %s = arith.select %c, %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<3x8xf32>
  %15 = epl.from_local %14 : tensor<3x8xf32> -> !rows
  %16 = epl.from_local %11 : tensor<3x8xf32> -> !rows
  return %15, %16 : !rows, !rows
}

// -----

#fwd = #epl.work<@tg0, forward>
#rows = #epl.sharding<@mesh, [{}, {}]>
#pending = #epl.sharding<@mesh, [{}], partial = sum{"data"}>
!whole = !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
!pending = !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>
!rows = !epl.dist<tensor<3x8xf32>, <@mesh, [{}, {}]>>
!all = !epl.dist<tensor<2x3x8xf32>, <@mesh, [{}, {}, {}]>>
!flags = !epl.dist<tensor<2xi1>, <@mesh, [{}]>>
!flag = !epl.dist<tensor<i1>, <@mesh, []>>
#both = affine_map<(d0, d1) -> (d0, d1)>
#scalar = affine_map<(d0, d1) -> ()>

// A predicate of a micro-batch guards what its loop does, in all iterations of that.
// CHECK-LABEL: func.func @in_a_loop_of_a_micro_batch
// CHECK: %[[P:.*]] = epl.loop_slice <0,
// CHECK-NEXT: epl.predicate 0 %[[P]]
// CHECK: epl.all_reduce {{.*}} {epl.guards = [#epl.guard<0, true>]}
// CHECK: epl.loop_stack <1, {{.*}} {epl.guards = [#epl.guard<0, true>]}
// CHECK: arith.select
// CHECK: epl.loop_stack <0, trip_count = 2, micro_batches = true> %{{[^ ]*}} :
epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
func.func @in_a_loop_of_a_micro_batch(%flags: !flags, %ws: !rows) -> !all {
  %0 = epl.loop_slice <0, trip_count = 2, micro_batches = true> %flags : !flags -> !flag
  %p = epl.to_local %0 : !flag -> tensor<i1>
  %1 = epl.loop_slice <1, trip_count = 3 in <0, trip_count = 2, micro_batches = true>> %ws : !rows -> !whole
  %w = epl.to_local %1 : !whole -> tensor<8xf32>
  %2 = math.cos %w {epl.work = #fwd, epl.sharding = [#pending]} : tensor<8xf32>
  %3 = epl.from_local %2 : tensor<8xf32> -> !pending
  %4 = epl.all_reduce %3 : !pending -> !whole
  %5 = epl.loop_stack <1, trip_count = 3 in <0, trip_count = 2, micro_batches = true>> %4 : !whole -> !rows
  %6 = epl.to_local %5 : !rows -> tensor<3x8xf32>
  %7 = epl.to_local %ws : !rows -> tensor<3x8xf32>
  %empty = tensor.empty() {epl.work = #fwd, epl.sharding = [#rows]} : tensor<3x8xf32>
  %8 = linalg.generic {indexing_maps = [#scalar, #both, #both, #both], iterator_types = ["parallel", "parallel"]}
      ins(%p, %6, %7 : tensor<i1>, tensor<3x8xf32>, tensor<3x8xf32>) outs(%empty : tensor<3x8xf32>)
      attrs = {epl.work = #fwd, epl.sharding = [#rows]} {
  ^bb0(%c: i1, %a: f32, %b: f32, %o: f32):
    %s = arith.select %c, %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<3x8xf32>
  %9 = epl.from_local %8 : tensor<3x8xf32> -> !rows
  %10 = epl.loop_stack <0, trip_count = 2, micro_batches = true> %9 : !rows -> !all
  return %10 : !all
}
