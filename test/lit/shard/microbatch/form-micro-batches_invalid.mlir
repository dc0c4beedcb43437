// RUN: epl-opt %s --split-input-file --epl-form-micro-batches=count=4 --verify-diagnostics

epl.mesh @mesh axes ["data"=3]
// expected-error@+1 {{10 samples of argument 0 are not divisible by 4 micro-batches of 3 replicas: drop what is over}}
func.func @main(%x: tensor<10xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<10xf32> {
  return %x : tensor<10xf32>
}

// -----

// expected-error@+1 {{4 micro-batches, but the step has no batch: nothing to cut}}
func.func @main(%x: tensor<8xf32> {epl.role = "state"}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<8xf32> {
  // expected-error@+1 {{in a step of 4 micro-batches, expected after "epl-unroll-loops" and before reshards}}
  %0 = epl.loop_carry <0, trip_count = 2> 0 %x {epl.work = #epl.work<@tg0, forward>} : tensor<8xf32> -> tensor<8xf32>
  %1 = epl.loop_last <0, trip_count = 2> 0 %0 {epl.work = #epl.work<@tg0, forward>} : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// The scores of all samples with all others take a product of every sample.

func.func @main(%x: tensor<8x4xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}, %w: tensor<4x4xf32> {epl.role = "constant"}) -> tensor<8x8xf32> {
  %zeros = arith.constant {epl.work = #epl.work<@tg0, forward>} dense<0.0> : tensor<8x4xf32>
  // expected-note@+1 {{the value takes this product of every sample}}
  %0 = linalg.generic {indexing_maps = [affine_map<(n, d, k) -> (n, k)>, affine_map<(n, d, k) -> (k, d)>, affine_map<(n, d, k) -> (n, d)>],
                       iterator_types = ["parallel", "parallel", "reduction"], epl.work = #epl.work<@tg0, forward>}
      ins(%x, %w : tensor<8x4xf32>, tensor<4x4xf32>) outs(%zeros : tensor<8x4xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %acc, %p : f32
    linalg.yield %r : f32
  } -> tensor<8x4xf32>
  %none = arith.constant {epl.work = #epl.work<@tg0, forward>} dense<0.0> : tensor<8x8xf32>
  // expected-error@+1 {{mixes samples across micro-batches: it reads a value of the whole batch}}
  %1 = linalg.generic {indexing_maps = [affine_map<(n, m, k) -> (n, k)>, affine_map<(n, m, k) -> (m, k)>, affine_map<(n, m, k) -> (n, m)>],
                       iterator_types = ["parallel", "parallel", "reduction"], epl.work = #epl.work<@tg0, forward>}
      ins(%0, %0 : tensor<8x4xf32>, tensor<8x4xf32>) outs(%none : tensor<8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %acc, %p : f32
    linalg.yield %r : f32
  } -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
