// RUN: epl-opt %s -epl-recompute=mode=collection -split-input-file | FileCheck %s

#fwd = #epl.work<@tg0, forward>
#bwd = #epl.work<@tg0, backward>
#apply = #epl.work<@tg0, apply>

epl.taskgraph @tg0 strategy(<replicate, 1>)

// What lies before a kept value is made again in front of its first reader, the later part first. What only the
// gradient reads (%d1) goes there. What lies behind the last kept value (%3, %d3) stays.
// CHECK-LABEL: func.func @parts(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<8xf32>
// CHECK-NEXT: %[[A0:.*]] = math.sin %[[X]] {epl.work = #epl.work<@tg0, forward>}
// CHECK-NEXT: %[[K0:.*]] = math.exp %[[A0]] {epl.work = #epl.work<@tg0, forward>}
// CHECK-NEXT: %[[A1:.*]] = math.sin %[[K0]] {epl.work = #epl.work<@tg0, forward>}
// CHECK-NEXT: %[[K1:.*]] = math.exp %[[A1]] {epl.work = #epl.work<@tg0, forward>}
// CHECK-NEXT: %[[L:.*]] = math.tanh %[[K1]] {epl.work = #epl.work<@tg0, forward>}
// CHECK-NEXT: %[[D:.*]] = math.cos %[[K1]] {epl.work = #epl.work<@tg0, forward>}
// CHECK-NEXT: %[[G3:.*]] = arith.mulf %[[D]], %[[L]] {epl.work = #epl.work<@tg0, backward>}
// CHECK-NEXT: %[[R1:.*]] = math.sin %[[K0]] {epl.work = #epl.work<@tg0, recompute>}
// CHECK-NEXT: %[[RD:.*]] = math.cos %[[R1]] {epl.work = #epl.work<@tg0, recompute>}
// CHECK-NEXT: %[[G2:.*]] = arith.mulf %[[G3]], %[[R1]] {epl.work = #epl.work<@tg0, backward>}
// CHECK-NEXT: %[[G1:.*]] = arith.mulf %[[G2]], %[[RD]] {epl.work = #epl.work<@tg0, backward>}
// CHECK-NEXT: %[[R0:.*]] = math.sin %[[X]] {epl.work = #epl.work<@tg0, recompute>}
// CHECK-NEXT: %[[G0:.*]] = arith.mulf %[[G1]], %[[R0]] {epl.work = #epl.work<@tg0, backward>}
// CHECK-NEXT: return %[[G0]]
func.func @parts(%x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<8xf32> {
  %0 = math.sin %x {epl.work = #fwd} : tensor<8xf32>
  %1 = math.exp %0 {epl.checkpoint, epl.work = #fwd} : tensor<8xf32>
  %2 = math.sin %1 {epl.work = #fwd} : tensor<8xf32>
  %d1 = math.cos %2 {epl.work = #fwd} : tensor<8xf32>
  %3 = math.exp %2 {epl.checkpoint, epl.work = #fwd} : tensor<8xf32>
  %4 = math.tanh %3 {epl.work = #fwd} : tensor<8xf32>
  %d3 = math.cos %3 {epl.work = #fwd} : tensor<8xf32>
  %g3 = arith.mulf %d3, %4 {epl.work = #bwd} : tensor<8xf32>
  %g2 = arith.mulf %g3, %2 {epl.work = #bwd} : tensor<8xf32>
  %g1 = arith.mulf %g2, %d1 {epl.work = #bwd} : tensor<8xf32>
  %g0 = arith.mulf %g1, %0 {epl.work = #bwd} : tensor<8xf32>
  return %g0 : tensor<8xf32>
}

// -----

#fwd = #epl.work<@tg0, forward>
#bwd = #epl.work<@tg0, backward>
#apply = #epl.work<@tg0, apply>

epl.taskgraph @tg0 strategy(<replicate, 1>)

// What is there anyway is read as it is: what the caller (%a) and the optimizer (%b) get, and another form of a
// parameter (%c). A mask, which is made of a key, is made again: the same bits.
// CHECK-LABEL: func.func @kept(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<8xf32>
// CHECK: %[[A:.*]] = math.sin %[[X]]
// CHECK: %[[B:.*]] = math.cos %[[X]]
// CHECK: %[[C:.*]] = math.absf %{{.*}} {epl.work = #epl.work<@tg0, forward>}
// CHECK: %[[K:.*]] = arith.addf %{{.*}}, %concat {epl.work = #epl.work<@tg0, forward>}
// CHECK: math.tanh %[[K]] {epl.work = #epl.work<@tg0, forward>}
// CHECK: arith.mulf %{{.*}}, %[[A]] {epl.work = #epl.work<@tg0, backward>}
// CHECK: arith.mulf %{{.*}}, %[[B]] {epl.work = #epl.work<@tg0, backward>}
// CHECK: arith.mulf %{{.*}}, %[[C]] {epl.work = #epl.work<@tg0, backward>}
// CHECK-NEXT: %[[MASK:.*]] = tensor.concat {{.*}} {epl.work = #epl.work<@tg0, recompute>}
// CHECK: arith.mulf %{{.*}}, %[[MASK]] {epl.work = #epl.work<@tg0, backward>}
func.func @kept(%x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64},
                %w: tensor<8xf32> {epl.role = "state"}, %key: tensor<2xf32> {epl.role = "state"})
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %a = math.sin %x {epl.work = #fwd} : tensor<8xf32>
  %b = math.cos %x {epl.work = #fwd} : tensor<8xf32>
  %c = math.absf %w {epl.work = #fwd} : tensor<8xf32>
  %mask = tensor.concat dim(0) %key, %key, %key, %key {epl.work = #fwd}
      : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<8xf32>
  %0 = arith.addf %a, %b {epl.work = #fwd} : tensor<8xf32>
  %1 = arith.mulf %0, %c {epl.work = #fwd} : tensor<8xf32>
  %2 = arith.addf %1, %mask {epl.checkpoint, epl.work = #fwd} : tensor<8xf32>
  %3 = math.tanh %2 {epl.work = #fwd} : tensor<8xf32>
  %g0 = arith.mulf %3, %a {epl.work = #bwd} : tensor<8xf32>
  %g1 = arith.mulf %g0, %b {epl.work = #bwd} : tensor<8xf32>
  %g2 = arith.mulf %g1, %c {epl.work = #bwd} : tensor<8xf32>
  %g3 = arith.mulf %g2, %mask {epl.work = #bwd} : tensor<8xf32>
  %s = arith.addf %g3, %b {epl.work = #apply} : tensor<8xf32>
  return %a, %g3, %s : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

#fwd0 = #epl.work<@tg0, forward>
#bwd0 = #epl.work<@tg0, backward>
#fwd1 = #epl.work<@tg1, forward>
#bwd1 = #epl.work<@tg1, backward>

epl.taskgraph @tg0 strategy(<replicate, 1>)
epl.taskgraph @tg1 strategy(<replicate, 1>)

// What another task graph has made is kept by those that read it: @tg1 reads %1, which @tg0 makes again.
// CHECK-LABEL: func.func @taskgraphs(
// CHECK: %[[SENT:.*]] = math.exp {{.*}} {epl.work = #epl.work<@tg0, forward>}
// CHECK: %[[R2:.*]] = math.sin %[[SENT]] {epl.work = #epl.work<@tg1, recompute>}
// CHECK: arith.mulf %{{.*}}, %[[R2]] {epl.work = #epl.work<@tg1, backward>}
// CHECK: arith.mulf %{{.*}}, %[[SENT]] {epl.work = #epl.work<@tg1, backward>}
// CHECK: %[[R0:.*]] = math.sin {{.*}} {epl.work = #epl.work<@tg0, recompute>}
// CHECK: %[[R1:.*]] = math.exp %[[R0]] {epl.work = #epl.work<@tg0, recompute>}
// CHECK: arith.mulf %{{.*}}, %[[R1]] {epl.work = #epl.work<@tg0, backward>}
// CHECK: arith.mulf %{{.*}}, %[[R0]] {epl.work = #epl.work<@tg0, backward>}
func.func @taskgraphs(%x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<8xf32> {
  %0 = math.sin %x {epl.work = #fwd0} : tensor<8xf32>
  %1 = math.exp %0 {epl.work = #fwd0} : tensor<8xf32>
  %2 = math.sin %1 {epl.work = #fwd1} : tensor<8xf32>
  %3 = math.exp %2 {epl.checkpoint, epl.work = #fwd1} : tensor<8xf32>
  %4 = math.tanh %3 {epl.work = #fwd1} : tensor<8xf32>
  %g4 = arith.mulf %4, %2 {epl.work = #bwd1} : tensor<8xf32>
  %g3 = arith.mulf %g4, %1 {epl.work = #bwd1} : tensor<8xf32>
  %g2 = arith.mulf %g3, %1 {epl.work = #bwd0} : tensor<8xf32>
  %g1 = arith.mulf %g2, %0 {epl.work = #bwd0} : tensor<8xf32>
  return %g1 : tensor<8xf32>
}

// -----

#fwd = #epl.work<@tg0, forward>
#bwd = #epl.work<@tg0, backward>
#loop = #epl.loop<0, trip_count = 4, micro_batches = true>

epl.taskgraph @tg0 strategy(<replicate, 1>)

// In an iteration over micro-batches, what is done once (%w2) is kept.
// CHECK-LABEL: func.func @iterations(
// CHECK: %[[W:.*]] = math.absf {{.*}} {epl.work = #epl.work<@tg0, forward>}
// CHECK: %[[X:.*]] = epl.loop_slice
// CHECK: %[[K:.*]] = math.exp
// CHECK: %[[T:.*]] = math.tanh %[[K]] {epl.work = #epl.work<@tg0, forward>}
// CHECK-NEXT: %[[R:.*]] = arith.mulf %[[X]], %[[W]] {epl.work = #epl.work<@tg0, recompute>}
// CHECK-NEXT: arith.mulf %[[T]], %[[R]] {epl.work = #epl.work<@tg0, backward>}
func.func @iterations(%xs: tensor<4x8xf32> {epl.role = "batch", epl.batch_dim = 1 : i64},
                      %w: tensor<8xf32> {epl.role = "state"}) -> tensor<4x8xf32> {
  %w2 = math.absf %w {epl.work = #fwd} : tensor<8xf32>
  %x = epl.loop_slice #loop %xs {epl.work = #fwd} : tensor<4x8xf32> -> tensor<8xf32>
  %0 = arith.mulf %x, %w2 {epl.work = #fwd} : tensor<8xf32>
  %1 = math.exp %0 {epl.checkpoint, epl.work = #fwd} : tensor<8xf32>
  %2 = math.tanh %1 {epl.work = #fwd} : tensor<8xf32>
  %g0 = arith.mulf %2, %0 {epl.work = #bwd} : tensor<8xf32>
  %gs = epl.loop_stack #loop %g0 {epl.work = #bwd} : tensor<8xf32> -> tensor<4x8xf32>
  return %gs : tensor<4x8xf32>
}
