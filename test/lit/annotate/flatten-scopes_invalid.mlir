// RUN: not epl-opt %s --split-input-file --epl-flatten-scopes 2>&1 | FileCheck %s

// Diagnostics of locations that are names only have no line, so they cannot be expected in place.

// CHECK: error: {{.*}}'math.tanh' op is in scope "s1" inside scope "s0": scopes do not nest
func.func @nested(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {epl.scopes = {s0 = #epl.scope<replicate, 1, "">, s1 = #epl.scope<replicate, 1, "">}} {
  %0 = math.tanh %x : tensor<4xf32> loc("jit(step)/jvp(epl.s0)/epl.s1/tanh")
  return %0 : tensor<4xf32>
}

// -----

// Behind a transpose as well, if nothing stands within it.
// CHECK: error: {{.*}}'math.tanh' op is in scope "s1" inside scope "s0": scopes do not nest
func.func @nested_backward(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {epl.scopes = {s0 = #epl.scope<replicate, 1, "">, s1 = #epl.scope<replicate, 1, "">}} {
  %0 = math.tanh %x : tensor<4xf32> loc("jit(step)/transpose(jvp(Dense_0))/epl.s0/epl.s1/tanh")
  return %0 : tensor<4xf32>
}

// -----

func.func @one_name(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = epl.replicate name("a") -> tensor<4xf32> {
    %1 = math.tanh %x : tensor<4xf32>
    epl.yield %1 : tensor<4xf32>
  }
  %2 = epl.split name("a") devices(2) -> tensor<4xf32> {
    // CHECK: :[[# @LINE + 1]]:10: error: scope "a" is 'split' on 2 device(s), expected 'replicate' on 1 device(s)
    %3 = math.tanh %0 : tensor<4xf32>
    // CHECK: :[[# @LINE - 6]]:10: note: the first scope of this name is here
    epl.yield %3 : tensor<4xf32>
  }
  return %2 : tensor<4xf32>
}

// -----

// CHECK: error: {{.*}}'epl.loop_carry' op has no "epl.loop_last" of index 0
func.func @loop(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = epl.loop_carry <0, trip_count = 3> 0 %x : tensor<4xf32> -> tensor<4xf32>
  %1 = math.sin %0 : tensor<4xf32>
  %2 = epl.loop_last <0, trip_count = 3> -1 %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
