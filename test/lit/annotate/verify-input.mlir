// RUN: epl-opt %s --split-input-file --epl-verify-input | FileCheck %s

// Everything that a step may hold: every role, a state that is not updated, scalars as tensors, scopes, a mesh, a
// constraint, nested regions, batches of several lengths.

// CHECK: epl.mesh @mesh
epl.mesh @mesh axes ["data"=2]
// CHECK: func.func @step
func.func @step(
    %w: tensor<8x4xf32> {epl.role = "state", epl.name = "params['w']"},
    %frozen: tensor<4xbf16> {epl.role = "state"},
    %x: tensor<64x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64},
    %y: tensor<3x64xi32> {epl.role = "batch", epl.batch_dim = 1 : i64},
    %edges: tensor<96x2xi32> {epl.role = "batch", epl.batch_dim = 0 : i64},
    %rate: tensor<f32> {epl.role = "constant"},
    %table: tensor<4xi1> {epl.role = "constant", epl.hidden})
    -> (tensor<8x4xf32> {epl.updates = 0 : i64}, tensor<f32> {epl.name = "loss"}) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: epl.replicate
  %0 = epl.replicate name("encoder") -> tensor<64x4xf32> {
    %empty = tensor.empty() : tensor<64x4xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x4xf32>) -> tensor<64x4xf32>
    %1 = linalg.matmul ins(%x, %w : tensor<64x8xf32>, tensor<8x4xf32>) outs(%init : tensor<64x4xf32>) -> tensor<64x4xf32>
    epl.yield %1 : tensor<64x4xf32>
  }
  // CHECK: epl.split
  %2 = epl.split devices(2) -> tensor<64x4xf32> {
    %3 = epl.constrain %0 to <[{"data"}, {}]> : tensor<64x4xf32>
    %4 = epl.concatenate %3 dim 0 : (tensor<64x4xf32>) -> tensor<64x4xf32>
    %sorted = epl.sort %4 dim 1 : (tensor<64x4xf32>) -> tensor<64x4xf32> {
    ^bb0(%a: f32, %b: f32):
      %before = arith.cmpf olt, %a, %b : f32
      epl.yield %before : i1
    }
    %square = tensor.extract_slice %sorted[0, 0] [4, 4] [1, 1] : tensor<64x4xf32> to tensor<4x4xf32>
    %l = epl.factorize cholesky %square : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %solved = epl.triangular_solve %l, %sorted : tensor<4x4xf32>, tensor<64x4xf32>
    epl.yield %solved : tensor<64x4xf32>
  }
  %5 = scf.for %i = %c0 to %c1 step %c1 iter_args(%sum = %rate) -> tensor<f32> {
    %6 = arith.addf %sum, %sum : tensor<f32>
    scf.yield %6 : tensor<f32>
  }
  return %w, %5 : tensor<8x4xf32>, tensor<f32>
}

// -----

// Evaluation: no state, no scope, nothing to do.
// CHECK: func.func @identity
func.func @identity(%x: tensor<4xf64> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<4xf64> {
  return %x : tensor<4xf64>
}
