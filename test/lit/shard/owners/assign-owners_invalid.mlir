// RUN: epl-opt %s -split-input-file -verify-diagnostics -epl-assign-owners

epl.mesh @mesh axes ["data"=2, "data2"=2]

// expected-error@+1 {{'func.func' op is on mesh "mesh" with axes "data" and "data2" of role data, expected one: owners are members on one axis}}
func.func @two_axes(%x: !epl.dist<tensor<8xf32>, <@mesh, [{}]>>) -> !epl.dist<tensor<8xf32>, <@mesh, [{}]>> {
  return %x : !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
}

// -----

epl.mesh @mesh axes ["data"=65]

// expected-error@+1 {{'func.func' op is on mesh "mesh" with axis "data" of size 65, expected at most 64: a plan is proved for each owner by itself}}
func.func @too_many(%x: !epl.dist<tensor<8xf32>, <@mesh, [{}]>>) -> !epl.dist<tensor<8xf32>, <@mesh, [{}]>> {
  return %x : !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
}
