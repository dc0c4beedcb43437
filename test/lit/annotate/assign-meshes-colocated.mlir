// RUN: epl-opt %s --split-input-file --epl-assign-meshes="devices=8 colocate" | FileCheck %s

// On the same devices, what replicates shards its batch over all of them, too: one mesh for all.
// CHECK: epl.mesh @mesh axes ["data"=4, "model"=2]
// CHECK: epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh name("body")
// CHECK: epl.taskgraph @tg1 strategy(<split, 2>) on @mesh name("head")
// CHECK: epl.taskgraph @tg2 strategy(<split, 1>) on @mesh
epl.taskgraph @tg0 strategy(<replicate, 1>) name("body")
epl.taskgraph @tg1 strategy(<split, 2>) name("head")
epl.taskgraph @tg2 strategy(<split, 1>)

// -----

// A replica of more than one device slices its batch, whatever its count.
// CHECK: epl.mesh @mesh axes ["data"=2, "model"=4]
// CHECK: epl.taskgraph @tg0 strategy(<replicate, 2>) on @mesh
// CHECK: epl.taskgraph @tg1 strategy(<split, 4>) on @mesh
epl.taskgraph @tg0 strategy(<replicate, 2>)
epl.taskgraph @tg1 strategy(<split, 4>)

// -----

// CHECK: epl.mesh @mesh axes ["data"=8]
// CHECK: epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh name("a")
// CHECK: epl.taskgraph @tg1 strategy(<replicate, 2>) on @mesh name("b")
epl.taskgraph @tg0 strategy(<replicate, 1>) name("a")
epl.taskgraph @tg1 strategy(<replicate, 2>) name("b")

// -----

// A count that divides the other one: pairs of what is split in four.
// CHECK: epl.mesh @mesh axes ["data"=2, "model"=2, "model2"=2]
// CHECK: epl.taskgraph @tg0 strategy(<split, 2>) on @mesh
// CHECK: epl.taskgraph @tg1 strategy(<split, 4>) on @mesh
// CHECK: epl.taskgraph @tg2 strategy(<replicate, 1>) on @mesh
epl.taskgraph @tg0 strategy(<split, 2>)
epl.taskgraph @tg1 strategy(<split, 4>)
epl.taskgraph @tg2 strategy(<replicate, 1>)
