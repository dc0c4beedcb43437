// RUN: epl-opt %s --split-input-file --epl-assign-meshes=devices=4 | FileCheck %s

// A step without a split takes the mesh on which its state arrives.
// CHECK: epl.mesh @mesh axes ["data"=2, "model"=2]
// CHECK-NOT: epl.mesh
// CHECK: @tg0 {{.*}} on @mesh
// CHECK: epl.arrives = #epl.sharding<@mesh, [{"model"}]>
epl.mesh @mesh axes ["data"=2, "model"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>)
func.func @main(%w: tensor<8xf32> {epl.arrives = #epl.sharding<@mesh, [{"model"} ]>}) { return }

// -----

// So does one that is split alike.
// CHECK: epl.mesh @mesh axes ["data"=2, "model"=2]
// CHECK-NOT: epl.mesh
// CHECK: epl.arrives
epl.mesh @mesh axes ["data"=2, "model"=2]
epl.taskgraph @tg0 strategy(<split, 2>)
func.func @main(%w: tensor<8xf32> {epl.arrives = #epl.sharding<@mesh, [{"model"} ]>}) { return }

// -----

// Split over more devices.
// CHECK-NOT: ["data"=2, "model"=2]
// CHECK: epl.mesh @mesh axes ["data"=1, "model"=4]
// CHECK-NOT: epl.arrives
epl.mesh @mesh axes ["data"=2, "model"=2]
epl.taskgraph @tg0 strategy(<split, 4>)
func.func @main(%w: tensor<8xf32> {epl.arrives = #epl.sharding<@mesh, [{"model"} ]>}) { return }

// -----

// Task graphs with devices of their own.
// CHECK: epl.mesh @mesh0 axes ["data"=2] first 0 strides [2]
// CHECK: epl.mesh @mesh1 axes ["data"=2] first 1 strides [2]
// CHECK-NOT: epl.arrives
epl.mesh @mesh axes ["data"=4]
epl.taskgraph @tg0 strategy(<replicate, 1>)
epl.taskgraph @tg1 strategy(<replicate, 1>)
func.func @main(%w: tensor<8xf32> {epl.arrives = #epl.sharding<@mesh, [{"data"} ]>}) { return }

// -----

// Other devices.
// CHECK: epl.mesh @mesh axes ["data"=4]
// CHECK-NOT: epl.arrives
epl.mesh @mesh axes ["data"=8]
epl.taskgraph @tg0 strategy(<replicate, 1>)
func.func @main(%w: tensor<8xf32> {epl.arrives = #epl.sharding<@mesh, [{"data"} ]>}) { return }
