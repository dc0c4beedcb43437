// RUN: epl-opt %s --epl-form-taskgraphs=colocate | FileCheck %s

// Several task graphs share their devices if they are told to; those without a name and of one strategy are one still.
// CHECK: epl.taskgraph @tg0 strategy(<replicate, 1>)
// CHECK-NEXT: epl.taskgraph @tg1 strategy(<split, 2>) name("head")
// CHECK-NOT: epl.taskgraph
// CHECK: func.func @main
// CHECK-NEXT: math.tanh {{.*}}#epl.work<@tg0, forward>
// CHECK-NEXT: math.sin {{.*}}#epl.work<@tg1, forward>
// CHECK-NEXT: math.cos {{.*}}#epl.work<@tg0, forward>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {epl.scopes = {tg0 = #epl.scope<replicate, 1, "">, tg1 = #epl.scope<split, 2, "head">,
                              tg2 = #epl.scope<replicate, 1, "">}} {
  %0 = math.tanh %x {epl.work = #epl.work<@tg0, forward>} : tensor<4xf32>
  %1 = math.sin %0 {epl.work = #epl.work<@tg1, forward>} : tensor<4xf32>
  %2 = math.cos %1 {epl.work = #epl.work<@tg2, forward>} : tensor<4xf32>
  return %2 : tensor<4xf32>
}
