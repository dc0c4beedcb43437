// RUN: epl-opt %s -epl-form-tasks | FileCheck %s

// A loop in one over micro-batches stands in one piece, and so does the other one: the sine of the iteration's value,
// which the inner loop does not read, stands before it or behind it.

#fwd = #epl.work<@tg0, forward>
#whole = #epl.sharding<@mesh, [{}]>
!whole = !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
!rows = !epl.dist<tensor<3x8xf32>, <@mesh, [{}, {}]>>
!batches = !epl.dist<tensor<2x8xf32>, <@mesh, [{}, {}]>>
epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// CHECK-LABEL: func.func @nested
// CHECK-NEXT: %[[X:.*]] = epl.loop_slice <0, trip_count = 2, micro_batches = true>
// CHECK-DAG: epl.loop_carry <1, trip_count = 3 in <0, trip_count = 2, micro_batches = true>> 0 %[[X]]
// CHECK-DAG: epl.loop_slice <1, trip_count = 3 in <0, trip_count = 2, micro_batches = true>>
// CHECK: %[[N:.*]] = epl.task
// CHECK: arith.addf
// CHECK: }
// CHECK-NEXT: %[[L:.*]] = epl.loop_last <1, {{.*}} %[[N]]
// CHECK-NEXT: epl.task <@tg0, forward>({{.*}}%[[L]]{{.*}})
// CHECK-DAG: math.sin
// CHECK-DAG: math.exp
// CHECK-COUNT-2: epl.loop_stack <0, trip_count = 2, micro_batches = true>
func.func @nested(%xs: !batches, %w: !rows) -> (!batches, !batches) {
  %0 = epl.loop_slice <0, trip_count = 2, micro_batches = true> %xs : !batches -> !whole
  %x = epl.to_local %0 : !whole -> tensor<8xf32>
  %1 = epl.loop_carry <1, trip_count = 3 in <0, trip_count = 2, micro_batches = true>> 0 %0 : !whole -> !whole
  %2 = epl.loop_slice <1, trip_count = 3 in <0, trip_count = 2, micro_batches = true>> %w : !rows -> !whole
  %c = epl.to_local %1 : !whole -> tensor<8xf32>
  %p = epl.to_local %2 : !whole -> tensor<8xf32>
  %3 = math.sin %x {epl.work = #fwd, epl.sharding = [#whole]} : tensor<8xf32>
  %n = arith.addf %c, %p {epl.work = #fwd, epl.sharding = [#whole]} : tensor<8xf32>
  %4 = epl.from_local %n : tensor<8xf32> -> !whole
  %5 = epl.loop_last <1, trip_count = 3 in <0, trip_count = 2, micro_batches = true>> 0 %4 : !whole
  %6 = epl.to_local %5 : !whole -> tensor<8xf32>
  %7 = math.exp %6 {epl.work = #fwd, epl.sharding = [#whole]} : tensor<8xf32>
  %8 = epl.from_local %3 : tensor<8xf32> -> !whole
  %9 = epl.from_local %7 : tensor<8xf32> -> !whole
  %10 = epl.loop_stack <0, trip_count = 2, micro_batches = true> %8 : !whole -> !batches
  %11 = epl.loop_stack <0, trip_count = 2, micro_batches = true> %9 : !whole -> !batches
  return %10, %11 : !batches, !batches
}
