// RUN: epl-opt %s --split-input-file --verify-diagnostics --epl-apply-defaults | FileCheck %s

// A step that nobody annotated.
// CHECK: func.func @bare{{.*}} attributes {epl.default_strategy = #epl.strategy<replicate, 1>}
// expected-remark@+1 {{no scope and no default strategy: the step is one 'replicate' over all devices}}
func.func @bare(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.tanh %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A default that the user set stays.
// CHECK: func.func @default{{.*}} attributes {epl.default_strategy = #epl.strategy<split, 2>}
func.func @default(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {epl.default_strategy = #epl.strategy<split, 2>} {
  %0 = math.tanh %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK: func.func @region
// CHECK-NOT: epl.default_strategy
func.func @region(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = epl.replicate -> tensor<4xf32> {
    %1 = math.tanh %x : tensor<4xf32>
    epl.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

// CHECK: func.func @location
// CHECK-NOT: epl.default_strategy
func.func @location(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {epl.scopes = {s0 = #epl.scope<replicate, 1, "">}} {
  %0 = math.tanh %x : tensor<4xf32> loc("jit(step)/jvp(epl.s0)/tanh")
  return %0 : tensor<4xf32>
}

// -----

// A scope in the table that no op is in, and a name that is no scope, do not count.
// CHECK: func.func @unused{{.*}} attributes {epl.default_strategy = #epl.strategy<replicate, 1>
// expected-remark@+1 {{no scope and no default strategy}}
func.func @unused(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {epl.scopes = {s0 = #epl.scope<replicate, 1, "">}} {
  %0 = math.tanh %x : tensor<4xf32> loc("jit(step)/jvp(epl.s1)/tanh")
  return %0 : tensor<4xf32>
}
