// RUN: epl-opt %s -split-input-file -verify-diagnostics -epl-verify-local

epl.mesh @mesh axes ["data"=2]

func.func @reshard_left() {
  %0 = tensor.empty() : tensor<8xf32>
  // expected-error@+1 {{'epl.reshard' op is not allowed at level "local": epl-localize should have removed it}}
  %1 = epl.reshard %0 to <@mesh, [{"data"}]> : tensor<8xf32>
  return
}

// -----

// expected-error@+1 {{'func.func' op argument 0 is 'tensor<8xf32>', expected an !epl.dist}}
func.func @plain_argument(%x: tensor<8xf32>) {
  return
}

// -----

// expected-error@+1 {{'func.func' op result 0 is 'tensor<8xf32>', expected an !epl.dist}}
func.func @plain_result() -> tensor<8xf32> {
  %0 = tensor.empty() : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @no_sharding() {
  // expected-error@+1 {{'tensor.empty' op has no "epl.sharding"}}
  %0 = tensor.empty() : tensor<8xf32>
  return
}
