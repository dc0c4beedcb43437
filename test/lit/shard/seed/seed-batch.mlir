// RUN: epl-opt %s -split-input-file -epl-seed-batch | FileCheck %s

epl.mesh @mesh axes ["data"=2]

// CHECK-LABEL: func.func @roles
// CHECK-SAME: %[[W:[a-z0-9]*]]: tensor<3x4xf32> {epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{}, {}]>}
// CHECK-SAME: epl.role = "batch", epl.sharding = #epl.sharding<@mesh, [{"data"}, {}]>}
// CHECK-SAME: epl.role = "batch", epl.sharding = #epl.sharding<@mesh, [{}, {"data"}]>}
// CHECK-SAME: tensor<f32> {epl.role = "constant", epl.sharding = #epl.sharding<@mesh, []>}
func.func @roles(%w: tensor<3x4xf32> {epl.role = "state"},
                 %x: tensor<8x3xf32> {epl.role = "batch", epl.batch_dim = 0 : i64},
                 %y: tensor<3x8xf32> {epl.role = "batch", epl.batch_dim = 1 : i64},
                 %c: tensor<f32> {epl.role = "constant"}) {
  return
}

// Batches may differ in length.
// CHECK-LABEL: func.func @lengths
// CHECK-SAME: tensor<8xf32> {epl.batch_dim = 0 : i64, epl.role = "batch", epl.sharding = #epl.sharding<@mesh, [{"data"}]>}
// CHECK-SAME: tensor<32xi32> {epl.batch_dim = 0 : i64, epl.role = "batch", epl.sharding = #epl.sharding<@mesh, [{"data"}]>}
func.func @lengths(%nodes: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64},
                   %edges: tensor<32xi32> {epl.role = "batch", epl.batch_dim = 0 : i64}) {
  return
}

// An argument keeps the sharding that it has.
// CHECK-LABEL: func.func @declared
// CHECK-SAME: epl.sharding = #epl.sharding<@mesh, [{}, {"data"}]>
func.func @declared(%w: tensor<3x4xf32> {epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{}, {"data"}]>}) {
  return
}

// Functions without a body have nothing to seed.
// CHECK: func.func private @declaration(tensor<7xf32> {epl.batch_dim = 0 : i64, epl.role = "batch"})
func.func private @declaration(%x: tensor<7xf32> {epl.role = "batch", epl.batch_dim = 0 : i64})

// -----

// An axis of one device shards nothing.
epl.mesh @mesh axes ["data"=1]

// CHECK-LABEL: func.func @one
// CHECK-SAME: epl.sharding = #epl.sharding<@mesh, [{}]>
func.func @one(%x: tensor<7xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) {
  return
}

// -----

// Axes that it does not know stay out of it.
epl.mesh @grid axes ["model"=4, "data"=2]

// CHECK-LABEL: func.func @two_axes
// CHECK-SAME: epl.sharding = #epl.sharding<@grid, [{"data"}]>
func.func @two_axes(%x: tensor<2xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) {
  return
}

// -----

// Where task graphs use an axis differently, a batch is sharded over those that all of its readers shard it over;
// what is read by none is sharded over "data".
epl.mesh @mesh axes ["data"=2, "model"=2]
epl.taskgraph @body strategy(<replicate, 1>) on @mesh
epl.taskgraph @head strategy(<split, 2>) on @mesh

// CHECK-LABEL: func.func @colocated
// CHECK-SAME: "samples", epl.role = "batch", epl.sharding = #epl.sharding<@mesh, [{}, {"data", "model"}]>
// CHECK-SAME: "labels", epl.role = "batch", epl.sharding = #epl.sharding<@mesh, [{"data"}]>
// CHECK-SAME: "both", epl.role = "batch", epl.sharding = #epl.sharding<@mesh, [{"data"}]>
// CHECK-SAME: "unread", epl.role = "batch", epl.sharding = #epl.sharding<@mesh, [{"data"}]>
func.func @colocated(%x: tensor<3x8xf32> {epl.role = "batch", epl.batch_dim = 1 : i64, epl.name = "samples"},
                     %y: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "labels"},
                     %z: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "both"},
                     %u: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "unread"})
    -> (tensor<3x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = math.sin %x {epl.work = #epl.work<@body, forward>} : tensor<3x8xf32>
  %1 = math.sin %y {epl.work = #epl.work<@head, forward>} : tensor<8xf32>
  %2 = math.sin %z {epl.work = #epl.work<@body, forward>} : tensor<8xf32>
  %3 = math.sin %z {epl.work = #epl.work<@head, forward>} : tensor<8xf32>
  return %0, %1, %2, %3 : tensor<3x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
