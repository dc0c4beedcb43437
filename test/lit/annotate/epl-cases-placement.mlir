// RUN: split-file %s %t
// RUN: epl-opt %t/two.mlir --epl-assign-meshes=devices=4 | FileCheck %s --check-prefix=CASE11
// RUN: epl-opt %t/four.mlir --epl-assign-meshes=devices=4 | FileCheck %s --check-prefix=CASE13
// RUN: epl-opt %t/two.mlir --epl-assign-meshes="devices=2 colocate" | FileCheck %s --check-prefix=CASE14
// RUN: not epl-opt %t/uneven.mlir --epl-assign-meshes=devices=4 2>&1 | FileCheck %s --check-prefix=CASE15
// RUN: epl-opt %t/pairs.mlir --epl-assign-meshes=devices=8 | FileCheck %s --check-prefix=CASE17
// RUN: epl-opt %t/two.mlir --epl-assign-meshes=devices=8 | FileCheck %s --check-prefix=CASE18
// RUN: epl-opt %t/two.mlir --epl-assign-meshes=devices=2 | FileCheck %s --check-prefix=CASE18-TWO
// RUN: epl-opt %t/two.mlir --epl-assign-meshes=devices=1 | FileCheck %s --check-prefix=ONE

// EPL's own tests of the devices of task graphs, by the numbers that they have in reference/epl.md, section 7.

// Cases 11 and 12: devices 0 and 2, 1 and 3; of nodes 0 and 1 each with intra-node placement (16).
// CASE11: epl.mesh @mesh0 axes ["data"=2] first 0 strides [2]
// CASE11: epl.mesh @mesh1 axes ["data"=2] first 1 strides [2]
// CASE11: @tg0 {{.*}} on @mesh0
// CASE11: @tg1 {{.*}} on @mesh1

// Devices 0 to 3, one each.
// CASE13: epl.mesh @mesh0 axes ["data"=1] first 0 strides [4]
// CASE13: epl.mesh @mesh1 axes ["data"=1] first 1 strides [4]
// CASE13: epl.mesh @mesh2 axes ["data"=1] first 2 strides [4]
// CASE13: epl.mesh @mesh3 axes ["data"=1] first 3 strides [4]

// CASE14: epl.mesh @mesh axes ["data"=2]{{$}}
// CASE14-NOT: epl.mesh

// CASE15: error: 2 task graphs over 3 devices on 4, expected a number of devices that the sum of their device counts divides, or cluster.colocate_split_and_replicate

// Devices 0, 1 and 4, 5; 2, 3 and 6, 7.
// CASE17: epl.mesh @mesh0 axes ["data"=2, "data2"=2] first 0 strides [4, 1]
// CASE17: epl.mesh @mesh1 axes ["data"=2, "data2"=2] first 2 strides [4, 1]

// Four replicas of both; two devices have one.
// CASE18: epl.mesh @mesh0 axes ["data"=4] first 0 strides [2]
// CASE18: epl.mesh @mesh1 axes ["data"=4] first 1 strides [2]
// CASE18-TWO: epl.mesh @mesh0 axes ["data"=1] first 0 strides [2]
// CASE18-TWO: epl.mesh @mesh1 axes ["data"=1] first 1 strides [2]

// One device has nothing to place, and runs what is meant for more.
// ONE: epl.mesh @mesh axes ["data"=1]{{$}}
// ONE: @tg0 {{.*}} on @mesh
// ONE: @tg1 {{.*}} on @mesh

//--- two.mlir
epl.taskgraph @tg0 strategy(<replicate, 1>)
epl.taskgraph @tg1 strategy(<replicate, 1>)

//--- four.mlir
epl.taskgraph @tg0 strategy(<replicate, 1>)
epl.taskgraph @tg1 strategy(<replicate, 1>)
epl.taskgraph @tg2 strategy(<replicate, 1>)
epl.taskgraph @tg3 strategy(<replicate, 1>)

//--- uneven.mlir
epl.taskgraph @tg0 strategy(<replicate, 1>)
epl.taskgraph @tg1 strategy(<replicate, 2>)

//--- pairs.mlir
epl.taskgraph @tg0 strategy(<replicate, 2>)
epl.taskgraph @tg1 strategy(<replicate, 2>)
