// RUN: epl-opt %s -split-input-file -epl-seed-batch -epl-seed-split=explain -verify-diagnostics=only-expected | FileCheck %s

#send = {indexing_maps = [affine_map<(e, t, d) -> (t, d)>, affine_map<(e, t, d) -> (e, t, d)>], iterator_types = ["parallel", "parallel", "parallel"]}
#compute = {indexing_maps = [affine_map<(e, t, h, d) -> (e, t, d)>, affine_map<(e, t, h, d) -> (e, d, h)>, affine_map<(e, t, h, d) -> (e, t, h)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
#sum = {indexing_maps = [affine_map<(e, d, h, t) -> (e, t, d)>, affine_map<(e, d, h, t) -> (e, t, h)>, affine_map<(e, d, h, t) -> (e, d, h)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
#forward = #epl.work<@tg0, forward>
#backward = #epl.work<@tg0, backward>
#apply = #epl.work<@tg0, apply>

epl.mesh @mesh axes ["data"=2, "model"=2]
epl.taskgraph @tg0 strategy(<split, 2>) on @mesh

// Few tokens: to move them costs less than to sum the gradient. What the optimizer keeps follows.
// CHECK-LABEL: func.func @few_tokens
// CHECK-SAME: "params['up']"{{[^%]*}}epl.sharding = #epl.sharding<@mesh, [{"data", "model"}, {}, {}]>
// CHECK-SAME: "mu['up']"{{[^%]*}}epl.sharding = #epl.sharding<@mesh, [{"data", "model"}, {}, {}]>
// expected-remark@+1 {{argument "params['up']": split along dimension 0 over "data" as well, }}
func.func @few_tokens(%up: tensor<4x8x16xf32> {epl.role = "state", epl.name = "params['up']"},
    %mu: tensor<4x8x16xf32> {epl.role = "state", epl.name = "mu['up']"},
    %x: tensor<4x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "x"})
    -> (tensor<4x8x16xf32> {epl.updates = 0 : i64}, tensor<4x8x16xf32> {epl.updates = 1 : i64}) {
  %empty = tensor.empty() {epl.work = #forward} : tensor<4x4x8xf32>
  %slots = linalg.generic #send ins(%x : tensor<4x8xf32>) outs(%empty : tensor<4x4x8xf32>) attrs = {epl.work = #forward} {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<4x4x8xf32>
  %z0 = arith.constant {epl.work = #forward} dense<0.0> : tensor<4x4x16xf32>
  %made = linalg.generic #compute ins(%slots, %up : tensor<4x4x8xf32>, tensor<4x8x16xf32>) outs(%z0 : tensor<4x4x16xf32>) attrs = {epl.work = #forward} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x4x16xf32>
  %t = math.tanh %made {epl.work = #backward} : tensor<4x4x16xf32>
  %z1 = arith.constant {epl.work = #backward} dense<0.0> : tensor<4x8x16xf32>
  %gradient = linalg.generic #sum ins(%slots, %t : tensor<4x4x8xf32>, tensor<4x4x16xf32>) outs(%z1 : tensor<4x8x16xf32>) attrs = {epl.work = #backward} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8x16xf32>
  %1 = arith.addf %mu, %gradient {epl.work = #apply} : tensor<4x8x16xf32>
  %2 = arith.subf %up, %1 {epl.work = #apply} : tensor<4x8x16xf32>
  return %2, %1 : tensor<4x8x16xf32>, tensor<4x8x16xf32>
}

// -----

#send = {indexing_maps = [affine_map<(e, t, d) -> (t, d)>, affine_map<(e, t, d) -> (e, t, d)>], iterator_types = ["parallel", "parallel", "parallel"]}
#compute = {indexing_maps = [affine_map<(e, t, h, d) -> (e, t, d)>, affine_map<(e, t, h, d) -> (e, d, h)>, affine_map<(e, t, h, d) -> (e, t, h)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
#sum = {indexing_maps = [affine_map<(e, d, h, t) -> (e, t, d)>, affine_map<(e, d, h, t) -> (e, t, h)>, affine_map<(e, d, h, t) -> (e, d, h)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
#forward = #epl.work<@tg0, forward>
#backward = #epl.work<@tg0, backward>
#apply = #epl.work<@tg0, apply>

epl.mesh @mesh axes ["data"=2, "model"=2]
epl.taskgraph @tg0 strategy(<split, 2>) on @mesh

// Many tokens: the gradient of the experts is smaller.
// CHECK-LABEL: func.func @many_tokens
// CHECK-SAME: "params['up']"{{[^%]*}}epl.sharding = #epl.sharding<@mesh, [{"model"}, {}, {}]>
// CHECK-SAME: "mu['up']"{{[^%]*}}epl.sharding = #epl.sharding<@mesh, [{"model"}, {}, {}]>
// expected-remark@+1 {{argument "params['up']": not split along dimension 0 over "data" as well, }}
func.func @many_tokens(%up: tensor<4x8x16xf32> {epl.role = "state", epl.name = "params['up']"},
    %mu: tensor<4x8x16xf32> {epl.role = "state", epl.name = "mu['up']"},
    %x: tensor<256x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "x"})
    -> (tensor<4x8x16xf32> {epl.updates = 0 : i64}, tensor<4x8x16xf32> {epl.updates = 1 : i64}) {
  %empty = tensor.empty() {epl.work = #forward} : tensor<4x256x8xf32>
  %slots = linalg.generic #send ins(%x : tensor<256x8xf32>) outs(%empty : tensor<4x256x8xf32>) attrs = {epl.work = #forward} {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<4x256x8xf32>
  %z0 = arith.constant {epl.work = #forward} dense<0.0> : tensor<4x256x16xf32>
  %made = linalg.generic #compute ins(%slots, %up : tensor<4x256x8xf32>, tensor<4x8x16xf32>) outs(%z0 : tensor<4x256x16xf32>) attrs = {epl.work = #forward} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x256x16xf32>
  %t = math.tanh %made {epl.work = #backward} : tensor<4x256x16xf32>
  %z1 = arith.constant {epl.work = #backward} dense<0.0> : tensor<4x8x16xf32>
  %gradient = linalg.generic #sum ins(%slots, %t : tensor<4x256x8xf32>, tensor<4x256x16xf32>) outs(%z1 : tensor<4x8x16xf32>) attrs = {epl.work = #backward} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8x16xf32>
  %1 = arith.addf %mu, %gradient {epl.work = #apply} : tensor<4x8x16xf32>
  %2 = arith.subf %up, %1 {epl.work = #apply} : tensor<4x8x16xf32>
  return %2, %1 : tensor<4x8x16xf32>, tensor<4x8x16xf32>
}

// -----

#send = {indexing_maps = [affine_map<(e, t, d) -> (t, d)>, affine_map<(e, t, d) -> (e, t, d)>], iterator_types = ["parallel", "parallel", "parallel"]}
#compute = {indexing_maps = [affine_map<(e, t, h, d) -> (e, t, d)>, affine_map<(e, t, h, d) -> (e, d, h)>, affine_map<(e, t, h, d) -> (e, t, h)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
#sum = {indexing_maps = [affine_map<(e, d, h, t) -> (e, t, d)>, affine_map<(e, d, h, t) -> (e, t, h)>, affine_map<(e, d, h, t) -> (e, d, h)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
#forward = #epl.work<@tg0, forward>
#backward = #epl.work<@tg0, backward>
#apply = #epl.work<@tg0, apply>

epl.mesh @mesh axes ["data"=2, "model"=2]
epl.taskgraph @tg0 strategy(<split, 2>) on @mesh

// Two experts are not enough for four devices.
// CHECK-LABEL: func.func @too_few_experts
// CHECK-SAME: "params['up']"{{[^%]*}}epl.sharding = #epl.sharding<@mesh, [{"model"}, {}, {}]>
// CHECK-SAME: "mu['up']"{{[^%]*}}epl.sharding = #epl.sharding<@mesh, [{"model"}, {}, {}]>
func.func @too_few_experts(%up: tensor<2x8x16xf32> {epl.role = "state", epl.name = "params['up']"},
    %mu: tensor<2x8x16xf32> {epl.role = "state", epl.name = "mu['up']"},
    %x: tensor<4x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "x"})
    -> (tensor<2x8x16xf32> {epl.updates = 0 : i64}, tensor<2x8x16xf32> {epl.updates = 1 : i64}) {
  %empty = tensor.empty() {epl.work = #forward} : tensor<2x4x8xf32>
  %slots = linalg.generic #send ins(%x : tensor<4x8xf32>) outs(%empty : tensor<2x4x8xf32>) attrs = {epl.work = #forward} {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<2x4x8xf32>
  %z0 = arith.constant {epl.work = #forward} dense<0.0> : tensor<2x4x16xf32>
  %made = linalg.generic #compute ins(%slots, %up : tensor<2x4x8xf32>, tensor<2x8x16xf32>) outs(%z0 : tensor<2x4x16xf32>) attrs = {epl.work = #forward} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<2x4x16xf32>
  %t = math.tanh %made {epl.work = #backward} : tensor<2x4x16xf32>
  %z1 = arith.constant {epl.work = #backward} dense<0.0> : tensor<2x8x16xf32>
  %gradient = linalg.generic #sum ins(%slots, %t : tensor<2x4x8xf32>, tensor<2x4x16xf32>) outs(%z1 : tensor<2x8x16xf32>) attrs = {epl.work = #backward} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<2x8x16xf32>
  %1 = arith.addf %mu, %gradient {epl.work = #apply} : tensor<2x8x16xf32>
  %2 = arith.subf %up, %1 {epl.work = #apply} : tensor<2x8x16xf32>
  return %2, %1 : tensor<2x8x16xf32>, tensor<2x8x16xf32>
}

// -----

#send = {indexing_maps = [affine_map<(e, t, d) -> (t, d)>, affine_map<(e, t, d) -> (e, t, d)>], iterator_types = ["parallel", "parallel", "parallel"]}
#compute = {indexing_maps = [affine_map<(e, t, h, d) -> (e, t, d)>, affine_map<(e, t, h, d) -> (e, d, h)>, affine_map<(e, t, h, d) -> (e, t, h)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
#sum = {indexing_maps = [affine_map<(e, d, h, t) -> (e, t, d)>, affine_map<(e, d, h, t) -> (e, t, h)>, affine_map<(e, d, h, t) -> (e, d, h)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
#forward = #epl.work<@tg0, forward>
#backward = #epl.work<@tg0, backward>
#apply = #epl.work<@tg0, apply>

epl.mesh @mesh axes ["data"=2, "model"=2]
epl.taskgraph @tg0 strategy(<split, 2>) on @mesh dims([#epl.dim_constraint<"params['up']" = 2>])

// Where the user splits each expert, every replica keeps its own.
// CHECK-LABEL: func.func @split_inside
// CHECK-SAME: "params['up']"{{[^%]*}}epl.sharding = #epl.sharding<@mesh, [{}, {}, {"model"}]>
// CHECK-SAME: "mu['up']"{{[^%]*}}epl.sharding = #epl.sharding<@mesh, [{}, {}, {"model"}]>
func.func @split_inside(%up: tensor<4x8x16xf32> {epl.role = "state", epl.name = "params['up']"},
    %mu: tensor<4x8x16xf32> {epl.role = "state", epl.name = "mu['up']"},
    %x: tensor<4x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "x"})
    -> (tensor<4x8x16xf32> {epl.updates = 0 : i64}, tensor<4x8x16xf32> {epl.updates = 1 : i64}) {
  %empty = tensor.empty() {epl.work = #forward} : tensor<4x4x8xf32>
  %slots = linalg.generic #send ins(%x : tensor<4x8xf32>) outs(%empty : tensor<4x4x8xf32>) attrs = {epl.work = #forward} {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<4x4x8xf32>
  %z0 = arith.constant {epl.work = #forward} dense<0.0> : tensor<4x4x16xf32>
  %made = linalg.generic #compute ins(%slots, %up : tensor<4x4x8xf32>, tensor<4x8x16xf32>) outs(%z0 : tensor<4x4x16xf32>) attrs = {epl.work = #forward} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x4x16xf32>
  %t = math.tanh %made {epl.work = #backward} : tensor<4x4x16xf32>
  %z1 = arith.constant {epl.work = #backward} dense<0.0> : tensor<4x8x16xf32>
  %gradient = linalg.generic #sum ins(%slots, %t : tensor<4x4x8xf32>, tensor<4x4x16xf32>) outs(%z1 : tensor<4x8x16xf32>) attrs = {epl.work = #backward} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8x16xf32>
  %1 = arith.addf %mu, %gradient {epl.work = #apply} : tensor<4x8x16xf32>
  %2 = arith.subf %up, %1 {epl.work = #apply} : tensor<4x8x16xf32>
  return %2, %1 : tensor<4x8x16xf32>, tensor<4x8x16xf32>
}

// -----

#send = {indexing_maps = [affine_map<(e, t, d) -> (t, d)>, affine_map<(e, t, d) -> (e, t, d)>], iterator_types = ["parallel", "parallel", "parallel"]}
#compute = {indexing_maps = [affine_map<(e, t, h, d) -> (e, t, d)>, affine_map<(e, t, h, d) -> (e, d, h)>, affine_map<(e, t, h, d) -> (e, t, h)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
#sum = {indexing_maps = [affine_map<(e, d, h, t) -> (e, t, d)>, affine_map<(e, d, h, t) -> (e, t, h)>, affine_map<(e, d, h, t) -> (e, d, h)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
#forward = #epl.work<@tg0, forward>
#backward = #epl.work<@tg0, backward>
#apply = #epl.work<@tg0, apply>

epl.mesh @mesh axes ["data"=4]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// What no task graph splits, every replica keeps.
// CHECK-LABEL: func.func @replicated
// CHECK-SAME: "params['up']"{{[^%]*}}epl.sharding = #epl.sharding<@mesh, [{}, {}, {}]>
// CHECK-SAME: "mu['up']"{{[^%]*}}epl.sharding = #epl.sharding<@mesh, [{}, {}, {}]>
func.func @replicated(%up: tensor<4x8x16xf32> {epl.role = "state", epl.name = "params['up']"},
    %mu: tensor<4x8x16xf32> {epl.role = "state", epl.name = "mu['up']"},
    %x: tensor<4x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "x"})
    -> (tensor<4x8x16xf32> {epl.updates = 0 : i64}, tensor<4x8x16xf32> {epl.updates = 1 : i64}) {
  %empty = tensor.empty() {epl.work = #forward} : tensor<4x4x8xf32>
  %slots = linalg.generic #send ins(%x : tensor<4x8xf32>) outs(%empty : tensor<4x4x8xf32>) attrs = {epl.work = #forward} {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<4x4x8xf32>
  %z0 = arith.constant {epl.work = #forward} dense<0.0> : tensor<4x4x16xf32>
  %made = linalg.generic #compute ins(%slots, %up : tensor<4x4x8xf32>, tensor<4x8x16xf32>) outs(%z0 : tensor<4x4x16xf32>) attrs = {epl.work = #forward} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x4x16xf32>
  %t = math.tanh %made {epl.work = #backward} : tensor<4x4x16xf32>
  %z1 = arith.constant {epl.work = #backward} dense<0.0> : tensor<4x8x16xf32>
  %gradient = linalg.generic #sum ins(%slots, %t : tensor<4x4x8xf32>, tensor<4x4x16xf32>) outs(%z1 : tensor<4x8x16xf32>) attrs = {epl.work = #backward} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8x16xf32>
  %1 = arith.addf %mu, %gradient {epl.work = #apply} : tensor<4x8x16xf32>
  %2 = arith.subf %up, %1 {epl.work = #apply} : tensor<4x8x16xf32>
  return %2, %1 : tensor<4x8x16xf32>, tensor<4x8x16xf32>
}
