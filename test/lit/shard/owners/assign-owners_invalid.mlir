// RUN: epl-opt %s -split-input-file -verify-diagnostics -epl-assign-owners

epl.mesh @mesh axes ["data"=65]

// expected-error@+1 {{'func.func' op is on mesh "mesh" with axis "data" of size 65, expected at most 64: a plan is proved for each owner by itself}}
func.func @too_many(%x: !epl.dist<tensor<8xf32>, <@mesh, [{}]>>) -> !epl.dist<tensor<8xf32>, <@mesh, [{}]>> {
  return %x : !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
}

// -----

epl.mesh @mesh axes ["data"=2]

// expected-error@+1 {{'func.func' op state "w" has owner 2, expected 0 to 1 on axis "data"}}
func.func @elsewhere(%w: !epl.dist<tensor<8xf32>, <@mesh, [{}]>> {epl.name = "w", epl.role = "state", epl.owner = 2 : i64})
    -> !epl.dist<tensor<8xf32>, <@mesh, [{}]>> {
  return %w : !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
}

// -----

epl.mesh @mesh axes ["data"=2]

// expected-error@+1 {{attribute "epl.owner" of argument 0 is not an integer of type i64}}
func.func @no_number(%w: !epl.dist<tensor<8xf32>, <@mesh, [{}]>> {epl.role = "state", epl.owner = "data"})
    -> !epl.dist<tensor<8xf32>, <@mesh, [{}]>> {
  return %w : !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
}
