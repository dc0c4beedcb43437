// RUN: epl-opt %s -epl-recompute=mode=collection -split-input-file -verify-diagnostics | FileCheck %s

#fwd = #epl.work<@tg0, forward>
#bwd = #epl.work<@tg0, backward>

epl.taskgraph @tg0 strategy(<replicate, 1>)

// What is only looked at has no gradient.
// CHECK-LABEL: func.func @metric(
// CHECK-NOT: recompute
// CHECK-NOT: checkpoint
// expected-warning@+1 {{no gradient needs a value that is named for recomputation ("checkpoints"): nothing is computed again}}
func.func @metric(%x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = math.sin %x {epl.work = #fwd} : tensor<8xf32>
  %1 = math.exp %0 {epl.checkpoint, epl.work = #fwd} : tensor<8xf32>
  %g0 = arith.mulf %0, %x {epl.work = #bwd} : tensor<8xf32>
  return %1, %g0 : tensor<8xf32>, tensor<8xf32>
}

// -----

#fwd = #epl.work<@tg0, forward>
#bwd = #epl.work<@tg0, backward>
#loop = #epl.loop<0, trip_count = 4>

epl.taskgraph @tg0 strategy(<replicate, 1>)

// Only iterations over micro-batches are done again. The value behind the loop is kept, its name counts.
// CHECK-LABEL: func.func @loop(
// CHECK: math.sin {{.*}} {epl.work = #epl.work<@tg0, recompute>}
func.func @loop(%x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<8xf32> {
  %h = epl.loop_carry #loop 0 %x {epl.work = #fwd} : tensor<8xf32> -> tensor<8xf32>
  // expected-warning@+1 {{a value that is named for recomputation ("checkpoints") is in a loop of 4 iterations, of which nothing is computed again}}
  %0 = math.sin %h {epl.checkpoint, epl.work = #fwd} : tensor<8xf32>
  %1 = epl.loop_last #loop 0 %0 {epl.work = #fwd} : tensor<8xf32>
  %2 = math.sin %1 {epl.work = #fwd} : tensor<8xf32>
  %3 = math.exp %2 {epl.checkpoint, epl.work = #fwd} : tensor<8xf32>
  %4 = math.exp %3 {epl.work = #fwd} : tensor<8xf32>
  %g3 = arith.mulf %4, %3 {epl.work = #bwd} : tensor<8xf32>
  %g2 = arith.mulf %g3, %2 {epl.work = #bwd} : tensor<8xf32>
  return %g2 : tensor<8xf32>
}
