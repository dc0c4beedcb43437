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

// A broadcast is made again too: its small source crosses, also where a reshape stands between.
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
