// RUN: epl-opt %s --epl-form-taskgraphs | FileCheck %s

// Task graphs stand in the order in which their work begins, which is that of a pipeline's stages, not of their names.

// CHECK: epl.taskgraph @s2 strategy(<replicate, 1>)
// CHECK: epl.taskgraph @s10 strategy(<split, 2>)
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {epl.scopes = {s10 = #epl.scope<split, 2, "">, s2 = #epl.scope<replicate, 1, "">}} {
  %0 = math.sin %x {epl.work = #epl.work<@s2, forward>} : tensor<8xf32>
  %1 = math.cos %0 {epl.work = #epl.work<@s10, forward>} : tensor<8xf32>
  return %1 : tensor<8xf32>
}
