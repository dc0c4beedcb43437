// RUN: epl-opt %s -split-input-file -epl-seed-batch -epl-seed-split -verify-diagnostics

#forward = #epl.work<@tg0, forward>
#apply = #epl.work<@tg0, apply>

epl.mesh @mesh axes ["data"=1, "model"=2]
// expected-error@+3 {{dims "wk" = 1 names no parameter of the scope}}
// expected-note@+2 {{the scope has 1 parameters: argument "params['w']"}}
// expected-note@+1 {{argument "wk" is no state, and parameters are states: name it in "state", or constrain it in the step, epl.constrain(..., {1: "model"})}}
epl.taskgraph @tg0 strategy(<split, 2>) on @mesh dims([#epl.dim_constraint<"wk" = 1>])

// A state that the forward work does not read is no parameter, nor is what is no state.
func.func @unmatched(%w: tensor<4x4xf32> {epl.role = "state", epl.name = "params['w']"},
                     %mu: tensor<4x4xf32> {epl.role = "state", epl.name = "mu['wk']"},
                     %x: tensor<4x4xf32> {epl.role = "constant", epl.name = "wk"}) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = arith.addf %w, %x {epl.work = #forward} : tensor<4x4xf32>
  %1 = math.sin %mu {epl.work = #apply} : tensor<4x4xf32>
  return %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

epl.mesh @mesh axes ["data"=1, "model"=2]
// A part of a step is no step.
// expected-error@+2 {{dims "w" = 1 names no parameter of the scope}}
// expected-note@+1 {{the scope has 1 parameters: argument "params['wk']"}}
epl.taskgraph @tg0 strategy(<split, 2>) on @mesh dims([#epl.dim_constraint<"w" = 1>])

func.func @part(%w: tensor<4x4xf32> {epl.role = "state", epl.name = "params['wk']"}) -> tensor<4x4xf32> {
  %0 = math.sin %w {epl.work = #epl.work<@tg0, forward>} : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

epl.mesh @mesh axes ["data"=1, "model"=2]
// expected-error@+1 {{dims "w[a" = 1: invalid glob pattern, unmatched '['}}
epl.taskgraph @tg0 strategy(<split, 2>) on @mesh dims([#epl.dim_constraint<"w[a" = 1>])

func.func @glob(%w: tensor<4x4xf32> {epl.role = "state", epl.name = "w"}) {
  return
}

// -----

epl.mesh @mesh axes ["data"=2]
// Also where nothing is split.
// expected-error@+1 {{dims "w" = -3: argument "w" of 'tensor<4x4xf32>' has 2 dimensions}}
epl.taskgraph @tg0 strategy(<split, 1>) on @mesh dims([#epl.dim_constraint<"w" = -3>])

func.func @range(%w: tensor<4x4xf32> {epl.role = "state", epl.name = "w"}) -> tensor<4x4xf32> {
  %0 = math.sin %w {epl.work = #epl.work<@tg0, forward>} : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

epl.mesh @mesh axes ["data"=1, "model"=2]
// expected-error@+1 {{dims "w" = 1: dimension 1 of argument "w" of size 3 is not divisible by 2, the size of its axes}}
epl.taskgraph @tg0 strategy(<split, 2>) on @mesh dims([#epl.dim_constraint<"w" = 1>])

func.func @divisible(%w: tensor<4x3xf32> {epl.role = "state", epl.name = "w"}) -> tensor<4x3xf32> {
  %0 = math.sin %w {epl.work = #epl.work<@tg0, forward>} : tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

epl.mesh @mesh axes ["data"=2, "model"=2]
// An axis that splits the dimension by hand counts.
// expected-error@+1 {{dims "w" = 0: dimension 0 of argument "w" of size 6 is not divisible by 4, the size of its axes}}
epl.taskgraph @tg0 strategy(<split, 2>) on @mesh dims([#epl.dim_constraint<"w" = 0>])

func.func @both(%w: tensor<6xf32> {epl.role = "state", epl.name = "w", epl.sharding = #epl.sharding<@mesh, [{"data"}]>}) -> tensor<6xf32> {
  %0 = math.sin %w {epl.work = #epl.work<@tg0, forward>} : tensor<6xf32>
  return %0 : tensor<6xf32>
}

// -----

epl.mesh @mesh axes ["data"=1, "model"=2]
// expected-error@+1 {{dims "w" = 1: argument "w" is sharded by hand, #epl.sharding<@mesh, [{"model"}, {}]>}}
epl.taskgraph @tg0 strategy(<split, 2>) on @mesh dims([#epl.dim_constraint<"w" = 1>])

func.func @by_hand(%w: tensor<4x4xf32> {epl.role = "state", epl.name = "w", epl.sharding = #epl.sharding<@mesh, [{"model"}, {}]>}) -> tensor<4x4xf32> {
  %0 = math.sin %w {epl.work = #epl.work<@tg0, forward>} : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

epl.mesh @mesh axes ["data"=1, "model"=2]
// Counted from either end, a dimension is one dimension; another one, or none, is a contradiction.
// expected-error@+1 {{dims "params/*" whole contradicts "w" = 1 for argument "params['w']"}}
epl.taskgraph @tg0 strategy(<split, 2>) on @mesh
    dims([#epl.dim_constraint<"w" = 1>, #epl.dim_constraint<"?" = -1>, #epl.dim_constraint<"params/*" whole>])

func.func @contradiction(%w: tensor<4x4xf32> {epl.role = "state", epl.name = "params['w']"}) -> tensor<4x4xf32> {
  %0 = math.sin %w {epl.work = #epl.work<@tg0, forward>} : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

epl.mesh @mesh axes ["data"=1, "model"=2, "model2"=2]
epl.taskgraph @tg0 strategy(<split, 2>) on @mesh dims([#epl.dim_constraint<"w" = 0>])
// Task graphs that are split over one axis must agree.
// expected-error@+1 {{dims "w" = 1 contradicts "w" = 0 for argument "w"}}
epl.taskgraph @tg1 strategy(<split, 4>) on @mesh dims([#epl.dim_constraint<"w" = 1>])

func.func @several(%w: tensor<4x4xf32> {epl.role = "state", epl.name = "w"}) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = math.sin %w {epl.work = #epl.work<@tg0, forward>} : tensor<4x4xf32>
  %1 = math.cos %w {epl.work = #epl.work<@tg1, forward>} : tensor<4x4xf32>
  return %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
}
