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

// The sum over "data" is wanted, the one over "model" still flows.
epl.mesh @mesh axes ["data"=2, "model"=2]
#s = #epl.sharding<@mesh, [], partial = sum{"data", "model"}>
func.func @two_axes(%x: tensor<8xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}]>},
                    %xm: tensor<8xf32> {epl.sharding = #epl.sharding<@mesh, [{"data", "model"}]>}) {
  %z = arith.constant {epl.sharding = [#epl.sharding<@mesh, []>]} dense<0.0> : tensor<f32>
  %0 = linalg.reduce { arith.addf } ins(%xm : tensor<8xf32>) outs(%z : tensor<f32>) dimensions = [0] {epl.sharding = [#s]}
  %e = tensor.empty() {epl.sharding = [#epl.sharding<@mesh, [{"data"}]>]} : tensor<8xf32>
  // expected-error@+1 {{operand 1 is pending over several axes: not supported yet}}
  %1 = linalg.generic {
      indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>],
      iterator_types = ["parallel"]} ins(%x, %0 : tensor<8xf32>, tensor<f32>) outs(%e : tensor<8xf32>)
      attrs = {epl.sharding = [#epl.sharding<@mesh, [{"data"}]>]} {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %2 = arith.mulf %a, %b : f32
    linalg.yield %2 : f32
  } -> tensor<8xf32>
  return
}

// -----

epl.mesh @mesh axes ["data"=2]
func.func @placed(%x: tensor<8xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}]>}) {
  // expected-error@+1 {{stands in a program that is still to be sharded}}
  %0 = epl.reshard %x to <@mesh, [{}]> : tensor<8xf32>
  return
}
