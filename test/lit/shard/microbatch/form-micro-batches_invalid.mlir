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
  // expected-error@+1 {{in a step of 4 micro-batches, expected before reshards and other loops over micro-batches}}
  %0 = epl.loop_carry <0, trip_count = 2, micro_batches = true> 0 %x {epl.work = #epl.work<@tg0, forward>} : tensor<8xf32> -> tensor<8xf32>
  %1 = epl.loop_last <0, trip_count = 2, micro_batches = true> 0 %0 {epl.work = #epl.work<@tg0, forward>} : tensor<8xf32>
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
  // expected-error@+1 {{it reads a value of the whole batch, which takes contraction form-micro-batches_invalid.mlir:32 of every sample; expected one micro-batch ("pipeline.num_micro_batch"): where samples are compared with one another `epl.per_micro_batch()` is of no help, as it is for statistics}}
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

// -----

// Of a statistic in each micro-batch whole numbers have no mean.

func.func @main(%x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<i32> {
  %zero = arith.constant {epl.work = #epl.work<@tg0, forward>} dense<0.0> : tensor<f32>
  %sum = linalg.generic {indexing_maps = [affine_map<(n) -> (n)>, affine_map<(n) -> ()>], iterator_types = ["reduction"],
                         epl.work = #epl.work<@tg0, forward>, epl.per_micro_batch}
      ins(%x : tensor<8xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %r = arith.addf %acc, %a : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  // expected-error@+1 {{is a value of each micro-batch, of 'i32', that is read of the whole step}}
  %0 = arith.fptosi %sum {epl.work = #epl.work<@tg0, forward>, epl.per_micro_batch} : tensor<f32> to tensor<i32>
  return %0 : tensor<i32>
}

// -----

// What is made of statistics is the same for all samples.

func.func @main(%x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}, %w: tensor<8xf32> {epl.role = "state"}) -> tensor<8xf32> {
  %zero = arith.constant {epl.work = #epl.work<@tg0, forward>} dense<0.0> : tensor<f32>
  %sum = linalg.generic {indexing_maps = [affine_map<(n) -> (n)>, affine_map<(n) -> ()>], iterator_types = ["reduction"],
                         epl.work = #epl.work<@tg0, forward>, epl.per_micro_batch}
      ins(%x : tensor<8xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %r = arith.addf %acc, %a : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %empty = tensor.empty() {epl.work = #epl.work<@tg0, forward>} : tensor<8xf32>
  // expected-error@+1 {{mixes samples across micro-batches: it reads of each sample what each micro-batch makes of statistics; expected what is the same for all samples, or one micro-batch}}
  %scaled = linalg.generic {indexing_maps = [affine_map<(n) -> (n)>, affine_map<(n) -> ()>, affine_map<(n) -> (n)>], iterator_types = ["parallel"],
                            epl.work = #epl.work<@tg0, forward>, epl.per_micro_batch}
      ins(%w, %sum : tensor<8xf32>, tensor<f32>) outs(%empty : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(n) -> (n)>, affine_map<(n) -> (n)>, affine_map<(n) -> (n)>], iterator_types = ["parallel"],
                       epl.work = #epl.work<@tg0, forward>}
      ins(%x, %scaled : tensor<8xf32>, tensor<8xf32>) outs(%empty : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(n) -> (n)>, affine_map<(n) -> (7 - n)>, affine_map<(n) -> (n)>], iterator_types = ["parallel"],
                       epl.work = #epl.work<@tg0, forward>}
      ins(%1, %scaled : tensor<8xf32>, tensor<8xf32>) outs(%empty : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %r = arith.addf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %2 : tensor<8xf32>
}
