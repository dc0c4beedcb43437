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
