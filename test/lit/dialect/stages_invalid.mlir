// RUN: epl-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{attribute "epl.stages" is not an array of task graphs}}
epl.taskgraph @tg0 strategy(<replicate, 1>) {epl.stages = 2 : i64}

// -----

// expected-error@+1 {{names unknown stage @tg1, expected a task graph}}
epl.taskgraph @tg0 strategy(<replicate, 1>) {epl.stages = [@tg1]}

// -----

func.func @count(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{attribute "epl.stages" is 0 : i64, expected an i64 of at least 1}}
  %0 = epl.replicate -> tensor<4xf32> {
    epl.yield %x : tensor<4xf32>
  } {epl.stages = 0 : i64}
  return %0 : tensor<4xf32>
}

// -----

// expected-error@+1 {{is not that of an epl.replicate, an epl.taskgraph or, as a dictionary of i64s of at least 1, a function}}
func.func @table() attributes {epl.stages = {s0 = 0}} {
  return
}
