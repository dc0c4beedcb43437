// RUN: epl-opt %s -verify-diagnostics -epl-assign-owners

epl.mesh @mesh axes ["data"=65]

// expected-error@+1 {{'func.func' op is on mesh "mesh" with axis "data" of size 65, expected at most 64: a plan is proved for each owner by itself}}
func.func @too_many(%x: !epl.dist<tensor<8xf32>, <@mesh, [{}]>>) -> !epl.dist<tensor<8xf32>, <@mesh, [{}]>> {
  return %x : !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
}
