// RUN: epl-opt %s -split-input-file -verify-diagnostics -epl-verify-tasks

epl.mesh @mesh axes ["data"=2]

func.func @cast_left(%x: !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>) {
  // expected-error@+1 {{'epl.to_local' op is not allowed at level "tasks"}}
  %0 = epl.to_local %x : <tensor<8xf32>, <@mesh, [{"data"}]>> -> tensor<4xf32>
  return
}

// -----

func.func @outside_of_tasks() {
  // expected-error@+1 {{'tensor.empty' op is outside of every task}}
  %0 = tensor.empty() : tensor<8xf32>
  return
}
