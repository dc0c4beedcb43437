// RUN: epl-opt %s --epl-split-meshes | FileCheck %s

// What another step wants on a mesh is made there, also what any mesh could make. Of a stack each mesh has its rows.
// CHECK-LABEL: @init.mesh0
// CHECK-SAME: -> (tensor<2xf32> {epl.caller_rows = array<i64: 0, 4>, epl.position = 0 : i64, epl.wanted
// CHECK-LABEL: @init.mesh1
// CHECK-SAME: -> (tensor<2xf32> {epl.caller_rows = array<i64: 2, 4>, epl.position = 0 : i64, epl.wanted
#work0 = #epl.work<@tg0, forward>
epl.mesh @mesh0 axes ["data"=1] first 0 strides [2]
epl.mesh @mesh1 axes ["data"=1] first 1 strides [2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh0 name("mesh0")
epl.taskgraph @tg1 strategy(<replicate, 1>) on @mesh1 name("mesh1")
func.func @init() -> (tensor<2xf32> {epl.caller_rows = array<i64: 0, 4>, epl.position = 0 : i64, epl.wanted = #epl.sharding<@mesh0, [{}]>},
                      tensor<2xf32> {epl.caller_rows = array<i64: 2, 4>, epl.position = 0 : i64, epl.wanted = #epl.sharding<@mesh1, [{}]>}) {
  %zero = arith.constant {epl.work = #work0} dense<0.0> : tensor<2xf32>
  return %zero, %zero : tensor<2xf32>, tensor<2xf32>
}
