// RUN: split-file %s %t
// RUN: epl-opt %t/case-20.mlir --epl-flatten-scopes | FileCheck %s --check-prefix=CASE20
// RUN: epl-opt %t/case-21.mlir --epl-flatten-scopes | FileCheck %s --check-prefix=CASE21
// RUN: epl-opt %t/case-22.mlir --epl-flatten-scopes | FileCheck %s --check-prefix=CASE22
// RUN: epl-opt %t/case-22-default.mlir --epl-flatten-scopes | FileCheck %s --check-prefix=CASE22-DEFAULT
// RUN: epl-opt %t/case-24.mlir --epl-flatten-scopes | FileCheck %s --check-prefix=CASE24
// RUN: epl-opt %t/case-61.mlir --epl-flatten-scopes | FileCheck %s --check-prefix=CASE61

// EPL's own tests of strategies and task graphs, by the numbers that they have in reference/epl.md, section 7. Those of
// nesting, counts and defaults in Python are in test_epl_cases.py.

//--- case-20.mlir
// Two scopes one after another are task graphs 0 and 1.
// CASE20: epl.scopes = {tg0 = #epl.scope<replicate, 1, "">, tg1 = #epl.scope<replicate, 1, "">}
// CASE20: math.sin {{.*}}<@tg0, forward>
// CASE20: math.cos {{.*}}<@tg1, forward>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = epl.replicate -> tensor<4xf32> {
    %1 = math.sin %x : tensor<4xf32>
    epl.yield %1 : tensor<4xf32>
  }
  %2 = epl.replicate -> tensor<4xf32> {
    %3 = math.cos %0 : tensor<4xf32>
    epl.yield %3 : tensor<4xf32>
  }
  return %2 : tensor<4xf32>
}

//--- case-21.mlir
// A scope without ops opens no task graph beside the default's.
// CASE21: epl.scopes = {tg0 = #epl.scope<replicate, 2, "">}
// CASE21: math.sin {{.*}}<@tg0, forward>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {epl.default_strategy = #epl.strategy<replicate, 2>} {
  %0 = math.sin %x : tensor<4xf32>
  epl.replicate {
  }
  return %0 : tensor<4xf32>
}

//--- case-22.mlir
// What stands behind two stages and under no default belongs to the last one whose values it reads.
// CASE22: epl.scopes = {tg0 = #epl.scope<replicate, 1, "">, tg1 = #epl.scope<replicate, 1, "">}
// CASE22: math.sin {{.*}}<@tg0, forward>
// CASE22: math.cos {{.*}}<@tg1, forward>
// CASE22: math.exp {{.*}}<@tg1, forward>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = epl.replicate -> tensor<4xf32> {
    %1 = math.sin %x : tensor<4xf32>
    epl.yield %1 : tensor<4xf32>
  }
  %b = epl.replicate -> tensor<4xf32> {
    %3 = math.cos %a : tensor<4xf32>
    epl.yield %3 : tensor<4xf32>
  }
  %c = math.exp %b : tensor<4xf32>
  return %c : tensor<4xf32>
}

//--- case-22-default.mlir
// The same under a default: it has a task graph of its own, behind the two; scopes take none of it.
// CASE22-DEFAULT: epl.scopes = {tg0 = #epl.scope<replicate, 1, "">, tg1 = #epl.scope<split, 2, "">, tg2 = #epl.scope<replicate, 1, "">}
// CASE22-DEFAULT: math.sin {{.*}}<@tg0, forward>
// CASE22-DEFAULT: math.cos {{.*}}<@tg1, forward>
// CASE22-DEFAULT: math.exp {{.*}}<@tg2, forward>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {epl.default_strategy = #epl.strategy<replicate, 1>} {
  %a = epl.replicate -> tensor<4xf32> {
    %1 = math.sin %x : tensor<4xf32>
    epl.yield %1 : tensor<4xf32>
  }
  %b = epl.split devices(2) -> tensor<4xf32> {
    %3 = math.cos %a : tensor<4xf32>
    epl.yield %3 : tensor<4xf32>
  }
  %c = math.exp %b : tensor<4xf32>
  return %c : tensor<4xf32>
}

//--- case-24.mlir
// What stands before the first scope belongs to it: a counter of steps to task graph 0.
// CASE24: epl.scopes = {tg0 = #epl.scope<replicate, 1, "">}
// CASE24: math.ceil {{.*}}<@tg0, forward>
// CASE24: math.sin {{.*}}<@tg0, forward>
func.func @main(%step: tensor<f32>, %x: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>) {
  %0 = math.ceil %step : tensor<f32>
  %1 = epl.replicate -> tensor<4xf32> {
    %2 = math.sin %x : tensor<4xf32>
    epl.yield %2 : tensor<4xf32>
  }
  return %0, %1 : tensor<f32>, tensor<4xf32>
}

//--- case-61.mlir
// A layer of experts in a split under a default, entered twice: three task graphs, since entries without a name are two.
// Gradients are where the values are that they are gradients of.
// CASE61: epl.scopes = {tg0 = #epl.scope<replicate, 1, "">, tg1 = #epl.scope<split, 2, "">, tg2 = #epl.scope<split, 2, "">}
// CASE61: math.sin {{.*}}<@tg0, forward>
// CASE61: math.cos {{.*}}<@tg1, forward>
// CASE61: math.tan {{.*}}<@tg2, forward>
// CASE61: math.exp {{.*}}<@tg2, backward>
func.func @main(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32>
    attributes {epl.default_strategy = #epl.strategy<replicate, 1>,
                epl.scopes = {s0 = #epl.scope<split, 2, "">, s1 = #epl.scope<split, 2, "">}} {
  %0 = math.sin %x : tensor<4xf32>
  %1 = math.cos %w : tensor<4xf32> loc("jvp(epl.s0)/cos")
  %2 = arith.addf %0, %1 : tensor<4xf32> loc("jvp(epl.s1)/add")
  %3 = math.tan %2 : tensor<4xf32> loc("jvp(epl.s1)/tan")
  %4 = math.exp %3 : tensor<4xf32> loc("transpose(jvp(epl.s1))/exp")
  return %4 : tensor<4xf32>
}
