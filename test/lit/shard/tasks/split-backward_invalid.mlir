// RUN: epl-opt %s --epl-split-backward --verify-diagnostics

#bwd = #epl.work<@tg0, backward>
#whole = #epl.sharding<@mesh, [{}]>
!whole = !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
!batches = !epl.dist<tensor<2x8xf32>, <@mesh, [{}, {}]>>

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// What each iteration reads of the one before, none of them makes.

func.func @carried(%x: !whole) -> (!batches {epl.channel = 0 : i64, epl.messages}) {
  // expected-error@below {{has no "epl.loop_last" of index 0}}
  %0 = epl.loop_carry <0, trip_count = 2, micro_batches = true> 0 %x : !whole -> !whole
  %a = epl.to_local %0 : !whole -> tensor<8xf32>
  %b = math.cos %a {epl.work = #bwd, epl.sharding = [#whole]} : tensor<8xf32>
  %1 = epl.from_local %b : tensor<8xf32> -> !whole
  %2 = epl.loop_stack <0, trip_count = 2, micro_batches = true> %1 : !whole -> !batches
  return %2 : !batches
}
