// RUN: epl-opt %s --epl-lower-precision --split-input-file --verify-diagnostics

func.func @no_work(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'math.tanh' op has no "epl.work", expected it from "epl-flatten-scopes"}}
  %0 = math.tanh %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @below {{has control flow, expected one block that returns}}
func.func @control_flow(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^next
^next:
  return %x : tensor<4xf32>
}
