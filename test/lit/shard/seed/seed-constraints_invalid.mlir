// RUN: epl-opt %s -split-input-file -epl-seed-constraints -verify-diagnostics

// (C2) of epl.constrain: each way not to fit the mesh.
epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
func.func @model(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{constraint names axis "model", expected one of "data" of mesh "mesh": a scope of epl.split makes that axis}}
  %0 = epl.constrain %x to <[{"model"}]> : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

epl.mesh @mesh axes ["data"=2, "model"=1]
func.func @unknown(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{constraint names axis "rows", expected one of "data", "model" of mesh "mesh"}}
  %0 = epl.constrain %x to <[{}], whole = {"rows"}> : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

epl.mesh @mesh axes ["data"=2, "model"=2]
func.func @divisible(%x: tensor<2x6xf32>) -> tensor<2x6xf32> {
  // expected-error@+1 {{dimension 1 of 'tensor<2x6xf32>' is constrained, but its size of 6 is not divisible by 4, the size of its axes}}
  %0 = epl.constrain %x to <[{}, {"data", "model"}]> : tensor<2x6xf32>
  return %0 : tensor<2x6xf32>
}

// -----

epl.mesh @mesh axes ["data"=2, "model"=2]
func.func @order(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{constraint names axes of dimension 0 out of mesh order, expected that of "data", "model"}}
  %0 = epl.constrain %x to <[{"model", "data"}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}
