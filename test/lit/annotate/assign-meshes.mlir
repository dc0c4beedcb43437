// RUN: epl-opt %s --split-input-file --epl-assign-meshes=devices=8 | FileCheck %s

// CHECK: epl.mesh @mesh axes ["data"=8]
// CHECK: epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh name("encoder")
epl.taskgraph @tg0 strategy(<replicate, 1>) name("encoder")

// -----

// Replicas of more than one device share their part of the batch: as many parts as devices.
// CHECK: epl.mesh @mesh axes ["data"=8]
// CHECK: epl.taskgraph @tg0 strategy(<replicate, 4>) on @mesh
epl.taskgraph @tg0 strategy(<replicate, 4>)

// -----

// CHECK: epl.mesh @mesh axes ["data"=4, "model"=2]
// CHECK: epl.taskgraph @tg0 strategy(<split, 2>) on @mesh
epl.taskgraph @tg0 strategy(<split, 2>)

// -----

// CHECK: epl.mesh @mesh axes ["data"=1, "model"=8]
epl.taskgraph @tg0 strategy(<split, 8>)

// -----

// CHECK: epl.mesh @mesh axes ["data"=8]
epl.taskgraph @tg0 strategy(<split, 1>)
