// RUN: epl-opt %s -epl-fuse-collectives | FileCheck %s

// What another mesh sends by channel 1 may be made of what goes to it by channel 0: no sum that goes there joins one
// that stands behind a reader of what comes. A sum that stays here may come down, and one that goes by a later channel.

!whole = !epl.dist<tensor<8xf32>, <@mesh0, [{}]>>
!parts = !epl.dist<tensor<8xf32>, <@mesh0, [{"data"}]>>
!pending = !epl.dist<tensor<8xf32>, <@mesh0, [{}], partial = sum{"data"}>>

epl.mesh @mesh0 axes ["data"=2] first 0 strides [2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh0

// CHECK-LABEL: func.func @sent_before
// CHECK-NEXT: %[[SENT:.*]] = epl.all_reduce %arg0
// CHECK-NEXT: %[[MADE:.*]] = epl.task <@tg0, forward>(%arg1)
// CHECK: %[[SUM:.*]] = epl.all_reduce %[[MADE]]
// CHECK-NEXT: return %[[SUM]], %[[SENT]]
func.func @sent_before(%a: !pending, %received: !whole {epl.channel = 1 : i64}) -> (!whole, !whole {epl.channel = 0 : i64}) {
  %0 = epl.all_reduce %a : !pending -> !whole
  %1 = epl.task <@tg0, forward>(%received) : (!whole) -> !pending {
  ^bb0(%x: tensor<8xf32>):
    epl.yield %x : tensor<8xf32>
  }
  %2 = epl.all_reduce %1 : !pending -> !whole
  return %2, %0 : !whole, !whole
}

// CHECK-LABEL: func.func @sent_later
// CHECK-NEXT: %[[MADE:.*]] = epl.task <@tg0, forward>(%arg1)
// CHECK: %[[SUM:.*]]:2 = epl.all_reduce %arg0, %[[MADE]]
// CHECK-NEXT: return %[[SUM]]#1, %[[SUM]]#0
func.func @sent_later(%a: !pending, %received: !whole {epl.channel = 1 : i64}) -> (!whole, !whole {epl.channel = 2 : i64}) {
  %0 = epl.all_reduce %a : !pending -> !whole
  %1 = epl.task <@tg0, forward>(%received) : (!whole) -> !pending {
  ^bb0(%x: tensor<8xf32>):
    epl.yield %x : tensor<8xf32>
  }
  %2 = epl.all_reduce %1 : !pending -> !whole
  return %2, %0 : !whole, !whole
}

// Nor does a gather of what comes go up before what it may be made of: here what is sent is a gather itself, there
// what a task makes of one.
// CHECK-LABEL: func.func @received_after
// CHECK-NEXT: %[[FIRST:.*]] = epl.all_gather %arg0
// CHECK-NEXT: %[[SENT:.*]] = epl.task <@tg0, forward>(%[[FIRST]])
// CHECK: %[[LAST:.*]] = epl.all_gather %arg1
// CHECK-NEXT: return %[[FIRST]], %[[LAST]], %[[SENT]]
func.func @received_after(%a: !parts, %received: !parts {epl.channel = 1 : i64})
    -> (!whole, !whole, !whole {epl.channel = 0 : i64}) {
  %0 = epl.all_gather %a dim 0 : !parts -> !whole
  %1 = epl.task <@tg0, forward>(%0) : (!whole) -> !whole {
  ^bb0(%x: tensor<8xf32>):
    epl.yield %x : tensor<8xf32>
  }
  %2 = epl.all_gather %received dim 0 : !parts -> !whole
  return %0, %2, %1 : !whole, !whole, !whole
}

// CHECK-LABEL: func.func @gathered
// CHECK-NEXT: %[[SENT:.*]] = epl.all_gather %arg0
// CHECK-NEXT: %[[LAST:.*]] = epl.all_gather %arg1
func.func @gathered(%a: !parts, %received: !parts {epl.channel = 1 : i64}) -> (!whole, !whole {epl.channel = 0 : i64}) {
  %0 = epl.all_gather %a dim 0 : !parts -> !whole
  %1 = epl.all_gather %received dim 0 : !parts -> !whole
  return %1, %0 : !whole, !whole
}

// Iterations that send by channel 1 may be received behind what goes by channel 0, so the sum of that stays before the
// loop; one that goes by channel 2 may come down.
!rows = !epl.dist<tensor<2x8xf32>, <@mesh0, [{}, {}]>>

// CHECK-LABEL: func.func @before_messages
// CHECK-NEXT: %[[SENT:.*]] = epl.all_reduce %arg0 :
// CHECK: epl.loop_stack
// CHECK: epl.loop_last
// CHECK: epl.all_reduce %{{[^,]*}} :
func.func @before_messages(%a: !pending, %xs: !rows, %zero: !pending)
    -> (!whole, !whole {epl.channel = 0 : i64}, !rows {epl.channel = 1 : i64, epl.messages}) {
  %0 = epl.all_reduce %a : !pending -> !whole
  %1 = epl.loop_slice <0, trip_count = 2, micro_batches = true> %xs : !rows -> !whole
  %2 = epl.loop_carry <0, trip_count = 2, micro_batches = true> 0 %zero : !pending -> !pending
  %3:2 = epl.task <@tg0, forward>(%1, %2) : (!whole, !pending) -> (!whole, !pending) {
  ^bb0(%x: tensor<8xf32>, %sum: tensor<8xf32>):
    epl.yield %x, %sum : tensor<8xf32>, tensor<8xf32>
  }
  %4 = epl.loop_stack <0, trip_count = 2, micro_batches = true> %3#0 : !whole -> !rows
  %5 = epl.loop_last <0, trip_count = 2, micro_batches = true> 0 %3#1 : !pending
  %6 = epl.all_reduce %5 : !pending -> !whole
  return %6, %0, %4 : !whole, !whole, !rows
}

// CHECK-LABEL: func.func @behind_messages
// CHECK-NEXT: epl.loop_slice
// CHECK: epl.loop_last
// CHECK-NEXT: epl.all_reduce %arg0, %{{.*}} :
func.func @behind_messages(%a: !pending, %xs: !rows, %zero: !pending)
    -> (!whole, !whole {epl.channel = 2 : i64}, !rows {epl.channel = 1 : i64, epl.messages}) {
  %0 = epl.all_reduce %a : !pending -> !whole
  %1 = epl.loop_slice <0, trip_count = 2, micro_batches = true> %xs : !rows -> !whole
  %2 = epl.loop_carry <0, trip_count = 2, micro_batches = true> 0 %zero : !pending -> !pending
  %3:2 = epl.task <@tg0, forward>(%1, %2) : (!whole, !pending) -> (!whole, !pending) {
  ^bb0(%x: tensor<8xf32>, %sum: tensor<8xf32>):
    epl.yield %x, %sum : tensor<8xf32>, tensor<8xf32>
  }
  %4 = epl.loop_stack <0, trip_count = 2, micro_batches = true> %3#0 : !whole -> !rows
  %5 = epl.loop_last <0, trip_count = 2, micro_batches = true> 0 %3#1 : !pending
  %6 = epl.all_reduce %5 : !pending -> !whole
  return %6, %0, %4 : !whole, !whole, !rows
}
