// RUN: epl-opt %s -split-input-file -verify-diagnostics -epl-place

epl.mesh @mesh axes ["data"=2]
// expected-error@+1 {{argument "x" has no "epl.sharding"}}
func.func @no_argument(%x: tensor<8xf32> {epl.name = "x"}) {
  return
}

// -----

epl.mesh @mesh axes ["data"=2]
func.func @no_result(%x: tensor<8xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}]>}) {
  // expected-error@+1 {{result 0 has no "epl.sharding"}}
  %0 = math.exp %x : tensor<8xf32>
  return
}

// -----

epl.mesh @mesh axes ["data"=2]
func.func @misfit(%x: tensor<8xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}]>}) {
  // expected-error@+1 {{sharding of result 0 names axis "model", which mesh "mesh" does not have}}
  %0 = math.exp %x {epl.sharding = [#epl.sharding<@mesh, [{"model"}]>]} : tensor<8xf32>
  return
}

// -----

epl.mesh @mesh axes ["data"=2]
func.func @pending(%x: tensor<8xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}]>}) {
  // expected-error@+1 {{'epl.reshard' op leaves a value pending in a program that is still to be sharded}}
  %0 = epl.reshard %x to <@mesh, [{}], partial = sum{"data"}> : tensor<8xf32>
  return
}

// -----

epl.mesh @mesh axes ["data"=2]
// expected-error@+1 {{argument 0 has no "epl.sharding", which this pass needs: run --epl-propagate before}}
func.func @not_propagated(%x: tensor<4xf32>) {
  return
}
