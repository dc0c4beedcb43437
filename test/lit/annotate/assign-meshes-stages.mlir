// RUN: epl-opt %s --epl-assign-meshes="devices=6 num-stages=2" | FileCheck %s --check-prefix=TURN
// RUN: epl-opt %s --epl-assign-meshes="devices=6 num-stages=2 stage-meshes=0,1,1,0" | FileCheck %s --check-prefix=V
// RUN: not epl-opt %s --epl-assign-meshes="devices=6 num-stages=3" 2>&1 | FileCheck %s --check-prefix=MULTIPLE
// RUN: not epl-opt %s --epl-assign-meshes="devices=6 stage-meshes=0,1" 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not epl-opt %s --epl-assign-meshes="devices=6 stage-meshes=0,2,2,0" 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not epl-opt %s --epl-assign-meshes="devices=6 stage-meshes=0,1,4,0" 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not epl-opt %s --epl-assign-meshes="devices=6 stage-meshes=0,1,-1,0" 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not epl-opt %s --epl-assign-meshes="devices=6 num-stages=4 stage-meshes=0,1,1,0" 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: epl-opt %s --epl-assign-meshes="devices=6 stage-meshes=0,1,1,0" | FileCheck %s --check-prefix=V
// RUN: not epl-opt %s --epl-assign-meshes="devices=5 num-stages=2" 2>&1 | FileCheck %s --check-prefix=DEVICES

// Several stages of a pipeline on each mesh: in turn, or there and back. Each mesh has a device of each of three replicas.

// TURN: epl.mesh @mesh0 axes ["data"=3] first 0 strides [2]
// TURN: epl.mesh @mesh1 axes ["data"=3] first 1 strides [2]
// TURN: @tg0 {{.*}} on @mesh0
// TURN: @tg1 {{.*}} on @mesh1
// TURN: @tg2 {{.*}} on @mesh0
// TURN: @tg3 {{.*}} on @mesh1

// V: @tg0 {{.*}} on @mesh0
// V: @tg1 {{.*}} on @mesh1
// V: @tg2 {{.*}} on @mesh1
// V: @tg3 {{.*}} on @mesh0

// MULTIPLE: 4 scopes on 3 meshes (pipeline.num_stages), expected a multiple
// COUNT: 4 scopes, but the schedule has 2 stages, expected one for each
// EMPTY: 4 scopes on 3 meshes, but none is on mesh 1
// RANGE: 4 scopes, but one is on mesh 4
// NEGATIVE: 4 scopes, but one is on mesh -1
// BOTH: 4 scopes on 4 meshes (pipeline.num_stages), but the schedule has 2, expected as many, or none said beside a table
// DEVICES: 2 task graphs over 2 devices on 5, expected a number of devices that the sum of their device counts divides
epl.taskgraph @tg0 strategy(<replicate, 1>) name("a")
epl.taskgraph @tg1 strategy(<replicate, 1>) name("b")
epl.taskgraph @tg2 strategy(<replicate, 1>) name("c")
epl.taskgraph @tg3 strategy(<replicate, 1>) name("d")
