// RUN: epl-opt %s -split-input-file -verify-diagnostics -epl-seed-results

epl.mesh @mesh axes ["data"=2]

// expected-error@+1 {{sharding of result 0 names axis "model", which mesh "mesh" does not have}}
func.func @no_axis(%a: tensor<8xf32> {epl.role = "constant", epl.sharding = #epl.sharding<@mesh, [{}]>})
    -> (tensor<8xf32> {epl.wanted = #epl.sharding<@mesh, [{"model"}]>}) {
  return %a : tensor<8xf32>
}

// -----

epl.mesh @mesh axes ["data"=2]

// expected-error@+1 {{result 0 is wanted on mesh @other, expected "mesh", on which it is made}}
func.func @no_mesh(%a: tensor<8xf32> {epl.role = "constant", epl.sharding = #epl.sharding<@mesh, [{}]>})
    -> (tensor<8xf32> {epl.wanted = #epl.sharding<@other, [{}]>}) {
  return %a : tensor<8xf32>
}
