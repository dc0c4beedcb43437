// RUN: epl-opt %s --epl-annotate=devices=2 | FileCheck %s
// RUN: epl-opt %s --epl-strip --epl-annotate 2>&1 | FileCheck %s --check-prefix=REFERENCE

// The whole phase on a linear model with a sum for a loss. The callee that a front end left behind goes; equal ops
// of one work are merged, of two works not.

// CHECK: epl.mesh @mesh axes ["data"=2]
// CHECK: epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
// CHECK-NOT: @leftover
// REFERENCE: remark: no scope and no default strategy
// REFERENCE: epl.mesh @mesh axes ["data"=1]
func.func private @leftover(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// CHECK: func.func @main
// CHECK-NOT: linalg.matmul
// CHECK: math.tanh
// CHECK: arith.addf %in, %in
// CHECK: linalg.generic {{.*}}#epl.work<@tg0, backward>
// CHECK-NEXT: ^bb0
// CHECK-NEXT: math.tanh
// CHECK-NOT: math.tanh
// CHECK: linalg.generic {{.*}}#epl.work<@tg0, apply>
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.subf
func.func @main(
    %w: tensor<8x4xf32> {epl.role = "state"}, %x: tensor<64x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<8x4xf32> {epl.updates = 0 : i64}, tensor<64x4xf32>)
    attributes {epl.scopes = {s0 = #epl.scope<replicate, 1, "">}} {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<64x4xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<64x4xf32>) -> tensor<64x4xf32> loc("jit(step)/jvp(epl.s0)/dot_general")
  %2 = linalg.matmul ins(%x, %w : tensor<64x8xf32>, tensor<8x4xf32>) outs(%1 : tensor<64x4xf32>) -> tensor<64x4xf32> loc("jit(step)/jvp(epl.s0)/dot_general")
  %y = math.tanh %2 : tensor<64x4xf32> loc("jit(step)/jvp(epl.s0)/tanh")
  %twice = math.tanh %2 : tensor<64x4xf32> loc("jit(step)/jvp(epl.s0)/tanh")
  %z = arith.addf %y, %twice : tensor<64x4xf32> loc("jit(step)/jvp(epl.s0)/add")
  %again = math.tanh %2 : tensor<64x4xf32> loc("jit(step)/transpose(jvp(epl.s0))/tanh")
  %3 = tensor.empty() : tensor<8x4xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<8x4xf32>) -> tensor<8x4xf32> loc("jit(step)/transpose(jvp(epl.s0))/dot_general")
  %g = linalg.matmul
      indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
      ins(%x, %again : tensor<64x8xf32>, tensor<64x4xf32>) outs(%4 : tensor<8x4xf32>) -> tensor<8x4xf32> loc("jit(step)/transpose(jvp(epl.s0))/dot_general")
  %5 = arith.subf %w, %g : tensor<8x4xf32> loc("jit(step)/sub")
  return %5, %z : tensor<8x4xf32>, tensor<64x4xf32>
}
