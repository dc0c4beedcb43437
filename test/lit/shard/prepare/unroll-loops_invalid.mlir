// RUN: epl-opt %s --verify-diagnostics --epl-unroll-loops

#fwd0 = #epl.work<@tg0, forward>
#fwd1 = #epl.work<@tg1, forward>

epl.mesh @mesh0 axes ["data"=2] first 0 strides [2]
epl.mesh @mesh1 axes ["data"=2] first 1 strides [2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh0 name("body")
epl.taskgraph @tg1 strategy(<replicate, 1>) on @mesh1

func.func public @loop(%x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<8xf32> {
  // expected-error@below {{the loop of 6000 iterations is part of scope "body" and of task graph "tg1", a scope without a name: these have devices of their own, but unrolled it would be 24000 operations, expected at most 20000; give both scopes one name, or let them share devices ("cluster.colocate_split_and_replicate"), or write a loop for each}}
  %0 = epl.loop_carry <0, trip_count = 6000> 0 %x {epl.work = #fwd0} : tensor<8xf32> -> tensor<8xf32>
  // expected-note@below {{work of the first one is here}}
  %1 = math.sin %0 {epl.work = #fwd0} : tensor<8xf32>
  // expected-note@below {{work of the other one is here}}
  %2 = math.cos %1 {epl.work = #fwd1} : tensor<8xf32>
  %3 = epl.loop_last <0, trip_count = 6000> 0 %2 {epl.work = #fwd0} : tensor<8xf32>
  return %3 : tensor<8xf32>
}
