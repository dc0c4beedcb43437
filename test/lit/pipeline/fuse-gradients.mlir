// RUN: epl-opt %s -epl-fuse-collectives="max-splits=1" | FileCheck %s --check-prefix=ONE
// RUN: epl-opt %s -epl-fuse-collectives="max-splits=5" | FileCheck %s --check-prefix=FIVE
// RUN: epl-opt %s -epl-fuse-collectives="max-bytes=64 small-bytes=4" | FileCheck %s --check-prefix=BYTES
// RUN: epl-opt %s -epl-fuse-collectives="max-splits=1 max-bytes=64 small-bytes=4" | FileCheck %s --check-prefix=ONE

// Eight gradients of 32 bytes: one group, or pairs, as of five groups each has at most a quarter (EPL's rule). The
// loss is none of them, and bytes of the machine are no bound of theirs.

!whole = !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
!pending = !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>
!large = !epl.dist<tensor<64xf32>, <@mesh, [{}]>>
!largePending = !epl.dist<tensor<64xf32>, <@mesh, [{}], partial = sum{"data"}>>

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// ONE-LABEL: func.func @equal
// ONE-NEXT: epl.all_reduce %arg0 {epl.work = #epl.work<@tg0, forward>}
// ONE-NEXT: %[[SUMS:.*]]:8 = epl.all_reduce %arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7, %arg8 {
// ONE-NEXT: epl.task <@tg0, apply>
// FIVE-LABEL: func.func @equal
// FIVE-NEXT: epl.all_reduce %arg0 {
// FIVE-NEXT: epl.all_reduce %arg1, %arg2 {
// FIVE-NEXT: epl.all_reduce %arg3, %arg4 {
// FIVE-NEXT: epl.all_reduce %arg5, %arg6 {
// FIVE-NEXT: epl.all_reduce %arg7, %arg8 {
// FIVE-NEXT: epl.task
// BYTES-LABEL: func.func @equal
// BYTES-NEXT: epl.all_reduce %arg0, %arg1 :
func.func @equal(%loss: !pending, %a: !pending, %b: !pending, %c: !pending, %d: !pending, %e: !pending, %f: !pending,
                 %g: !pending, %h: !pending) -> (!whole, !whole) {
  %0 = epl.all_reduce %loss {epl.work = #epl.work<@tg0, forward>} : !pending -> !whole
  %1 = epl.all_reduce %a {epl.work = #epl.work<@tg0, backward>} : !pending -> !whole
  %2 = epl.all_reduce %b {epl.work = #epl.work<@tg0, backward>} : !pending -> !whole
  %3 = epl.all_reduce %c {epl.work = #epl.work<@tg0, backward>} : !pending -> !whole
  %4 = epl.all_reduce %d {epl.work = #epl.work<@tg0, backward>} : !pending -> !whole
  %5 = epl.all_reduce %e {epl.work = #epl.work<@tg0, backward>} : !pending -> !whole
  %6 = epl.all_reduce %f {epl.work = #epl.work<@tg0, backward>} : !pending -> !whole
  %7 = epl.all_reduce %g {epl.work = #epl.work<@tg0, backward>} : !pending -> !whole
  %8 = epl.all_reduce %h {epl.work = #epl.work<@tg0, backward>} : !pending -> !whole
  %9 = epl.task <@tg0, apply>(%1, %2, %3, %4, %5, %6, %7, %8)
    : (!whole, !whole, !whole, !whole, !whole, !whole, !whole, !whole) -> !whole {
  ^bb0(%p: tensor<8xf32>, %q: tensor<8xf32>, %r: tensor<8xf32>, %s: tensor<8xf32>, %t: tensor<8xf32>, %u: tensor<8xf32>,
       %v: tensor<8xf32>, %w: tensor<8xf32>):
    epl.yield %p : tensor<8xf32>
  }
  return %0, %9 : !whole, !whole
}

// What is larger than the bound is alone, the small ones are together.
// FIVE-LABEL: func.func @large
// FIVE-NEXT: epl.all_reduce %arg0 {
// FIVE-NEXT: epl.all_reduce %arg1, %arg2 {
func.func @large(%a: !largePending, %b: !pending, %c: !pending) -> (!large, !whole, !whole) {
  %1 = epl.all_reduce %a {epl.work = #epl.work<@tg0, backward>} : !largePending -> !large
  %2 = epl.all_reduce %b {epl.work = #epl.work<@tg0, backward>} : !pending -> !whole
  %3 = epl.all_reduce %c {epl.work = #epl.work<@tg0, backward>} : !pending -> !whole
  return %1, %2, %3 : !large, !whole, !whole
}

// What backward work reads is no gradient.
// ONE-LABEL: func.func @statistics
// ONE-NEXT: epl.all_reduce %arg0 {
// ONE-NEXT: epl.task <@tg0, backward>
// ONE: epl.all_reduce %arg1 {
func.func @statistics(%a: !pending, %b: !pending) -> (!whole, !whole) {
  %0 = epl.all_reduce %a {epl.work = #epl.work<@tg0, backward>} : !pending -> !whole
  %1 = epl.task <@tg0, backward>(%0) : (!whole) -> !whole {
  ^bb0(%p: tensor<8xf32>):
    epl.yield %p : tensor<8xf32>
  }
  %2 = epl.all_reduce %b {epl.work = #epl.work<@tg0, backward>} : !pending -> !whole
  return %1, %2 : !whole, !whole
}
