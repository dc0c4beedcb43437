// RUN: epl-opt %s --split-input-file --verify-diagnostics

// (S1)
// expected-error@+1 {{device count is 0, expected at least 1}}
module attributes {test = #epl.strategy<split, 0>} {}

// -----

// (S1)
// expected-error@+1 {{device count is -2, expected at least 1}}
module attributes {test = #epl.scope<replicate, -2, "a">} {}

// -----

// (S2)
// expected-error@+1 {{scope of kind "replicate" has "dims", expected "split"}}
module attributes {test = #epl.scope<replicate, 2, "a", dims = [<"wq" = 1>]>} {}

// -----

// (W1)
// expected-error@+1 {{pattern of a constraint is empty}}
module attributes {test = #epl.dim_constraint<"" = 1>} {}

// -----

// (A1)
// expected-error@+1 {{axis has an empty name}}
module attributes {test = #epl.axis<""=1>} {}

// -----

// (A1)
// expected-error@+1 {{axis "data" has size 0, expected at least 1}}
module attributes {test = #epl.axis<"data"=0>} {}

// -----

// (H1)
// expected-error@+1 {{axis "data" appears twice in a sharding}}
module attributes {test = #epl.sharding<@mesh, [{"data"}, {"data"}]>} {}

// -----

// (H1)
// expected-error@+1 {{axis "data" appears twice in a sharding}}
module attributes {test = #epl.sharding<@mesh, [{"data"}], partial = sum{"data"}>} {}

// -----

// (K1)
// expected-error@+1 {{axis "data" appears twice in a constraint}}
module attributes {test = #epl.constraint<[{"data"}, {"data"}]>} {}

// -----

// (K1)
// expected-error@+1 {{axis "model" appears twice in a constraint}}
module attributes {test = #epl.constraint<[{"model"}], whole = {"model"}>} {}

// -----

// expected-error@+1 {{expected 'whole'}}
module attributes {test = #epl.constraint<[{"model"}], partial = {"data"}>} {}

// -----

// expected-error@+1 {{unknown reduction "mean"}}
module attributes {test = #epl.sharding<@mesh, [], partial = mean{"data"}>} {}

// -----

// (D1)
// expected-error@+1 {{sharding has 1 dimensions, expected 2}}
func.func private @rank(!epl.dist<tensor<4x4xf32>, <@mesh, [{"data"}]>>)

// -----

// What a function may carry.

// expected-error@+1 {{attribute "epl.role" of argument 0 is not "state", "batch" or "constant"}}
func.func private @role(tensor<4xf32> {epl.role = "param"})

// -----

// expected-error@+1 {{attribute "epl.role" of argument 1 is not "state", "batch" or "constant"}}
func.func private @role(tensor<4xf32>, tensor<4xf32> {epl.role = 1})

// -----

// expected-error@+1 {{argument 0 has an unknown attribute "epl.rolle", expected one of epl.role, epl.batch_dim, epl.name, epl.hidden, epl.sharding, epl.caller_shape, epl.caller_parts}}
func.func private @misspelled_role(tensor<4xf32> {epl.rolle = "state"})

// -----

// expected-error@+1 {{attribute "epl.hidden" of result 0 is not a unit attribute}}
func.func @f(%x: tensor<f32>) -> (tensor<f32> {epl.hidden = 1 : i64}) {
  return %x : tensor<f32>
}

// -----

// expected-error@+1 {{result 0 has an unknown attribute "epl.update", expected one of epl.updates, epl.name, epl.hidden, epl.caller_shape, epl.caller_parts}}
func.func private @misspelled_updates(tensor<4xf32>) -> (tensor<4xf32> {epl.update = 0})

// -----

// expected-error@+1 {{attribute "epl.batch_dim" of argument 0 is not an integer}}
func.func private @batch_dim(tensor<4xf32> {epl.batch_dim = "0"})

// -----

// expected-error@+1 {{attribute "epl.name" of argument 0 is not a string}}
func.func private @name(tensor<4xf32> {epl.name = 0})

// -----

// expected-error@+1 {{attribute "epl.hidden" of argument 0 is not a unit attribute}}
func.func private @hidden(tensor<4xf32> {epl.hidden = true})

// -----

// expected-error@+1 {{attribute "epl.sharding" of argument 0 is not an #epl.sharding}}
func.func private @sharding(tensor<4xf32> {epl.sharding = []})

// -----

// expected-error@+1 {{attribute "epl.caller_shape" of argument 0 is not an array of i64}}
func.func private @caller_shape(tensor<4xf32> {epl.caller_shape = [4]})

// -----

// expected-error@+1 {{attribute "epl.caller_shape" of result 0 is not an array of i64}}
func.func private @caller_shape() -> (tensor<4xf32> {epl.caller_shape = [4]})

// -----

// expected-error@+1 {{attribute "epl.updates" of result 0 is not an integer}}
func.func private @updates() -> (tensor<4xf32> {epl.updates = "w"})

// -----

// expected-error@+1 {{attribute "epl.name" of result 0 is not a string}}
func.func private @name() -> (tensor<4xf32> {epl.name = 0})

// -----

// expected-error@+1 {{attribute "epl.default_strategy" is not an #epl.strategy}}
func.func private @default() attributes {epl.default_strategy = "replicate"}

// -----

// expected-error@+1 {{attribute "epl.scopes" is not a dictionary of #epl.scope}}
func.func private @scopes() attributes {epl.scopes = {s0 = #epl.strategy<replicate, 1>}}

// -----

// What an op may carry.

func.func @work() {
  // expected-error@+1 {{attribute "epl.work" is not an #epl.work}}
  %0 = arith.constant {epl.work = "forward"} 0.0 : f32
  return
}

// -----

func.func @sharding() {
  // expected-error@+1 {{attribute "epl.sharding" is not an array of one #epl.sharding for each result}}
  %0 = tensor.empty() {epl.sharding = []} : tensor<4xf32>
  return
}

// -----

func.func @guards() {
  // expected-error@+1 {{attribute "epl.guards" is not an array of one #epl.guard or more}}
  %0 = arith.constant {epl.guards = []} 0.0 : f32
  return
}

// -----

func.func @guarded() {
  // expected-error@+1 {{has attribute "epl.guards", expected it on tasks and between them}}
  %0 = arith.constant {epl.guards = [#epl.guard<0, true>]} 0.0 : f32
  return
}

// -----

// expected-error@+1 {{attribute "epl.caller_shape" of argument 0 is array<i64: 6, 24>, expected extents that are one dimension, or the product of several in order, of 'tensor<6x3x4xf32>'}}
func.func @caller_shape(%w: tensor<6x3x4xf32> {epl.caller_shape = array<i64: 6, 24>}) {
  return
}

// -----

// expected-error@+1 {{attribute "epl.caller_parts" of result 0 is [array<i64>], expected for each dimension no parts}}
func.func private @caller_parts_count() -> (tensor<2x4xf32> {epl.caller_parts = [array<i64>]})

// -----

// expected-error@+1 {{attribute "epl.caller_parts" of argument 0 is [array<i64: 3, 5>, array<i64>], expected for each dimension no parts}}
func.func private @caller_parts(tensor<2x4xf32> {epl.caller_parts = [array<i64: 3, 5>, array<i64>]})

// -----

func.func @factors(%x: tensor<8xf32>) {
  // expected-error@+1 {{attribute "epl.factors" is not a dictionary of 64-bit integers that are not negative}}
  %0 = math.exp %x {epl.factors = {data = -1 : i64}} : tensor<8xf32>
  return
}

// -----

// expected-error@+1 {{attribute "epl.machine" is not an #epl.machine of a module or mesh}}
module attributes {epl.machine = 8} {}

// -----

// expected-error@+1 {{attribute "epl.machine" is not an #epl.machine of a module or mesh}}
func.func private @no_module() attributes {epl.machine = #epl.link<bytes_per_second = 1, latency_ns = 1>}

// -----

// (P1)
// expected-error@+1 {{"latency_ns" of a machine is 0, expected at least 1}}
module attributes {test.link = #epl.link<bytes_per_second = 1, latency_ns = 0>} {}

// -----

// expected-error@+1 {{"bytes_per_second" of a machine is -5, expected at least 1}}
module attributes {test.memory = #epl.memory<bytes = 1, bytes_per_second = -5, latency_ns = 1>} {}

// -----

// expected-error@+1 {{"f16" of a machine is 0, expected at least 1}}
module attributes {test.compute = #epl.compute<f64 = 1, f32 = 1, f16 = 0>} {}

// -----

// (M1)
// expected-error@+1 {{machine of kind "toaster", expected one of "cpu", "a100", "h100", "h200", "b200"}}
module attributes {test.machine = #epl.machine<kind = "toaster", compute = <f64 = 1, f32 = 1, f16 = 1>,
    memory = <bytes = 1, bytes_per_second = 1, latency_ns = 1>, within_process = <bytes_per_second = 1, latency_ns = 1>,
    between_processes = <bytes_per_second = 1, latency_ns = 1>, between_nodes = <bytes_per_second = 1, latency_ns = 1>>} {}

// -----

func.func @per_micro_batch(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{attribute "epl.per_micro_batch" has a value, expected none}}
  %0 = math.tanh %x {epl.per_micro_batch = 1} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// (O1)
// expected-error@+1 {{owner on axis "data" has coordinate -1, expected one that is not negative}}
module attributes {test.owner = #epl.owner<"data" = -1>} {}

// -----

// (H1)
// expected-error@+1 {{axis "data" appears twice in a sharding}}
module attributes {test.owner = #epl.sharding<@mesh, [{"data"}], owner = <"data" = 1>>} {}

// -----

// (C1) of #epl.convolution
// expected-error@+1 {{a convolution has four numbers for each dimension, ten for each of 1 to 3 axes and three operands}}
module attributes {test.convolution = #epl.convolution<output, operands = [0, 1, 2], flips = false, accumulate = false, samples = [1, 0, 0, 0], groups = [1, 0, 0, 0], channels = [1, 0, 0], features = [1, 0, 0, 0], axes = [5, 4, 2, 1, 1, 1, 1, 1, 0, 0]>} {}

// -----

// (C1) of #epl.convolution
// expected-error@+1 {{a convolution has four numbers for each dimension}}
module attributes {test.convolution = #epl.convolution<output, operands = [0, 1, 2], flips = false, accumulate = false, samples = [1, 0, 0, 0], groups = [1, 0, 0, 0], channels = [1, 0, 0, 0], features = [1, 0, 0, 0], axes = [5, 4, 2, 1, 1, 1, 1, 1, 0]>} {}

// -----

// (C2) of #epl.convolution
// expected-error@+1 {{extents, strides and dilations of a convolution are positive, its other numbers not negative}}
module attributes {test.convolution = #epl.convolution<output, operands = [0, 1, 2], flips = false, accumulate = false, samples = [1, 0, 0, 0], groups = [1, 0, 0, 0], channels = [0, 0, 0, 0], features = [1, 0, 0, 0], axes = [5, 4, 2, 1, 1, 1, 1, 1, 0, 0]>} {}

// -----

// (C2) of #epl.convolution
// expected-error@+1 {{extents, strides and dilations of a convolution are positive}}
module attributes {test.convolution = #epl.convolution<output, operands = [0, 1, 2], flips = false, accumulate = false, samples = [1, 0, 0, 0], groups = [1, 0, 0, 0], channels = [1, 0, 0, 0], features = [1, 0, 0, 0], axes = [5, 4, 2, 1, 1, 1, 0, 1, 0, 0]>} {}

// -----

// (C2) of #epl.convolution
// expected-error@+1 {{extents, strides and dilations of a convolution are positive}}
module attributes {test.convolution = #epl.convolution<output, operands = [0, 1, 2], flips = false, accumulate = false, samples = [1, 0, 0, 0], groups = [1, 0, 0, 0], channels = [1, 0, 0, 0], features = [1, 0, 0, 0], axes = [5, 4, 2, 1, 1, 1, 1, 1, -1, 0]>} {}

// -----

// (C1) of #epl.attention
// expected-error@+1 {{the scale of attention is 0x7F800000 : f32, expected a finite number of f32}}
module attributes {test.attention = #epl.attention<scale = 0x7F800000 : f32, causal = true>} {}

// -----

// (C1) of #epl.attention
// expected-error@+1 {{expected a finite number of f32}}
module attributes {test.attention = #epl.attention<scale = 1.0 : f64, causal = false>} {}

// -----

// (C1) of #epl.attention_gradient
// expected-error@+1 {{a gradient of attention has 7 parts and 3 steps, expected at least one and 24, all of them positive}}
module attributes {test.gradient = #epl.attention_gradient<parts = 7, steps = [96, 8, 24]>} {}

// -----

// (C1) of #epl.attention_gradient
// expected-error@+1 {{a gradient of attention has 0 parts and 24 steps}}
module attributes {test.gradient = #epl.attention_gradient<parts = 0, steps = [96, 8, 24, 96, 8, 24, 96, 8, 24, 96, 8, 24, 96, 8, 24, 96, 8, 24, 96, 8, 24, 96, 8, 24]>} {}

// -----

// expected-error@+1 {{attribute "epl.pull" of argument 0 is not an integer of type i64}}
func.func @pull(%x: tensor<4xf32> {epl.pull = "w"}) {
  return
}

// -----

// expected-error@+1 {{attribute "epl.push" of result 0 is not an array of i64}}
func.func @push(%x: tensor<4xf32>) -> (tensor<4xf32> {epl.push = 0 : i64}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{attribute "epl.servers" is not a dictionary of a module}}
module attributes {epl.servers = 2 : i64} {
}
