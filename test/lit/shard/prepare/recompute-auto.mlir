// RUN: epl-opt %s -epl-recompute=mode=auto -split-input-file | FileCheck %s
// RUN: epl-opt %s -epl-recompute="mode=auto end-taskgraph=0" -split-input-file | FileCheck %s --check-prefix=END
// RUN: epl-opt %s -epl-recompute -split-input-file | FileCheck %s --check-prefix=OFF

#fwd = #epl.work<@tg0, forward>
#bwd = #epl.work<@tg0, backward>

epl.taskgraph @tg0 strategy(<replicate, 1>)

// Of nine values that the gradient reads, two are kept at places where one value crosses, %2 and %5; the three
// between them and those before are made again. A name means nothing here.
// CHECK-LABEL: func.func @chain(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<8xf32>
// CHECK-COUNT-9: {epl.work = #epl.work<@tg0, forward>}
// CHECK-NOT: forward
// CHECK-COUNT-3: backward
// CHECK-COUNT-2: math.sin {{.*}} {epl.work = #epl.work<@tg0, recompute>}
// CHECK-COUNT-3: backward
// CHECK-NEXT: math.sin %[[X]] {epl.work = #epl.work<@tg0, recompute>}
// CHECK-NEXT: math.sin {{.*}} {epl.work = #epl.work<@tg0, recompute>}
// CHECK-NEXT: backward
// CHECK-NOT: checkpoint
// OFF-LABEL: func.func @chain(
// OFF-NOT: recompute
// OFF-NOT: checkpoint
func.func @chain(%x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<8xf32> {
  %0 = math.sin %x {epl.work = #fwd} : tensor<8xf32>
  %1 = math.sin %0 {epl.checkpoint, epl.work = #fwd} : tensor<8xf32>
  %2 = math.sin %1 {epl.work = #fwd} : tensor<8xf32>
  %3 = math.sin %2 {epl.work = #fwd} : tensor<8xf32>
  %4 = math.sin %3 {epl.work = #fwd} : tensor<8xf32>
  %5 = math.sin %4 {epl.work = #fwd} : tensor<8xf32>
  %6 = math.sin %5 {epl.work = #fwd} : tensor<8xf32>
  %7 = math.sin %6 {epl.work = #fwd} : tensor<8xf32>
  %8 = math.sin %7 {epl.work = #fwd} : tensor<8xf32>
  %g8 = arith.mulf %8, %7 {epl.work = #bwd} : tensor<8xf32>
  %g7 = arith.mulf %g8, %6 {epl.work = #bwd} : tensor<8xf32>
  %g6 = arith.mulf %g7, %5 {epl.work = #bwd} : tensor<8xf32>
  %g5 = arith.mulf %g6, %4 {epl.work = #bwd} : tensor<8xf32>
  %g4 = arith.mulf %g5, %3 {epl.work = #bwd} : tensor<8xf32>
  %g3 = arith.mulf %g4, %2 {epl.work = #bwd} : tensor<8xf32>
  %g2 = arith.mulf %g3, %1 {epl.work = #bwd} : tensor<8xf32>
  %g1 = arith.mulf %g2, %0 {epl.work = #bwd} : tensor<8xf32>
  return %g1 : tensor<8xf32>
}

// -----

#fwd = #epl.work<@tg0, forward>
#bwd = #epl.work<@tg0, backward>

epl.taskgraph @tg0 strategy(<replicate, 1>)

// Within a block with a residual two values cross, between blocks one does, %2: the cut is there.
// CHECK-LABEL: func.func @residual(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<8xf32>
// CHECK: %[[K:.*]] = arith.addf %{{.*}} {epl.work = #epl.work<@tg0, forward>}
// CHECK-NEXT: math.sin %[[K]] {epl.work = #epl.work<@tg0, forward>}
// CHECK-COUNT-2: backward
// CHECK-NEXT: %[[E:.*]] = math.absf %[[X]] {epl.work = #epl.work<@tg0, recompute>}
// CHECK-NEXT: math.sin %[[E]] {epl.work = #epl.work<@tg0, recompute>}
// CHECK-NEXT: math.exp {{.*}} {epl.work = #epl.work<@tg0, recompute>}
// CHECK-COUNT-3: backward
// CHECK-NOT: recompute
func.func @residual(%x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<8xf32> {
  %e = math.absf %x {epl.work = #fwd} : tensor<8xf32>
  %0 = math.sin %e {epl.work = #fwd} : tensor<8xf32>
  %1 = math.exp %0 {epl.work = #fwd} : tensor<8xf32>
  %2 = arith.addf %1, %e {epl.work = #fwd} : tensor<8xf32>
  %3 = math.sin %2 {epl.work = #fwd} : tensor<8xf32>
  %4 = math.exp %3 {epl.work = #fwd} : tensor<8xf32>
  %5 = arith.addf %4, %2 {epl.work = #fwd} : tensor<8xf32>
  %g5 = arith.mulf %5, %4 {epl.work = #bwd} : tensor<8xf32>
  %g3 = arith.mulf %g5, %3 {epl.work = #bwd} : tensor<8xf32>
  %g2 = arith.mulf %g3, %1 {epl.work = #bwd} : tensor<8xf32>
  %g0 = arith.mulf %g2, %0 {epl.work = #bwd} : tensor<8xf32>
  %ge = arith.mulf %g0, %e {epl.work = #bwd} : tensor<8xf32>
  return %ge : tensor<8xf32>
}

// -----

#fwd0 = #epl.work<@tg0, forward>
#bwd0 = #epl.work<@tg0, backward>
#fwd1 = #epl.work<@tg1, forward>
#bwd1 = #epl.work<@tg1, backward>

epl.taskgraph @tg0 strategy(<replicate, 1>)
epl.taskgraph @tg1 strategy(<replicate, 1>)

// What a task graph hands on ends a part, too: all of the first one is made again but for what it keeps.
// CHECK-LABEL: func.func @taskgraphs(
// CHECK: <@tg1, recompute>
// CHECK: <@tg0, recompute>
// END-LABEL: func.func @taskgraphs(
// END-NOT: <@tg1, recompute>
// END: <@tg0, recompute>
func.func @taskgraphs(%x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<8xf32> {
  %0 = math.sin %x {epl.work = #fwd0} : tensor<8xf32>
  %1 = math.exp %0 {epl.work = #fwd0} : tensor<8xf32>
  %2 = math.sin %1 {epl.work = #fwd1} : tensor<8xf32>
  %3 = math.sin %2 {epl.work = #fwd1} : tensor<8xf32>
  %4 = math.sin %3 {epl.work = #fwd1} : tensor<8xf32>
  %5 = math.sin %4 {epl.work = #fwd1} : tensor<8xf32>
  %6 = math.sin %5 {epl.work = #fwd1} : tensor<8xf32>
  %g6 = arith.mulf %6, %5 {epl.work = #bwd1} : tensor<8xf32>
  %g5 = arith.mulf %g6, %4 {epl.work = #bwd1} : tensor<8xf32>
  %g4 = arith.mulf %g5, %3 {epl.work = #bwd1} : tensor<8xf32>
  %g3 = arith.mulf %g4, %2 {epl.work = #bwd1} : tensor<8xf32>
  %g1 = arith.mulf %g3, %0 {epl.work = #bwd0} : tensor<8xf32>
  return %g1 : tensor<8xf32>
}
