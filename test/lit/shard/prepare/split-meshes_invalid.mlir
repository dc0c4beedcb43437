// RUN: epl-opt %s --split-input-file --verify-diagnostics --epl-split-meshes

epl.mesh @mesh0 axes ["data"=2] first 0 strides [2]
epl.mesh @mesh1 axes ["data"=2] first 1 strides [2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh0
epl.taskgraph @tg1 strategy(<replicate, 1>) on @mesh1

func.func public @main(%x: tensor<8xf32> {epl.role = "state"}) -> (tensor<8xf32> {epl.updates = 0 : i64}) {
  return %x : tensor<8xf32>
}

// expected-error@+1 {{symbol "main.mesh1" is taken, expected it free for what is done on mesh "mesh1"}}
epl.taskgraph @main.mesh1 strategy(<replicate, 1>) on @mesh0

// -----

epl.mesh @mesh0 axes ["data"=2] first 0 strides [2]
epl.mesh @mesh1 axes ["data"=2] first 1 strides [2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh0
epl.taskgraph @tg1 strategy(<replicate, 1>) on @mesh1

// expected-error@+1 {{batch dimension 1 of argument 0 is not a dimension of 'tensor<8xf32>'}}
func.func public @main(%x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 1 : i64}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
