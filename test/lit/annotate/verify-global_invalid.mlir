// RUN: epl-opt %s --split-input-file --verify-diagnostics --epl-verify-global

func.func @no_work(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'math.tanh' op has no "epl.work"}}
  %0 = math.tanh %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @unknown(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'math.tanh' op names unknown task graph @tg0}}
  %0 = math.tanh %x {epl.work = #epl.work<@tg0, forward>} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

epl.taskgraph @tg0 strategy(<replicate, 1>)
func.func @no_mesh(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'math.tanh' op belongs to task graph @tg0, which has no mesh}}
  %0 = math.tanh %x {epl.work = #epl.work<@tg0, forward>} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @scope() {
  // expected-error@+1 {{'epl.replicate' op is not allowed at level "global": epl-flatten-scopes should have removed it}}
  epl.replicate {
  }
  return
}
