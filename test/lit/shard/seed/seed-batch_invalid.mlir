// RUN: epl-opt %s -split-input-file -verify-diagnostics -epl-seed-batch

epl.mesh @mesh axes ["data"=2]
// expected-error@+1 {{dimension 0 of argument "x" of size 127 is not divisible by axis "data" of size 2: drop what is over, pad it ("pad_batch" of epl.parallelize), or leave it whole on every device (None as its axis in "batch")}}
func.func @named(%x: tensor<127x4xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "x"}) {
  return
}

// -----

// Of batches of several lengths each must divide.
epl.mesh @mesh axes ["data"=2]
// expected-error@+1 {{dimension 0 of argument "edges" of size 13 is not divisible by axis "data" of size 2}}
func.func @lengths(%nodes: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "nodes"},
                   %edges: tensor<13xi32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "edges"}) {
  return
}

// -----

epl.mesh @mesh axes ["data"=4]
// expected-error@+1 {{dimension 1 of argument 0 of size 6 is not divisible by axis "data" of size 4}}
func.func @unnamed(%x: tensor<4x6xf32> {epl.role = "batch", epl.batch_dim = 1 : i64}) {
  return
}

// -----

epl.mesh @mesh axes ["data"=2]
// expected-error@+1 {{argument "x" is a batch without "epl.batch_dim"}}
func.func @no_dim(%x: tensor<8xf32> {epl.role = "batch", epl.name = "x"}) {
  return
}

// -----

epl.mesh @mesh axes ["data"=2]
// expected-error@+1 {{batch dimension 1 of argument 0 is not a dimension of 'tensor<8xf32>'}}
func.func @no_such_dim(%x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 1 : i64}) {
  return
}

// -----

epl.mesh @mesh axes ["data"=2]
// expected-error@+1 {{dimension 0 of argument 0 is dynamic}}
func.func @dynamic(%x: tensor<?xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) {
  return
}

// -----

// expected-error@+1 {{has no axis of role "data" to shard the batch over}}
epl.mesh @mesh axes ["model"=2]
func.func @no_axis(%x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) {
  return
}

// -----

// expected-note@+1 {{the first mesh is here}}
epl.mesh @a axes ["data"=2]
epl.mesh @b axes ["data"=2]
// expected-error@+1 {{has no "epl.mesh", expected it as there are 2 meshes}}
func.func @several(%x: tensor<8xf32>) {
  return
}

// -----

epl.mesh @a axes ["data"=2]
epl.mesh @b axes ["data"=2]
// expected-error@+1 {{is computed on unknown mesh @c}}
func.func @unknown(%x: tensor<8xf32>) attributes {epl.mesh = @c} {
  return
}

// -----

module {
  // expected-error@+1 {{is computed on no mesh, as the module has no epl.mesh}}
  func.func @nowhere(%x: tensor<8xf32>) {
    return
  }
}

// -----

epl.mesh @mesh axes ["data"=2]
// expected-error@+1 {{has control flow, expected one block that returns}}
func.func @blocks(%x: tensor<8xf32>) {
  cf.br ^next
^next:
  return
}

// -----

epl.mesh @mesh axes ["data"=2, "model"=2]
epl.taskgraph @body strategy(<replicate, 1>) on @mesh
epl.taskgraph @head strategy(<split, 2>) on @mesh
// expected-error@+1 {{dimension 0 of argument "x" of size 6 is not divisible by axes "data", "model" of size 4: drop what is over}}
func.func @both(%x: tensor<6xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "x"}) -> tensor<6xf32> {
  %0 = math.sin %x {epl.work = #epl.work<@body, forward>} : tensor<6xf32>
  return %0 : tensor<6xf32>
}

// -----

epl.mesh @mesh axes ["data"=2]
// expected-error@below {{result 0 updates argument 7, expected one of 1}}
func.func @updates_none(%x: tensor<8xf32>) -> (tensor<8xf32> {epl.updates = 7 : i64}) {
  return %x : tensor<8xf32>
}
