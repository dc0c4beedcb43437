// RUN: epl-opt %s --split-input-file --epl-form-taskgraphs | FileCheck %s

// CHECK: epl.taskgraph @tg0 strategy(<replicate, 1>) name("encoder")
// CHECK: func.func @named
// CHECK-NOT: epl.scopes
func.func @named(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {epl.scopes = {tg0 = #epl.scope<replicate, 1, "encoder">}} {
  %0 = math.tanh %x {epl.work = #epl.work<@tg0, forward>} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK: epl.taskgraph @tg0 strategy(<replicate, 1>)
// CHECK-NOT: name
// CHECK: func.func @unnamed
func.func @unnamed() attributes {epl.scopes = {tg0 = #epl.scope<replicate, 1, "">}} {
  return
}
