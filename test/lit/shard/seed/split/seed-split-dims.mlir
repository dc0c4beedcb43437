// RUN: epl-opt %s -split-input-file -epl-seed-batch -epl-seed-split=explain -verify-diagnostics=only-expected | FileCheck %s

#rows = affine_map<(m, n, k) -> (m, k)>
#weights = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
#loops = {indexing_maps = [#rows, #weights, #out], iterator_types = ["parallel", "parallel", "reduction"]}
#forward = #epl.work<@tg0, forward>
#apply = #epl.work<@tg0, apply>

epl.mesh @mesh axes ["data"=2, "model"=2]
epl.taskgraph @tg0 strategy(<split, 2>) on @mesh dims([#epl.dim_constraint<"w0" = -2>, #epl.dim_constraint<"layers[1]/w*" whole>])

// One parameter along the dimension that the search would not take, one not at all; the third is searched. What the
// optimizer keeps of the first has the pattern in its name, too, but is no parameter.
// CHECK-LABEL: func.func @constraints
// CHECK-SAME: "params['layers'][0]['w0']"{{[^%]*}}epl.sharding = #epl.sharding<@mesh, [{"model"}, {}]>
// CHECK-SAME: "params['layers'][1]['w1']"{{[^%]*}}epl.sharding = #epl.sharding<@mesh, [{}, {}]>
// CHECK-SAME: "params['layers'][2]['w2']"{{[^%]*}}epl.sharding = #epl.sharding<@mesh, [{"model"}, {}]>
// CHECK-SAME: "opt[0].mu['w0']"{{[^%]*}}epl.sharding = #epl.sharding<@mesh, [{}, {}]>
// expected-remark@+1 {{axis "model" of size 2: how it splits parameters, and the bytes that its devices exchange}}
func.func @constraints(%w0: tensor<6x8xf32> {epl.role = "state", epl.name = "params['layers'][0]['w0']"},
                  %w1: tensor<8x8xf32> {epl.role = "state", epl.name = "params['layers'][1]['w1']"},
                  %w2: tensor<8x4xf32> {epl.role = "state", epl.name = "params['layers'][2]['w2']"},
                  %mu: tensor<6x8xf32> {epl.role = "state", epl.name = "opt[0].mu['w0']"},
                  %x: tensor<8x6xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "x"})
    -> (tensor<8x4xf32>, tensor<6x8xf32>) {
  %z0 = arith.constant {epl.work = #forward} dense<0.0> : tensor<8x8xf32>
  %z1 = arith.constant {epl.work = #forward} dense<0.0> : tensor<8x4xf32>
  %0 = linalg.generic #loops ins(%x, %w0 : tensor<8x6xf32>, tensor<6x8xf32>) outs(%z0 : tensor<8x8xf32>) attrs = {epl.work = #forward} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32>
  %1 = linalg.generic #loops ins(%0, %w1 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%z0 : tensor<8x8xf32>) attrs = {epl.work = #forward} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32>
  %2 = linalg.generic #loops ins(%1, %w2 : tensor<8x8xf32>, tensor<8x4xf32>) outs(%z1 : tensor<8x4xf32>) attrs = {epl.work = #forward} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x4xf32>
  %3 = math.tanh %mu {epl.work = #apply} : tensor<6x8xf32>
  return %2, %3 : tensor<8x4xf32>, tensor<6x8xf32>
}

// -----

#forward = #epl.work<@tg0, forward>

!w = tensor<4x4xf32>

epl.mesh @mesh axes ["data"=1, "model"=2]
epl.taskgraph @tg0 strategy(<split, 2>) on @mesh
    dims([#epl.dim_constraint<"params['a.b']['w']" = 0>, #epl.dim_constraint<"bl?ck/[a-c]" = 1>, #epl.dim_constraint<"b*d" = 1>])

// Patterns: as names are printed, with globs, over several steps. What is split need not be read by a contraction.
// CHECK-LABEL: func.func @patterns
// CHECK-SAME: "params['a.b']['w']"{{[^%]*}}epl.sharding = #epl.sharding<@mesh, [{"model"}, {}]>
// CHECK-SAME: "params['block'].c.value"{{[^%]*}}epl.sharding = #epl.sharding<@mesh, [{}, {"model"}]>
// CHECK-SAME: "params['block']['cd']"{{[^%]*}}epl.sharding = #epl.sharding<@mesh, [{}, {"model"}]>
// CHECK-SAME: "params['block']['e']"{{[^%]*}}epl.sharding = #epl.sharding<@mesh, [{}, {}]>
// expected-remark@+1 {{axis "model" of size 2: how it splits parameters, and the bytes that its devices exchange}}
func.func @patterns(%a: !w {epl.role = "state", epl.name = "params['a.b']['w']"},
                    %b: !w {epl.role = "state", epl.name = "params['block'].c.value"},
                    %c: !w {epl.role = "state", epl.name = "params['block']['cd']"},
                    %d: !w {epl.role = "state", epl.name = "params['block']['e']"}) -> (!w, !w, !w, !w) {
  %0 = math.sin %a {epl.work = #forward} : !w
  %1 = math.sin %b {epl.work = #forward} : !w
  %2 = math.sin %c {epl.work = #forward} : !w
  %3 = math.sin %d {epl.work = #forward} : !w
  return %0, %1, %2, %3 : !w, !w, !w, !w
}

// -----

#forward = #epl.work<@tg0, forward>

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<split, 1>) on @mesh dims([#epl.dim_constraint<"w" = 1>])

// Over one device nothing is split, and nothing need be divisible.
// CHECK-LABEL: func.func @one_device
// CHECK-SAME: "w"{{[^%]*}}epl.sharding = #epl.sharding<@mesh, [{}, {}]>
func.func @one_device(%w: tensor<4x3xf32> {epl.role = "state", epl.name = "w"}) -> tensor<4x3xf32> {
  %0 = math.sin %w {epl.work = #forward} : tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

epl.mesh @mesh axes ["data"=1, "model"=2, "model2"=3]
epl.taskgraph @tg0 strategy(<split, 2>) on @mesh dims([#epl.dim_constraint<"w" = 0>, #epl.dim_constraint<"v" whole>])
epl.taskgraph @tg1 strategy(<split, 3>) on @mesh dims([#epl.dim_constraint<"w" = 1>])

// A task graph's constraints are for the axes that it is split over, and contradicts nobody on others.
// CHECK-LABEL: func.func @several
// CHECK-SAME: "w"{{[^%]*}}epl.sharding = #epl.sharding<@mesh, [{"model"}, {"model2"}]>
// expected-remark@+2 {{axis "model" of size 2: how it splits parameters, and the bytes that its devices exchange}}
// expected-remark@+1 {{axis "model2" of size 3: how it splits parameters, and the bytes that its devices exchange}}
func.func @several(%w: tensor<6x6xf32> {epl.role = "state", epl.name = "w"},
                   %v: tensor<6xf32> {epl.role = "state", epl.name = "v"}) -> (tensor<6x6xf32>, tensor<6x6xf32>, tensor<6xf32>) {
  %0 = math.sin %w {epl.work = #epl.work<@tg0, forward>} : tensor<6x6xf32>
  %1 = math.cos %w {epl.work = #epl.work<@tg1, forward>} : tensor<6x6xf32>
  %2 = math.sin %v {epl.work = #epl.work<@tg0, forward>} : tensor<6xf32>
  return %0, %1, %2 : tensor<6x6xf32>, tensor<6x6xf32>, tensor<6xf32>
}

// -----

epl.mesh @mesh axes ["data"=1, "model"=2]
epl.taskgraph @tg0 strategy(<split, 2>) on @mesh dims([#epl.dim_constraint<"qkv" = -1>, #epl.dim_constraint<"out" = 0>])

// Dimensions are those that the caller sees: where they are taken apart, each segment is split.
// CHECK-LABEL: func.func @segments
// CHECK-SAME: "qkv"{{[^%]*}}epl.sharding = #epl.sharding<@mesh, [{}, {}, {"model"}]>
// CHECK-SAME: "out"{{[^%]*}}epl.sharding = #epl.sharding<@mesh, [{}, {"model"}, {}]>
// expected-remark@+1 {{axis "model" of size 2: how it splits parameters, and the bytes that its devices exchange}}
func.func @segments(%w: tensor<6x3x8xf32> {epl.role = "state", epl.name = "qkv", epl.caller_shape = array<i64: 6, 24>},
                    %v: tensor<2x4x6xf32> {epl.role = "state", epl.name = "out", epl.caller_shape = array<i64: 8, 6>})
    -> (tensor<6x3x8xf32>, tensor<2x4x6xf32>) {
  %0 = math.sin %w {epl.work = #epl.work<@tg0, forward>} : tensor<6x3x8xf32>
  %1 = math.sin %v {epl.work = #epl.work<@tg0, forward>} : tensor<2x4x6xf32>
  return %0, %1 : tensor<6x3x8xf32>, tensor<2x4x6xf32>
}
