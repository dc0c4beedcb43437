// RUN: epl-opt %s --split-input-file --epl-seed-layouts | FileCheck %s

// What an earlier step has split stays split, and the batch is sharded as it is.
// CHECK-LABEL: @kept
// CHECK-SAME: %arg0: tensor<8x4xf32> {epl.role = "constant", epl.sharding = #epl.sharding<@mesh, [{}, {"model"}]>}
// CHECK-SAME: %arg1: tensor<8x8xf32> {epl.batch_dim = 0 : i64, epl.role = "batch", epl.sharding = #epl.sharding<@mesh, [{"data"}, {}]>}
epl.mesh @mesh axes ["data"=2, "model"=2]
func.func @kept(%w: tensor<8x4xf32> {epl.role = "constant", epl.arrives = #epl.sharding<@mesh, [{}, {"model"} ]>, epl.sharding = #epl.sharding<@mesh, [{}, {} ]>},
                %x: tensor<8x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.sharding = #epl.sharding<@mesh, [{"data"}, {} ]>}) {
  return
}

// -----

// One that had segments there and has none here, and one that has others.
// CHECK-LABEL: @other
// CHECK-SAME: %arg0: tensor<8x4xf32> {epl.role = "constant", epl.sharding = #epl.sharding<@mesh, [{}, {}]>}
// CHECK-SAME: %arg1: tensor<8x3x1xf32> {epl.role = "constant", epl.sharding = #epl.sharding<@mesh, [{}, {}, {}]>}
epl.mesh @mesh axes ["data"=1, "model"=2]
func.func @other(%w: tensor<8x4xf32> {epl.role = "constant", epl.arrives = #epl.sharding<@mesh, [{}, {}, {"model"} ]>, epl.sharding = #epl.sharding<@mesh, [{}, {} ]>},
                 %v: tensor<8x3x1xf32> {epl.role = "constant", epl.arrives = #epl.sharding<@mesh, [{}, {"model"}, {} ]>, epl.sharding = #epl.sharding<@mesh, [{}, {}, {} ]>}) {
  return
}
