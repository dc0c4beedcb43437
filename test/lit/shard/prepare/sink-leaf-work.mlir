// RUN: epl-opt %s -epl-sink-leaf-work | FileCheck %s

#fwd = #epl.work<@tg0, forward>
#bwd = #epl.work<@tg0, backward>
#apply = #epl.work<@tg0, apply>

epl.taskgraph @tg0 strategy(<replicate, 1>)

// A chain that the optimizer alone reads sinks as a whole, constants included; what depends on the batch stays.
// CHECK-LABEL: func.func @chain
// CHECK: arith.constant {epl.work = #epl.work<@tg0, apply>}
// CHECK: arith.mulf {{.*}} {epl.work = #epl.work<@tg0, apply>}
// CHECK: math.sqrt {{.*}} {epl.work = #epl.work<@tg0, apply>}
// CHECK: math.exp {{.*}} {epl.work = #epl.work<@tg0, backward>}
// CHECK: arith.addf
func.func @chain(%mu: tensor<8xf32> {epl.role = "state"}, %x: tensor<8xf32> {epl.role = "batch"}) -> tensor<8xf32> {
  %c = arith.constant {epl.work = #fwd} dense<0.5> : tensor<8xf32>
  %0 = arith.mulf %mu, %c {epl.work = #fwd} : tensor<8xf32>
  %1 = math.sqrt %0 {epl.work = #fwd} : tensor<8xf32>
  %2 = math.exp %x {epl.work = #bwd} : tensor<8xf32>
  %3 = arith.addf %1, %2 {epl.work = #apply} : tensor<8xf32>
  %4 = arith.mulf %3, %2 {epl.work = #apply} : tensor<8xf32>
  return %4 : tensor<8xf32>
}

// What both forward and apply read stays, and so does what is returned, and what that reads.
// CHECK-LABEL: func.func @stays
// CHECK: math.sqrt {{.*}} {epl.work = #epl.work<@tg0, forward>}
// CHECK: math.exp {{.*}} {epl.work = #epl.work<@tg0, forward>}
// CHECK: math.absf {{.*}} {epl.work = #epl.work<@tg0, forward>}
// CHECK: math.log {{.*}} {epl.work = #epl.work<@tg0, apply>}
func.func @stays(%w: tensor<8xf32> {epl.role = "state"}) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = math.sqrt %w {epl.work = #fwd} : tensor<8xf32>
  %1 = math.exp %0 {epl.work = #fwd} : tensor<8xf32>
  %2 = math.absf %1 {epl.work = #fwd} : tensor<8xf32>
  %3 = math.log %0 {epl.work = #apply} : tensor<8xf32>
  return %2, %3 : tensor<8xf32>, tensor<8xf32>
}

// A use inside a body counts as a use by the op that has the body.
// CHECK-LABEL: func.func @captured
// CHECK: math.sqrt {{.*}} {epl.work = #epl.work<@tg0, apply>}
func.func @captured(%w: tensor<8xf32> {epl.role = "constant"}) -> tensor<8xf32> {
  %0 = math.sqrt %w {epl.work = #fwd} : tensor<8xf32>
  %1 = tensor.generate {
  ^bb0(%j: index):
    %v = tensor.extract %0[%j] : tensor<8xf32>
    tensor.yield %v : f32
  } {epl.work = #apply} : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// What is computed again stays that: its place in the program says when it is.
// CHECK-LABEL: func.func @recomputed
// CHECK: math.sqrt {{.*}} {epl.work = #epl.work<@tg0, recompute>}
func.func @recomputed(%w: tensor<8xf32> {epl.role = "state"}, %x: tensor<8xf32> {epl.role = "batch"}) -> tensor<8xf32> {
  %0 = math.sqrt %w {epl.work = #epl.work<@tg0, recompute>} : tensor<8xf32>
  %1 = arith.addf %0, %x {epl.work = #bwd} : tensor<8xf32>
  return %1 : tensor<8xf32>
}
