// RUN: epl-opt %s -split-input-file -epl-split-roles -epl-verify-global | FileCheck %s --check-prefix=WORKER
// RUN: epl-opt %s -split-input-file -epl-split-roles=role=server 2>/dev/null | FileCheck %s --check-prefix=SERVER
// RUN: epl-opt %s -split-input-file -epl-split-roles=role=server 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

#forward = #epl.work<@tg0, forward>
#backward = #epl.work<@tg0, backward>
#apply = #epl.work<@tg0, apply>

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// Momentum with a rate that a count of steps makes, for two parameters of equal shapes, which share a program.
// The count is one of each parameter; a decayed moment is forward work for no tracer says of it what it is for. A
// mean that forward work updates stays a worker's.
// WORKER-LABEL: func.func @momentum
// WORKER-SAME: (%[[W0:[^:]*]]: tensor<8xf32> {epl.name = "w0", epl.pull = 0 : i64, epl.role = "constant"}
// WORKER-SAME: %[[W1:[^:]*]]: tensor<8xf32> {epl.name = "w1", epl.pull = 2 : i64, epl.role = "constant"}
// WORKER-SAME: %[[MEAN:[^:]*]]: tensor<8xf32> {epl.name = "mean", epl.role = "state"}
// WORKER-SAME: %[[X:[^:]*]]: tensor<8xf32> {epl.batch_dim = 0 : i64, epl.name = "x", epl.role = "batch"}
// WORKER-SAME: -> (tensor<8xf32> {epl.updates = 2 : i64}, tensor<8xf32> {epl.name = "y"}, tensor<8xf32> {epl.name = "pushed for w0", epl.push = array<i64: 0>}, tensor<8xf32> {epl.name = "pushed for w1", epl.push = array<i64: 1>})
// WORKER-DAG: %[[Y:.*]] = arith.mulf %[[W0]], %[[W1]]
// WORKER-DAG: %[[NEW:.*]] = arith.addf %[[MEAN]], %[[X]]
// WORKER-DAG: %[[G0:.*]] = arith.mulf %[[X]], %[[W1]]
// WORKER-DAG: %[[G1:.*]] = arith.mulf %[[X]], %[[W0]]
// WORKER: return %[[NEW]], %[[Y]], %[[G0]], %[[G1]]

// SERVER: module attributes {epl.servers = {groups = [
// SERVER-SAME: {argument = 0 : i64, kind = "parameter", name = "w0", shape = array<i64: 8>, sliced = false, type = "f32"}
// SERVER-SAME: {argument = 1 : i64, kind = "state", name = "m0"
// SERVER-SAME: {argument = 4 : i64, kind = "own", name = "count", shape = array<i64>, sliced = false, type = "f32"}
// SERVER-SAME: {kind = "push", push = 0 : i64, shape = array<i64: 8>, sliced = false, type = "f32"}
// SERVER-SAME: blocks = [{begin = 0 : i64, name = "w0", offset = 0 : i64, program = "apply0", rows = 8 : i64, size = 8 : i64}], name = "w0", parameter = 0 : i64}
// SERVER-SAME: blocks = [{begin = 0 : i64, name = "w1", offset = 0 : i64, program = "apply0"
// SERVER-SAME: programs = ["apply0"]
// SERVER-SAME: worker = {arguments = [{argument = 0 : i64, kind = "pull"}, {argument = 2 : i64, kind = "pull"}, {argument = 5 : i64, kind = "state"}, {argument = 6 : i64, kind = "batch"}]
// SERVER-SAME: results = [{kind = "state", result = 5 : i64}, {kind = "result", result = 6 : i64}, {groups = array<i64: 0>, kind = "push"
// SERVER-NOT: epl.mesh
// SERVER-NOT: epl.work
// SERVER: func.func @apply0(%[[W:[^:]*]]: tensor<8xf32> {epl.name = "w0", epl.role = "state"}
// SERVER-SAME: %[[M:[^:]*]]: tensor<8xf32> {epl.name = "m0", epl.role = "state"}
// SERVER-SAME: %[[COUNT:[^:]*]]: tensor<f32> {epl.name = "count", epl.role = "state"}
// SERVER-SAME: %[[G:[^:]*]]: tensor<8xf32> {epl.name = "pushed for w0", epl.role = "constant"})
// SERVER-SAME: -> (tensor<8xf32> {epl.name = "w0", epl.updates = 0 : i64}, tensor<8xf32> {epl.name = "m0", epl.updates = 1 : i64}, tensor<f32> {epl.name = "count", epl.updates = 2 : i64})
// SERVER-DAG: %[[NEXT:.*]] = arith.addf %[[COUNT]], %{{.*}} : tensor<f32>
// SERVER-DAG: %[[DECAYED:.*]] = arith.addf %[[M]], %[[M]]
// SERVER-DAG: %[[MOMENT:.*]] = arith.addf %[[DECAYED]], %[[G]]
// SERVER: return %{{.*}}, %[[MOMENT]], %[[NEXT]]
// SERVER-NOT: func.func
func.func @momentum(%w0: tensor<8xf32> {epl.name = "w0", epl.role = "state"}, %m0: tensor<8xf32> {epl.name = "m0", epl.role = "state"},
                    %w1: tensor<8xf32> {epl.name = "w1", epl.role = "state"}, %m1: tensor<8xf32> {epl.name = "m1", epl.role = "state"},
                    %count: tensor<f32> {epl.name = "count", epl.role = "state"}, %mean: tensor<8xf32> {epl.name = "mean", epl.role = "state"},
                    %x: tensor<8xf32> {epl.name = "x", epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<8xf32> {epl.updates = 0 : i64}, tensor<8xf32> {epl.updates = 1 : i64}, tensor<8xf32> {epl.updates = 2 : i64},
        tensor<8xf32> {epl.updates = 3 : i64}, tensor<f32> {epl.updates = 4 : i64}, tensor<8xf32> {epl.updates = 5 : i64},
        tensor<8xf32> {epl.name = "y"}) {
  %one = arith.constant {epl.work = #forward} dense<1.0> : tensor<f32>
  %y = arith.mulf %w0, %w1 {epl.work = #forward} : tensor<8xf32>
  %new = arith.addf %mean, %x {epl.work = #forward} : tensor<8xf32>
  %g0 = arith.mulf %x, %w1 {epl.work = #backward} : tensor<8xf32>
  %g1 = arith.mulf %x, %w0 {epl.work = #backward} : tensor<8xf32>
  %next = arith.addf %count, %one {epl.work = #forward} : tensor<f32>
  %empty = tensor.empty() {epl.work = #forward} : tensor<8xf32>
  %rate = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%next : tensor<f32>) outs(%empty : tensor<8xf32>) attrs = {epl.work = #forward} {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8xf32>
  %d0 = arith.addf %m0, %m0 {epl.work = #forward} : tensor<8xf32>
  %n0 = arith.addf %d0, %g0 {epl.work = #apply} : tensor<8xf32>
  %u0 = arith.mulf %n0, %rate {epl.work = #apply} : tensor<8xf32>
  %v0 = arith.subf %w0, %u0 {epl.work = #apply} : tensor<8xf32>
  %d1 = arith.addf %m1, %m1 {epl.work = #forward} : tensor<8xf32>
  %n1 = arith.addf %d1, %g1 {epl.work = #apply} : tensor<8xf32>
  %u1 = arith.mulf %n1, %rate {epl.work = #apply} : tensor<8xf32>
  %v1 = arith.subf %w1, %u1 {epl.work = #apply} : tensor<8xf32>
  return %v0, %n0, %v1, %n1, %next, %new, %y : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<8xf32>, tensor<8xf32>
}

// -----

#backward = #epl.work<@tg0, backward>
#apply = #epl.work<@tg0, apply>

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// The sum of all gradients leads to both parameters, so workers make it. Of %w0 it scales the gradient, which
// then is pushed by itself; %w1 reads its gradient and the number apart, beside the parameter.
// WORKER-LABEL: func.func @mixed
// WORKER-SAME: epl.push = array<i64: 0>
// WORKER-SAME: epl.push = array<i64: 1>
// WORKER-SAME: tensor<f32> {epl.name = "pushed for w1", epl.push = array<i64: 1>})
// WORKER: %[[G0:.*]] = arith.mulf %arg2, %arg0
// WORKER: %[[G1:.*]] = arith.mulf %arg3, %arg1
// WORKER: %[[SUM:.*]] = linalg.generic
// WORKER: %[[BOTH:.*]] = linalg.generic {{.*}} outs(%[[SUM]]
// WORKER: %[[SCALED:.*]] = linalg.generic {{.*}} ins(%[[G0]], %[[BOTH]]
// WORKER: return %[[SCALED]], %[[G1]], %[[BOTH]]
// REMARK: remark: this is made of gradients of several parameters, so each worker does it, of its own gradients
// SERVER: func.func @apply0(%{{[^:]*}}: tensor<4xf32> {{.*}}, %{{[^:]*}}: tensor<4xf32> {epl.name = "pushed for w0"
// SERVER-NEXT: arith.subf
// SERVER: func.func @apply1(%{{[^:]*}}: tensor<8xf32> {{.*}}, %{{[^:]*}}: tensor<8xf32> {epl.name = "pushed for w1 (0)"{{.*}}, %{{[^:]*}}: tensor<f32> {epl.name = "pushed for w1 (1)"
func.func @mixed(%w0: tensor<4xf32> {epl.name = "w0", epl.role = "state"}, %w1: tensor<8xf32> {epl.name = "w1", epl.role = "state"},
                 %x: tensor<4xf32> {epl.name = "x", epl.role = "batch", epl.batch_dim = 0 : i64},
                 %z: tensor<8xf32> {epl.name = "z", epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<4xf32> {epl.updates = 0 : i64}, tensor<8xf32> {epl.updates = 1 : i64}) {
  %zero = arith.constant {epl.work = #backward} dense<0.0> : tensor<f32>
  %g0 = arith.mulf %x, %w0 {epl.work = #backward} : tensor<4xf32>
  %g1 = arith.mulf %z, %w1 {epl.work = #backward} : tensor<8xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
      ins(%g0 : tensor<4xf32>) outs(%zero : tensor<f32>) attrs = {epl.work = #apply} {
  ^bb0(%in: f32, %out: f32):
    %add = arith.addf %out, %in : f32
    linalg.yield %add : f32
  } -> tensor<f32>
  %both = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
      ins(%g1 : tensor<8xf32>) outs(%sum : tensor<f32>) attrs = {epl.work = #apply} {
  ^bb0(%in: f32, %out: f32):
    %add = arith.addf %out, %in : f32
    linalg.yield %add : f32
  } -> tensor<f32>
  %scaled = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%g0, %both : tensor<4xf32>, tensor<f32>) outs(%g0 : tensor<4xf32>) attrs = {epl.work = #apply} {
  ^bb0(%in: f32, %number: f32, %out: f32):
    %mul = arith.mulf %in, %number : f32
    linalg.yield %mul : f32
  } -> tensor<4xf32>
  %v0 = arith.subf %w0, %scaled {epl.work = #apply} : tensor<4xf32>
  %decayed = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%w1, %both : tensor<8xf32>, tensor<f32>) outs(%w1 : tensor<8xf32>) attrs = {epl.work = #apply} {
  ^bb0(%in: f32, %number: f32, %out: f32):
    %mul = arith.mulf %in, %number : f32
    linalg.yield %mul : f32
  } -> tensor<8xf32>
  %v1 = arith.subf %decayed, %g1 {epl.work = #apply} : tensor<8xf32>
  return %v0, %v1 : tensor<4xf32>, tensor<8xf32>
}
