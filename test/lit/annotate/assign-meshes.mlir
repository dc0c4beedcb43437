// RUN: epl-opt %s --epl-assign-meshes | FileCheck %s -DN=1
// RUN: epl-opt %s --epl-assign-meshes=devices=8 | FileCheck %s -DN=8

// CHECK: epl.mesh @mesh axes ["data"=[[N]]]
// CHECK: epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh name("encoder")
epl.taskgraph @tg0 strategy(<replicate, 1>) name("encoder")
