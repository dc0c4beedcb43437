// RUN: epl-compile %s --devices=cpu:2 -o %t.eplan && epl-plan dump %t.eplan | FileCheck %s

// Commands are named after their kernel and the scopes and functions that they were written in. The step itself,
// EPL's own scopes, transformations and primitives are no part of it.

// CHECK: #0 "k0_matmul in encoder/Dense_0" contract
// CHECK: #1 "k0_matmul in attend" contract
// CHECK: #2 "k0_matmul in head/f/rotate/swap" contract
// CHECK: #3 "k0_matmul" contract
// CHECK: #4 "k0_matmul in a (b)/epl.source" contract

func.func @step(%x: tensor<4x4xf32> {epl.role = "batch", epl.batch_dim = 0 : i64},
                %w: tensor<4x4xf32> {epl.role = "constant"}) -> tensor<4x4xf32>
    attributes {epl.scopes = {s0 = #epl.scope<replicate, 1, "">}} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
      loc("jit(step)/jvp(encoder)/epl.s0/Dense_0/dot_general")
  %1 = linalg.matmul ins(%0, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
      loc(callsite("dot_general" at "jit(step)/jvp(epl.s0)/jit(attend)"))
  %2 = linalg.matmul ins(%1, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
      loc(callsite(callsite("vmap(swap)/dot_general" at "jit(rotate)") at "jit(step)/transpose(jvp(epl.s0/head))/jit(f)"))
  %3 = linalg.matmul ins(%2, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
      loc("jit(step)/epl.s0/dot_general")
  %4 = linalg.matmul ins(%3, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
      loc("jit(step)/epl.s0/a (b)/epl.source/dot_general")
  return %4 : tensor<4x4xf32>
}
