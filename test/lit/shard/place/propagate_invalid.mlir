// RUN: epl-opt %s -split-input-file -verify-diagnostics -epl-propagate

module {
  // expected-error@+1 {{is computed on no mesh, as the module has no epl.mesh}}
  func.func @no_mesh(%x: tensor<8xf32>) {
    return
  }
}

// -----

epl.mesh @mesh axes ["data"=2]
// expected-error@+1 {{sharding of argument "x" is partial}}
func.func @partial(%x: tensor<8xf32> {epl.name = "x", epl.sharding = #epl.sharding<@mesh, [{}], partial = sum{"data"}>}) {
  return
}

// -----

epl.mesh @mesh axes ["data"=2]
// expected-error@+1 {{dimension 0 of argument 0 of size 7 is not divisible by 2}}
func.func @not_divisible(%x: tensor<7xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}]>}) {
  return
}

// -----

epl.mesh @mesh axes ["data"=2]
// expected-error@+1 {{sharding of argument 0 has 2 dimensions, expected 1}}
func.func @rank(%x: tensor<8xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {}]>}) {
  return
}

// -----

epl.mesh @mesh axes ["data"=2]
// expected-error@+1 {{argument 0 has a sharding but is no ranked tensor}}
func.func @scalar(%x: f32 {epl.sharding = #epl.sharding<@mesh, []>}) {
  return
}

// -----

epl.mesh @mesh axes ["data"=2, "model"=2]
// expected-error@+1 {{sharding of argument 0 names axes of one dimension out of mesh order}}
func.func @order(%x: tensor<8xf32> {epl.sharding = #epl.sharding<@mesh, [{"model", "data"}]>}) {
  return
}

// -----

epl.mesh @mesh axes ["data"=2]
func.func @scope(%x: tensor<8xf32>) {
  // expected-error@+1 {{is not allowed at level "global": epl-flatten-scopes should have removed it}}
  epl.split {
  }
  return
}

// -----

epl.mesh @mesh axes ["data"=2]
func.func @pending(%x: tensor<8xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}]>}) {
  // expected-error@+1 {{sharding of the reshard is partial}}
  %0 = epl.reshard %x to <@mesh, [{}], partial = sum{"data"}> : tensor<8xf32>
  return
}

// -----

// Ops of one loop agree on its iterations.
epl.mesh @mesh axes ["data"=2]
func.func @iterations(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = epl.loop_carry <0, trip_count = 3> 0 %x : tensor<4xf32> -> tensor<4xf32>
  // expected-error@+1 {{says loop 0 has 2 iterations, expected 3}}
  %1 = epl.loop_last <0, trip_count = 2> 0 %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
