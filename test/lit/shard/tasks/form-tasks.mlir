// RUN: epl-opt %s -epl-form-tasks -epl-verify-tasks | FileCheck %s

// Elementwise ops stand for all compute: the pass looks at works and dependencies only.

#whole = #epl.sharding<@mesh, [{}]>
#split = #epl.sharding<@mesh, [{"data"}]>
#none = #epl.sharding<@mesh, []>
#pending = #epl.sharding<@mesh, [{}], partial = sum{"data"}>
#fwd = #epl.work<@tg0, forward>
#bwd = #epl.work<@tg0, backward>
#apply = #epl.work<@tg0, apply>
!whole = !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
!split = !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>
!one = !epl.dist<tensor<1xf32>, <@mesh, [{}]>>
!pending = !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// A step of two parameters: one task for each work, each sum right after what it depends on. A value that
// crosses from task to task has its distribution in its type.
// CHECK-LABEL: func.func @step
// CHECK-SAME: (%[[W1:.*]]: !epl.dist<tensor<8xf32>, <@mesh, [{}]>>, %[[W2:.*]]: !epl.dist<{{.*}}>, %[[X:.*]]: !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>)
// CHECK-NEXT: %[[F:.*]] = epl.task <@tg0, forward>(%[[X]]) : (!epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>) -> !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>> {
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<4xf32>):
// CHECK-NEXT: %[[H:.*]] = math.exp %[[A]] : tensor<4xf32>
// CHECK-NEXT: epl.yield %[[H]]
// CHECK: %[[B:.*]]:2 = epl.task <@tg0, backward>(%[[F]], %[[X]])
// CHECK-SAME: -> (!epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>, !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>)
// CHECK: %[[G1:.*]] = epl.all_reduce %[[B]]#0
// CHECK-NEXT: %[[G2:.*]] = epl.all_reduce %[[B]]#1
// CHECK-NEXT: %[[N:.*]]:2 = epl.task <@tg0, apply>(%[[W1]], %[[G1]], %[[W2]], %[[G2]])
// CHECK-NEXT: ^bb0(%[[P1:.*]]: tensor<8xf32>, %[[D1:.*]]: tensor<8xf32>, %[[P2:.*]]: tensor<8xf32>, %[[D2:.*]]: tensor<8xf32>):
// CHECK-NEXT: %[[N1:.*]] = arith.subf %[[P1]], %[[D1]] : tensor<8xf32>
// CHECK-NEXT: %[[N2:.*]] = arith.subf %[[P2]], %[[D2]] : tensor<8xf32>
// CHECK-NEXT: epl.yield %[[N1]], %[[N2]]
// CHECK: return %[[N]]#0, %[[N]]#1
func.func @step(%w1: !whole, %w2: !whole, %x: !split) -> (!whole, !whole) {
  %0 = epl.to_local %w1 : !whole -> tensor<8xf32>
  %1 = epl.to_local %w2 : !whole -> tensor<8xf32>
  %2 = epl.to_local %x : !split -> tensor<4xf32>
  %h = math.exp %2 {epl.work = #fwd, epl.sharding = [#split]} : tensor<4xf32>
  %d1 = tensor.concat dim(0) %h, %2 {epl.work = #bwd, epl.sharding = [#pending]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %p1 = epl.from_local %d1 : tensor<8xf32> -> !pending
  %r1 = epl.all_reduce %p1 : !pending -> !whole
  %g1 = epl.to_local %r1 : !whole -> tensor<8xf32>
  %n1 = arith.subf %0, %g1 {epl.work = #apply, epl.sharding = [#whole]} : tensor<8xf32>
  %d2 = tensor.concat dim(0) %2, %h {epl.work = #bwd, epl.sharding = [#pending]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %p2 = epl.from_local %d2 : tensor<8xf32> -> !pending
  %r2 = epl.all_reduce %p2 : !pending -> !whole
  %g2 = epl.to_local %r2 : !whole -> tensor<8xf32>
  %n2 = arith.subf %1, %g2 {epl.work = #apply, epl.sharding = [#whole]} : tensor<8xf32>
  %o1 = epl.from_local %n1 : tensor<8xf32> -> !whole
  %o2 = epl.from_local %n2 : tensor<8xf32> -> !whole
  return %o1, %o2 : !whole, !whole
}

// What needs the sum is a second task; what comes after it in the text but does not need it is not held back.
// CHECK-LABEL: func.func @behind_a_collective
// CHECK-NEXT: %[[FIRST:.*]]:2 = epl.task <@tg0, backward>
// CHECK: math.exp
// CHECK-NEXT: math.sqrt
// CHECK-NEXT: epl.yield
// CHECK: %[[SUM:.*]] = epl.all_reduce %[[FIRST]]#0
// CHECK-NEXT: %[[SECOND:.*]] = epl.task <@tg0, backward>(%[[SUM]])
// CHECK: math.log
// CHECK: return %[[SECOND]], %[[FIRST]]#1
func.func @behind_a_collective(%x: !pending) -> (!whole, !pending) {
  %0 = epl.to_local %x : !pending -> tensor<8xf32>
  %1 = math.exp %0 {epl.work = #bwd, epl.sharding = [#pending]} : tensor<8xf32>
  %2 = epl.from_local %1 : tensor<8xf32> -> !pending
  %3 = epl.all_reduce %2 : !pending -> !whole
  %4 = epl.to_local %3 : !whole -> tensor<8xf32>
  %5 = math.log %4 {epl.work = #bwd, epl.sharding = [#whole]} : tensor<8xf32>
  %6 = math.sqrt %0 {epl.work = #bwd, epl.sharding = [#pending]} : tensor<8xf32>
  %7 = epl.from_local %5 : tensor<8xf32> -> !whole
  %8 = epl.from_local %6 : tensor<8xf32> -> !pending
  return %7, %8 : !whole, !pending
}

// Forward work that reads a backward value cannot join the forward task that the backward one reads.
// CHECK-LABEL: func.func @forward_again
// CHECK-NEXT: %[[A:.*]] = epl.task <@tg0, forward>
// CHECK: %[[B:.*]] = epl.task <@tg0, backward>(%[[A]])
// CHECK: %[[C:.*]] = epl.task <@tg0, forward>(%[[B]])
// CHECK: return %[[C]]
func.func @forward_again(%x: !whole) -> !whole {
  %0 = epl.to_local %x : !whole -> tensor<8xf32>
  %1 = math.exp %0 {epl.work = #fwd, epl.sharding = [#whole]} : tensor<8xf32>
  %2 = math.log %1 {epl.work = #bwd, epl.sharding = [#whole]} : tensor<8xf32>
  %3 = math.sqrt %2 {epl.work = #fwd, epl.sharding = [#whole]} : tensor<8xf32>
  %4 = epl.from_local %3 : tensor<8xf32> -> !whole
  return %4 : !whole
}

// Forward and backward ops that read each other's in both directions: were each work one task, they would wait
// for each other.
// CHECK-LABEL: func.func @no_cycle
// CHECK-NEXT: %[[A:.*]] = epl.task <@tg0, backward>
// CHECK: %[[B:.*]]:2 = epl.task <@tg0, forward>(%{{.*}}, %[[A]])
// CHECK: %[[C:.*]] = epl.task <@tg0, backward>(%[[B]]#0)
// CHECK: return %[[C]], %[[B]]#1
func.func @no_cycle(%x: !whole) -> (!whole, !whole) {
  %0 = epl.to_local %x : !whole -> tensor<8xf32>
  %1 = math.exp %0 {epl.work = #fwd, epl.sharding = [#whole]} : tensor<8xf32>
  %2 = math.log %0 {epl.work = #bwd, epl.sharding = [#whole]} : tensor<8xf32>
  %3 = math.sqrt %2 {epl.work = #fwd, epl.sharding = [#whole]} : tensor<8xf32>
  %4 = math.absf %1 {epl.work = #bwd, epl.sharding = [#whole]} : tensor<8xf32>
  %5 = epl.from_local %4 : tensor<8xf32> -> !whole
  %6 = epl.from_local %3 : tensor<8xf32> -> !whole
  return %5, %6 : !whole, !whole
}

// What costs nothing is made where it is used: constants, empty tensors, fills, scalars, coordinates.
// CHECK-LABEL: func.func @free
// CHECK-NEXT: epl.task <@tg0, forward>(%{{.*}}) : (!epl.dist<tensor<8xf32>, <@mesh, [{}]>>) -> !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>
// CHECK: epl.axis_index @mesh "data"
// CHECK: arith.constant 4 : index
// CHECK: arith.muli
// CHECK: tensor.extract_slice
// CHECK: arith.constant 0.000000e+00 : f32
// CHECK: tensor.empty() : tensor<4xf32>
// CHECK: linalg.generic
// CHECK: arith.addf
// CHECK: epl.task <@tg0, backward>(%{{.*}}) : (!epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>) -> !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>
// CHECK-NOT: axis_index
// CHECK: arith.constant 0.000000e+00 : f32
// CHECK: tensor.empty() : tensor<4xf32>
// CHECK: linalg.generic
// CHECK: arith.subf
func.func @free(%x: !whole) -> !split {
  %axis = epl.axis_index @mesh "data"
  %0 = epl.to_local %x : !whole -> tensor<8xf32>
  %c4 = arith.constant 4 : index
  %offset = arith.muli %axis, %c4 : index
  %zero = arith.constant {epl.work = #fwd} 0.0 : f32
  %empty = tensor.empty() {epl.work = #fwd, epl.sharding = [#split]} : tensor<4xf32>
  %fill = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%zero : f32) outs(%empty : tensor<4xf32>) attrs = {epl.work = #fwd, epl.sharding = [#split]} {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<4xf32>
  %1 = tensor.extract_slice %0[%offset] [4] [1] {epl.work = #fwd, epl.sharding = [#split]} : tensor<8xf32> to tensor<4xf32>
  %2 = arith.addf %1, %fill {epl.work = #fwd, epl.sharding = [#split]} : tensor<4xf32>
  %3 = arith.subf %2, %fill {epl.work = #bwd, epl.sharding = [#split]} : tensor<4xf32>
  %4 = epl.from_local %3 : tensor<4xf32> -> !split
  return %4 : !split
}

// A scalar that is read from a tensor is read again by every task; the tensor crosses.
// CHECK-LABEL: func.func @scalar
// CHECK-NEXT: %[[A:.*]]:2 = epl.task <@tg0, forward>(%[[X:.*]]) :
// CHECK: math.exp
// CHECK: epl.task <@tg0, apply>(%[[A]]#0, %[[A]]#1)
// CHECK: tensor.extract
// CHECK: tensor.splat
func.func @scalar(%x: !whole) -> (!whole, !whole) {
  %0 = epl.to_local %x : !whole -> tensor<8xf32>
  %c0 = arith.constant 0 : index
  %1 = math.exp %0 {epl.work = #fwd, epl.sharding = [#whole]} : tensor<8xf32>
  %2 = math.log %0 {epl.work = #fwd, epl.sharding = [#whole]} : tensor<8xf32>
  %s = tensor.extract %2[%c0] {epl.work = #fwd} : tensor<8xf32>
  %3 = tensor.splat %s {epl.work = #apply, epl.sharding = [#whole]} : tensor<8xf32>
  %4 = arith.mulf %1, %3 {epl.work = #apply, epl.sharding = [#whole]} : tensor<8xf32>
  %5 = epl.from_local %4 : tensor<8xf32> -> !whole
  return %5, %5 : !whole, !whole
}

// A broadcast is rematerialized too: its small source crosses, also where a reshape stands between.
// CHECK-LABEL: func.func @broadcast
// CHECK-NEXT: %[[A:.*]]:2 = epl.task <@tg0, forward>
// CHECK: epl.yield %{{.*}}, %{{.*}} : tensor<1xf32>, tensor<8xf32>
// CHECK: epl.task <@tg0, apply>(%[[A]]#1, %[[A]]#0) :
// CHECK: tensor.collapse_shape
// CHECK: linalg.generic
func.func @broadcast(%one: !one, %x: !whole) -> (!whole, !whole) {
  %0 = epl.to_local %one : !one -> tensor<1xf32>
  %1 = epl.to_local %x : !whole -> tensor<8xf32>
  %2 = math.exp %0 {epl.work = #fwd, epl.sharding = [#whole]} : tensor<1xf32>
  %3 = tensor.collapse_shape %2 [] {epl.work = #fwd, epl.sharding = [#none]} : tensor<1xf32> into tensor<f32>
  %empty = tensor.empty() {epl.work = #fwd, epl.sharding = [#whole]} : tensor<8xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%3 : tensor<f32>) outs(%empty : tensor<8xf32>) attrs = {epl.work = #fwd, epl.sharding = [#whole]} {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<8xf32>
  %5 = arith.addf %1, %4 {epl.work = #fwd, epl.sharding = [#whole]} : tensor<8xf32>
  %6 = arith.mulf %5, %4 {epl.work = #apply, epl.sharding = [#whole]} : tensor<8xf32>
  %7 = epl.from_local %6 : tensor<8xf32> -> !whole
  return %7, %7 : !whole, !whole
}

// What a body captures enters the task as its operands do.
// CHECK-LABEL: func.func @captured
// CHECK-NEXT: epl.task <@tg0, forward>(%[[X:.*]]) :
// CHECK-NEXT: ^bb0(%[[T:.*]]: tensor<8xf32>):
// CHECK: linalg.generic
// CHECK: tensor.extract %[[T]]
func.func @captured(%x: !whole) -> !split {
  %0 = epl.to_local %x : !whole -> tensor<8xf32>
  %empty = tensor.empty() {epl.work = #fwd, epl.sharding = [#split]} : tensor<4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      outs(%empty : tensor<4xf32>) attrs = {epl.work = #fwd, epl.sharding = [#split]} {
  ^bb0(%b: f32):
    %i = linalg.index 0 : index
    %v = tensor.extract %0[%i] : tensor<8xf32>
    linalg.yield %v : f32
  } -> tensor<4xf32>
  %2 = epl.from_local %1 : tensor<4xf32> -> !split
  return %2 : !split
}

// An argument that is returned as it came needs no task; a constant that is returned does.
// CHECK-LABEL: func.func @no_compute
// CHECK-SAME: (%[[X:.*]]: !epl.dist
// CHECK-NEXT: %[[C:.*]] = epl.task <@tg0, forward>() : () -> !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>> {
// CHECK-NEXT: %[[ONE:.*]] = arith.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT: epl.yield %[[ONE]]
// CHECK: return %[[X]], %[[C]]
func.func @no_compute(%x: !whole) -> (!whole, !split) {
  %0 = epl.to_local %x : !whole -> tensor<8xf32>
  %one = arith.constant {epl.work = #fwd, epl.sharding = [#split]} dense<1.0> : tensor<4xf32>
  %1 = epl.from_local %0 : tensor<8xf32> -> !whole
  %2 = epl.from_local %one : tensor<4xf32> -> !split
  return %1, %2 : !whole, !split
}

// A long chain of numbers that are read twice each: what a task depends on is found in as many steps as there are.
// CHECK-LABEL: func.func @numbers
// CHECK-NEXT: %[[A:.*]] = epl.task <@tg0, forward>
// CHECK: %[[B:.*]] = epl.task <@tg0, backward>(%[[A]])
// CHECK-COUNT-64: arith.addf
// CHECK: tensor.splat
// CHECK: return %[[B]]
func.func @numbers(%x: !one) -> !whole {
  %c = arith.constant 0 : index
  %0 = epl.to_local %x : !one -> tensor<1xf32>
  %e = math.exp %0 {epl.work = #fwd, epl.sharding = [#whole]} : tensor<1xf32>
  %s0 = tensor.extract %e[%c] : tensor<1xf32>
  %s1 = arith.addf %s0, %s0 : f32
  %s2 = arith.addf %s1, %s1 : f32
  %s3 = arith.addf %s2, %s2 : f32
  %s4 = arith.addf %s3, %s3 : f32
  %s5 = arith.addf %s4, %s4 : f32
  %s6 = arith.addf %s5, %s5 : f32
  %s7 = arith.addf %s6, %s6 : f32
  %s8 = arith.addf %s7, %s7 : f32
  %s9 = arith.addf %s8, %s8 : f32
  %s10 = arith.addf %s9, %s9 : f32
  %s11 = arith.addf %s10, %s10 : f32
  %s12 = arith.addf %s11, %s11 : f32
  %s13 = arith.addf %s12, %s12 : f32
  %s14 = arith.addf %s13, %s13 : f32
  %s15 = arith.addf %s14, %s14 : f32
  %s16 = arith.addf %s15, %s15 : f32
  %s17 = arith.addf %s16, %s16 : f32
  %s18 = arith.addf %s17, %s17 : f32
  %s19 = arith.addf %s18, %s18 : f32
  %s20 = arith.addf %s19, %s19 : f32
  %s21 = arith.addf %s20, %s20 : f32
  %s22 = arith.addf %s21, %s21 : f32
  %s23 = arith.addf %s22, %s22 : f32
  %s24 = arith.addf %s23, %s23 : f32
  %s25 = arith.addf %s24, %s24 : f32
  %s26 = arith.addf %s25, %s25 : f32
  %s27 = arith.addf %s26, %s26 : f32
  %s28 = arith.addf %s27, %s27 : f32
  %s29 = arith.addf %s28, %s28 : f32
  %s30 = arith.addf %s29, %s29 : f32
  %s31 = arith.addf %s30, %s30 : f32
  %s32 = arith.addf %s31, %s31 : f32
  %s33 = arith.addf %s32, %s32 : f32
  %s34 = arith.addf %s33, %s33 : f32
  %s35 = arith.addf %s34, %s34 : f32
  %s36 = arith.addf %s35, %s35 : f32
  %s37 = arith.addf %s36, %s36 : f32
  %s38 = arith.addf %s37, %s37 : f32
  %s39 = arith.addf %s38, %s38 : f32
  %s40 = arith.addf %s39, %s39 : f32
  %s41 = arith.addf %s40, %s40 : f32
  %s42 = arith.addf %s41, %s41 : f32
  %s43 = arith.addf %s42, %s42 : f32
  %s44 = arith.addf %s43, %s43 : f32
  %s45 = arith.addf %s44, %s44 : f32
  %s46 = arith.addf %s45, %s45 : f32
  %s47 = arith.addf %s46, %s46 : f32
  %s48 = arith.addf %s47, %s47 : f32
  %s49 = arith.addf %s48, %s48 : f32
  %s50 = arith.addf %s49, %s49 : f32
  %s51 = arith.addf %s50, %s50 : f32
  %s52 = arith.addf %s51, %s51 : f32
  %s53 = arith.addf %s52, %s52 : f32
  %s54 = arith.addf %s53, %s53 : f32
  %s55 = arith.addf %s54, %s54 : f32
  %s56 = arith.addf %s55, %s55 : f32
  %s57 = arith.addf %s56, %s56 : f32
  %s58 = arith.addf %s57, %s57 : f32
  %s59 = arith.addf %s58, %s58 : f32
  %s60 = arith.addf %s59, %s59 : f32
  %s61 = arith.addf %s60, %s60 : f32
  %s62 = arith.addf %s61, %s61 : f32
  %s63 = arith.addf %s62, %s62 : f32
  %s64 = arith.addf %s63, %s63 : f32
  %t = tensor.splat %s64 : tensor<8xf32>
  %l = math.log %t {epl.work = #bwd, epl.sharding = [#whole]} : tensor<8xf32>
  %o = epl.from_local %l : tensor<8xf32> -> !whole
  return %o : !whole
}

// What is computed again waits for the backward work of its task graph that stands before it, though it reads
// nothing of that: else all of it would be done, and kept, at once.
// CHECK-LABEL: func.func @as_late_as_possible
// CHECK-NEXT: %[[B2:.*]] = epl.task <@tg0, backward>
// CHECK: %[[R1:.*]] = epl.task <@tg0, recompute>
// CHECK: %[[B1:.*]] = epl.task <@tg0, backward>(%[[B2]], %[[R1]])
// CHECK: %[[R0:.*]] = epl.task <@tg0, recompute>
// CHECK: epl.task <@tg0, backward>(%[[B1]], %[[R0]])
func.func @as_late_as_possible(%x: !whole, %y: !whole) -> !whole {
  %0 = epl.to_local %x : !whole -> tensor<8xf32>
  %1 = epl.to_local %y : !whole -> tensor<8xf32>
  %g2 = arith.mulf %0, %1 {epl.work = #bwd, epl.sharding = [#whole]} : tensor<8xf32>
  %r1 = math.sin %0 {epl.work = #epl.work<@tg0, recompute>, epl.sharding = [#whole]} : tensor<8xf32>
  %g1 = arith.mulf %g2, %r1 {epl.work = #bwd, epl.sharding = [#whole]} : tensor<8xf32>
  %r0 = math.cos %0 {epl.work = #epl.work<@tg0, recompute>, epl.sharding = [#whole]} : tensor<8xf32>
  %g0 = arith.mulf %g1, %r0 {epl.work = #bwd, epl.sharding = [#whole]} : tensor<8xf32>
  %o = epl.from_local %g0 : tensor<8xf32> -> !whole
  return %o : !whole
}
