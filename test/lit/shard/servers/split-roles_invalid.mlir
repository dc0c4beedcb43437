// RUN: epl-opt %s -split-input-file -verify-diagnostics -epl-split-roles
// RUN: not epl-opt %s -split-input-file -epl-split-roles=servers=0 2>&1 | FileCheck %s --check-prefix=SERVERS
// RUN: not epl-opt %s -split-input-file -epl-split-roles=min-block-size=0 2>&1 | FileCheck %s --check-prefix=SIZE
// SERVERS: error: 0 servers, expected at least 1
// SIZE: error: blocks of at least 0 elements, expected at least 1

#backward = #epl.work<@tg0, backward>
#apply = #epl.work<@tg0, apply>

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// A moment of one parameter scales the update of another.
func.func @mixes(%w0: tensor<4xf32> {epl.name = "w0", epl.role = "state"}, %m0: tensor<4xf32> {epl.name = "m0", epl.role = "state"},
                 %w1: tensor<8xf32> {epl.name = "w1", epl.role = "state"},
                 %x: tensor<4xf32> {epl.name = "x", epl.role = "batch", epl.batch_dim = 0 : i64},
                 %z: tensor<8xf32> {epl.name = "z", epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<4xf32> {epl.updates = 0 : i64}, tensor<4xf32> {epl.updates = 1 : i64}, tensor<8xf32> {epl.updates = 2 : i64}) {
  %zero = arith.constant {epl.work = #backward} dense<0.0> : tensor<f32>
  %g0 = arith.mulf %x, %w0 {epl.work = #backward} : tensor<4xf32>
  %g1 = arith.mulf %z, %w1 {epl.work = #backward} : tensor<8xf32>
  // expected-error@+1 {{the update of "w1" reads what this makes of "m0", a state of another update: servers update each parameter by itself, expected to mix none but gradients (a norm of all), which workers do}}
  %n0 = arith.addf %m0, %g0 {epl.work = #apply} : tensor<4xf32>
  %v0 = arith.subf %w0, %n0 {epl.work = #apply} : tensor<4xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
      ins(%n0 : tensor<4xf32>) outs(%zero : tensor<f32>) attrs = {epl.work = #apply} {
  ^bb0(%in: f32, %out: f32):
    %add = arith.addf %out, %in : f32
    linalg.yield %add : f32
  } -> tensor<f32>
  %v1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%g1, %sum : tensor<8xf32>, tensor<f32>) outs(%w1 : tensor<8xf32>) attrs = {epl.work = #apply} {
  ^bb0(%in: f32, %number: f32, %out: f32):
    %mul = arith.mulf %in, %number : f32
    %sub = arith.subf %out, %mul : f32
    linalg.yield %sub : f32
  } -> tensor<8xf32>
  return %v0, %n0, %v1 : tensor<4xf32>, tensor<4xf32>, tensor<8xf32>
}

// -----

#forward = #epl.work<@tg0, forward>

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// expected-error@+1 {{updates no state by work that applies gradients (epl.work), expected one for servers to hold}}
func.func @mean(%m: tensor<4xf32> {epl.name = "m", epl.role = "state"}, %x: tensor<4xf32> {epl.name = "x", epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<4xf32> {epl.updates = 0 : i64}) {
  %n = arith.addf %m, %x {epl.work = #forward} : tensor<4xf32>
  return %n : tensor<4xf32>
}

// -----

// expected-error@+1 {{has 0 steps, expected one to split}}
module {
}
