// RUN: epl-opt %s --epl-split-backward | FileCheck %s

// A loop in one over micro-batches is done as a whole: what of it nothing that is sent is made of is done with the
// rest, before the gradient is sent, and so is what it begins with. What is made of it behind the loop can be done
// later.

#bwd = #epl.work<@tg0, backward>
#whole = #epl.sharding<@mesh, [{}]>
#stack = #epl.sharding<@mesh, [{}, {}]>
!whole = !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
!rows = !epl.dist<tensor<3x8xf32>, <@mesh, [{}, {}]>>
!batches = !epl.dist<tensor<2x8xf32>, <@mesh, [{}, {}]>>
epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// CHECK-LABEL: func.func @nested
// CHECK: math.cos {{.*}}<@tg0, backward_input>
// CHECK: arith.mulf {{.*}}<@tg0, backward_input>
// CHECK: math.sin {{.*}}<@tg0, backward_input>
// CHECK: math.exp {{.*}}<@tg0, backward_weight>
func.func @nested(%xs: !batches, %w: !rows) -> (!batches {epl.channel = 0 : i64, epl.messages}, !rows) {
  %0 = epl.loop_slice <0, trip_count = 2, micro_batches = true> %xs : !batches -> !whole
  %b = epl.to_local %0 : !whole -> tensor<8xf32>
  %i = math.cos %b {epl.work = #bwd, epl.sharding = [#whole]} : tensor<8xf32>
  %init = epl.from_local %i : tensor<8xf32> -> !whole
  %1 = epl.loop_carry <1, trip_count = 3 in <0, trip_count = 2, micro_batches = true>> 0 %init : !whole -> !whole
  %2 = epl.loop_slice <1, trip_count = 3 in <0, trip_count = 2, micro_batches = true>> %w : !rows -> !whole
  %c = epl.to_local %1 : !whole -> tensor<8xf32>
  %p = epl.to_local %2 : !whole -> tensor<8xf32>
  %n = arith.mulf %c, %p {epl.work = #bwd, epl.sharding = [#whole]} : tensor<8xf32>
  %g = math.sin %c {epl.work = #bwd, epl.sharding = [#whole]} : tensor<8xf32>
  %3 = epl.from_local %n : tensor<8xf32> -> !whole
  %4 = epl.from_local %g : tensor<8xf32> -> !whole
  %5 = epl.loop_last <1, trip_count = 3 in <0, trip_count = 2, micro_batches = true>> 0 %3 : !whole
  %6 = epl.loop_stack <1, trip_count = 3 in <0, trip_count = 2, micro_batches = true>> %4 : !whole -> !rows
  %7 = epl.to_local %6 : !rows -> tensor<3x8xf32>
  %8 = math.exp %7 {epl.work = #bwd, epl.sharding = [#stack]} : tensor<3x8xf32>
  %9 = epl.from_local %8 : tensor<3x8xf32> -> !rows
  %10 = epl.loop_stack <0, trip_count = 2, micro_batches = true> %5 : !whole -> !batches
  %11 = epl.loop_last <0, trip_count = 2, micro_batches = true> 0 %9 : !rows
  return %10, %11 : !batches, !rows
}
