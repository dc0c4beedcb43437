// RUN: epl-opt %s --epl-assign-meshes=devices=3 | FileCheck %s

// A module that brings several meshes has a task graph of the name of each; one of them may have nothing to do.
// CHECK: epl.mesh @mesh0 axes ["data"=1] first 0 strides [3]
// CHECK: epl.mesh @mesh1 axes ["data"=1, "model"=2] first 1 strides [3, 1]
// CHECK: epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh1 name("mesh1")
epl.mesh @mesh0 axes ["data"=1] first 0 strides [3]
epl.mesh @mesh1 axes ["data"=1, "model"=2] first 1 strides [3, 1]
epl.taskgraph @tg0 strategy(<replicate, 1>) name("mesh1")
