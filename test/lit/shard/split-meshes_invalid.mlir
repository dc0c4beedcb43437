// RUN: epl-opt %s --split-input-file --verify-diagnostics --epl-split-meshes

#v = affine_map<(d0) -> (d0)>
#fwd0 = #epl.work<@tg0, forward>
#fwd1 = #epl.work<@tg1, forward>

epl.mesh @mesh0 axes ["data"=2] first 0 strides [2]
epl.mesh @mesh1 axes ["data"=2] first 1 strides [2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh0 name("body")
epl.taskgraph @tg1 strategy(<replicate, 1>) on @mesh1

func.func public @loop(%x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<8xf32> {
  // expected-error@+1 {{the loop of 3 turns is part of scope "body" and of task graph "tg1", a scope without a name, which have devices of their own, expected one of them}}
  %0 = epl.loop_carry <0, turns = 3> 0 %x {epl.work = #fwd0} : tensor<8xf32> -> tensor<8xf32>
  // expected-note@+1 {{work of the first one is here}}
  %1 = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]}
      ins(%0 : tensor<8xf32>) outs(%0 : tensor<8xf32>) attrs = {epl.work = #fwd0} {
  ^bb0(%a: f32, %c: f32):
    %s = math.sin %a : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  // expected-note@+1 {{work of the other one is here}}
  %2 = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]}
      ins(%1 : tensor<8xf32>) outs(%1 : tensor<8xf32>) attrs = {epl.work = #fwd1} {
  ^bb0(%a: f32, %c: f32):
    %s = math.cos %a : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %3 = epl.loop_last <0, turns = 3> 0 %2 {epl.work = #fwd0} : tensor<8xf32>
  return %3 : tensor<8xf32>
}

// -----

epl.mesh @mesh0 axes ["data"=2] first 0 strides [2]
epl.mesh @mesh1 axes ["data"=2] first 1 strides [2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh0
epl.taskgraph @tg1 strategy(<replicate, 1>) on @mesh1

func.func public @main(%x: tensor<8xf32> {epl.role = "state"}) -> (tensor<8xf32> {epl.updates = 0 : i64}) {
  return %x : tensor<8xf32>
}

// expected-error@+1 {{symbol "main.mesh1" is taken, expected it free for what is done on mesh "mesh1"}}
epl.taskgraph @main.mesh1 strategy(<replicate, 1>) on @mesh0
