// RUN: epl-opt %s --split-input-file --verify-diagnostics --epl-form-taskgraphs

func.func @several(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {epl.scopes = {tg0 = #epl.scope<replicate, 1, "a">, tg1 = #epl.scope<replicate, 1, "b">}} {
  %c = arith.constant {epl.work = #epl.work<@tg1, forward>} dense<1.0> : tensor<4xf32>
  // expected-note@+1 {{the first stage starts here}}
  %0 = math.tanh %x {epl.work = #epl.work<@tg0, forward>} : tensor<4xf32>
  // expected-error@+1 {{several stages: not supported yet, expected scopes of one name, or of none and one strategy}}
  %1 = arith.addf %0, %c {epl.work = #epl.work<@tg1, forward>} : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// One with a name and two without: the two are one stage, but the named one is another.
func.func @named_and_unnamed(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {epl.scopes = {tg0 = #epl.scope<replicate, 1, "">, tg1 = #epl.scope<replicate, 1, "">,
                              tg2 = #epl.scope<replicate, 1, "head">}} {
  // expected-note@+1 {{the first stage starts here}}
  %0 = math.tanh %x {epl.work = #epl.work<@tg0, forward>} : tensor<4xf32>
  %1 = math.sin %0 {epl.work = #epl.work<@tg1, forward>} : tensor<4xf32>
  // expected-error@+1 {{several stages: not supported yet}}
  %2 = math.cos %1 {epl.work = #epl.work<@tg2, forward>} : tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// Of constants only: the place is the function.
// expected-note@+1 {{the first stage starts here}}
func.func @constants(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    attributes {epl.scopes = {tg0 = #epl.scope<split, 2, "">, tg1 = #epl.scope<replicate, 1, "">}} {
  %c = arith.constant {epl.work = #epl.work<@tg0, forward>} dense<1.0> : tensor<4xf32>
  // expected-error@+1 {{several stages: not supported yet}}
  %0 = math.tanh %x {epl.work = #epl.work<@tg1, forward>} : tensor<4xf32>
  return %c, %0 : tensor<4xf32>, tensor<4xf32>
}
