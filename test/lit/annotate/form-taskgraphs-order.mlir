// RUN: epl-opt %s --split-input-file --epl-form-taskgraphs | FileCheck %s

// Task graphs stand in the order in which data flows through their work, which is that of a pipeline's stages, not
// of their names.

// CHECK: epl.taskgraph @s2 strategy(<replicate, 1>)
// CHECK: epl.taskgraph @s10 strategy(<split, 2>)
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {epl.scopes = {s10 = #epl.scope<split, 2, "">, s2 = #epl.scope<replicate, 1, "">}} {
  %0 = math.sin %x {epl.work = #epl.work<@s2, forward>} : tensor<8xf32>
  %1 = math.cos %0 {epl.work = #epl.work<@s10, forward>} : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// Data flows from the generator into the discriminator, which begins earlier, with real samples. What the generator's
// backward work reads says nothing of the order.
// CHECK: epl.taskgraph @generator
// CHECK: epl.taskgraph @discriminator
// CHECK: func.func @gan
func.func @gan(%real: tensor<4xf32>, %noise: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    attributes {epl.scopes = {discriminator = #epl.scope<replicate, 1, "d">, generator = #epl.scope<replicate, 1, "g">}} {
  %0 = math.tanh %real {epl.work = #epl.work<@discriminator, forward>} : tensor<4xf32>
  %1 = math.sin %noise {epl.work = #epl.work<@generator, forward>} : tensor<4xf32>
  %2 = arith.addf %0, %1 {epl.work = #epl.work<@discriminator, forward>} : tensor<4xf32>
  %3 = math.cos %2 {epl.work = #epl.work<@generator, backward>} : tensor<4xf32>
  return %2, %3 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Each reads what the other makes: the one that begins comes first.
// CHECK: epl.taskgraph @b
// CHECK: epl.taskgraph @a
// CHECK: func.func @circle
func.func @circle(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {epl.scopes = {a = #epl.scope<replicate, 1, "a">, b = #epl.scope<replicate, 1, "b">}} {
  %0 = math.tanh %x {epl.work = #epl.work<@b, forward>} : tensor<4xf32>
  %1 = math.sin %0 {epl.work = #epl.work<@a, forward>} : tensor<4xf32>
  %2 = math.cos %1 {epl.work = #epl.work<@b, forward>} : tensor<4xf32>
  return %2 : tensor<4xf32>
}
