// RUN: epl-opt %s -split-input-file -verify-diagnostics -epl-seed-split
// RUN: epl-opt %s -split-input-file -verify-diagnostics -epl-seed-zero=level=v1
// RUN: epl-opt %s -split-input-file -verify-diagnostics -epl-seed-sequence
// RUN: epl-opt %s -split-input-file -verify-diagnostics -epl-seed-layouts
// RUN: epl-opt %s -split-input-file -verify-diagnostics -epl-seed-iterations

epl.mesh @mesh axes ["data"=2, "model"=2]
// expected-error@+1 {{argument "w" has no "epl.sharding", which this pass needs: run --epl-seed-batch before}}
func.func @not_seeded(%w: tensor<4xf32> {epl.role = "state", epl.name = "w"}) {
  return
}

// -----

epl.mesh @mesh axes ["data"=2, "model"=2]
// expected-error@+1 {{sharding of argument 0 has 2 dimensions, expected 1}}
func.func @rank(%x: tensor<4xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {"model"}]>}) {
  return
}
