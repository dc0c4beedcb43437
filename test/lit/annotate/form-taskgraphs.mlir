// RUN: epl-opt %s --split-input-file --epl-form-taskgraphs=devices=2 | FileCheck %s

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

// -----

// Scopes without a name and of one strategy are one.
// CHECK: epl.taskgraph @tg0 strategy(<replicate, 1>)
// CHECK-NOT: epl.taskgraph
// CHECK: func.func @merged
// CHECK-NEXT: math.tanh {{.*}}#epl.work<@tg0, forward>
// CHECK-NEXT: math.sin {{.*}}#epl.work<@tg0, backward>
// CHECK-NEXT: math.cos {{.*}}#epl.work<@tg0, apply>
func.func @merged(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {epl.scopes = {tg0 = #epl.scope<replicate, 1, "">, tg1 = #epl.scope<replicate, 1, "">,
                              tg2 = #epl.scope<replicate, 1, "">}} {
  %0 = math.tanh %x {epl.work = #epl.work<@tg0, forward>} : tensor<4xf32>
  %1 = math.sin %0 {epl.work = #epl.work<@tg2, backward>} : tensor<4xf32>
  %2 = math.cos %1 {epl.work = #epl.work<@tg1, apply>} : tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// CHECK: epl.taskgraph @tg0 strategy(<split, 2>)
// CHECK: func.func @split
func.func @split(%x: tensor<4xf32>) -> tensor<4xf32> attributes {epl.scopes = {tg0 = #epl.scope<split, 2, "">}} {
  %0 = math.tanh %x {epl.work = #epl.work<@tg0, forward>} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK: epl.taskgraph @tg0 strategy(<split, 2>)
// CHECK-NOT: epl.taskgraph
// CHECK: func.func @merged_split
func.func @merged_split(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {epl.scopes = {tg0 = #epl.scope<split, 2, "">, tg1 = #epl.scope<split, 2, "">}} {
  %0 = math.tanh %x {epl.work = #epl.work<@tg0, forward>} : tensor<4xf32>
  // CHECK: math.sin {{.*}}#epl.work<@tg0, forward>
  %1 = math.sin %0 {epl.work = #epl.work<@tg1, forward>} : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// Unnamed scopes that are merged bring what they say of parameters.
// CHECK: epl.taskgraph @tg0 strategy(<split, 2>) dims([#epl.dim_constraint<"w0" = 1>, #epl.dim_constraint<"w1" whole>])
// CHECK-NOT: epl.taskgraph
func.func @constraints(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {epl.scopes = {tg0 = #epl.scope<split, 2, "", dims = [<"w0" = 1>]>, tg1 = #epl.scope<split, 2, "">,
                              tg2 = #epl.scope<split, 2, "", dims = [<"w1" whole>, <"w0" = 1>]>}} {
  %0 = math.tanh %x {epl.work = #epl.work<@tg0, forward>} : tensor<4xf32>
  %1 = math.sin %0 {epl.work = #epl.work<@tg1, forward>} : tensor<4xf32>
  %2 = math.cos %1 {epl.work = #epl.work<@tg2, forward>} : tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// One of them has a name: four devices for two, or three, task graphs.
// CHECK: epl.taskgraph @tg0 strategy(<replicate, 1>)
// CHECK-NEXT: epl.taskgraph @tg2 strategy(<replicate, 1>) name("head")
// CHECK: func.func @named_and_unnamed
// CHECK: math.sin {{.*}}#epl.work<@tg0, forward>
func.func @named_and_unnamed(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {epl.scopes = {tg0 = #epl.scope<replicate, 1, "">, tg1 = #epl.scope<replicate, 1, "">,
                              tg2 = #epl.scope<replicate, 1, "head">}} {
  %0 = math.tanh %x {epl.work = #epl.work<@tg0, forward>} : tensor<4xf32>
  %1 = math.sin %0 {epl.work = #epl.work<@tg1, forward>} : tensor<4xf32>
  %2 = math.cos %1 {epl.work = #epl.work<@tg2, forward>} : tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// Two devices for two: each has its own, with a name or without.
// CHECK: epl.taskgraph @tg0 strategy(<replicate, 1>)
// CHECK-NEXT: epl.taskgraph @tg1 strategy(<replicate, 1>)
// CHECK: func.func @apart
func.func @apart(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {epl.scopes = {tg0 = #epl.scope<replicate, 1, "">, tg1 = #epl.scope<replicate, 1, "">}} {
  %0 = math.tanh %x {epl.work = #epl.work<@tg0, forward>} : tensor<4xf32>
  %1 = math.sin %0 {epl.work = #epl.work<@tg1, forward>} : tensor<4xf32>
  return %1 : tensor<4xf32>
}
