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

// -----

// Task graphs have devices of their own: in each of two replicas, one after the other.
// CHECK: epl.mesh @mesh0 axes ["data"=2] first 0 strides [4]
// CHECK: epl.mesh @mesh1 axes ["data"=2, "model"=2] first 1 strides [4, 1]
// CHECK: epl.mesh @mesh2 axes ["data"=2] first 3 strides [4]
// CHECK: epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh0 name("body")
// CHECK: epl.taskgraph @tg1 strategy(<split, 2>) on @mesh1 name("head")
// CHECK: epl.taskgraph @tg2 strategy(<split, 1>) on @mesh2
epl.taskgraph @tg0 strategy(<replicate, 1>) name("body")
epl.taskgraph @tg1 strategy(<split, 2>) name("head")
epl.taskgraph @tg2 strategy(<split, 1>)
