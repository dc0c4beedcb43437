// RUN: epl-opt %s --split-input-file --epl-form-micro-batches=count=4 | FileCheck %s

// A step in four micro-batches: what reads samples stands in the loop, with its part of the batch; the sum over
// samples is carried and read after the loop, by what is done once. The weight's cast is done once before.

#fwd = #epl.work<@tg0, forward>
#apply = #epl.work<@tg0, apply>
epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// CHECK-LABEL: func.func public @accumulates
// CHECK-SAME: %arg1: tensor<4x2x3xf32> {epl.batch_dim = 1 : i64, epl.caller_shape = array<i64: 8, 3>, epl.role = "batch"}
// CHECK: %[[W:.*]] = math.sin %arg0
// CHECK: arith.constant
// CHECK: %[[Z:.*]] = arith.constant {{.*}}dense<0.000000e+00> : tensor<3xf32>
// CHECK: %[[X:.*]] = epl.loop_slice <0, trip_count = 4, micro_batches = true> %arg1 {epl.work = #epl.work<@tg0, forward>} : tensor<4x2x3xf32> -> tensor<2x3xf32>
// CHECK: %[[G:.*]] = linalg.generic {{.*}}"reduction", "parallel"{{.*}} ins(%[[X]], %[[W]] : tensor<2x3xf32>, tensor<3xf32>)
// CHECK: %[[C:.*]] = epl.loop_carry <0, trip_count = 4, micro_batches = true> 0 %[[Z]]
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%[[C]], %[[G]] : tensor<3xf32>, tensor<3xf32>)
// CHECK: arith.addf
// CHECK: %[[L:.*]] = epl.loop_last <0, trip_count = 4, micro_batches = true> 0 %[[S]]
// CHECK: %[[N:.*]] = arith.subf %arg0, %[[L]] {epl.work = #epl.work<@tg0, apply>}
// CHECK: return %[[N]] : tensor<3xf32>
func.func public @accumulates(%w: tensor<3xf32> {epl.role = "state"},
                       %x: tensor<8x3xf32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<3xf32> {epl.updates = 0 : i64}) {
  %cast = math.sin %w {epl.work = #fwd} : tensor<3xf32>
  %zero = arith.constant {epl.work = #fwd} dense<0.0> : tensor<3xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(n, d) -> (n, d)>, affine_map<(n, d) -> (d)>, affine_map<(n, d) -> (d)>],
                         iterator_types = ["reduction", "parallel"], epl.work = #fwd}
      ins(%x, %cast : tensor<8x3xf32>, tensor<3xf32>) outs(%zero : tensor<3xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %acc, %p : f32
    linalg.yield %r : f32
  } -> tensor<3xf32>
  %next = arith.subf %w, %sum {epl.work = #apply} : tensor<3xf32>
  return %next : tensor<3xf32>
}

// -----

// A result with samples is stacked, in the caller's shape. Positions along samples count from the iteration's first
// one; samples along another dimension than 0 are moved there.

#fwd = #epl.work<@tg0, forward>
epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// CHECK-LABEL: func.func public @stacks
// CHECK-SAME: %arg0: tensor<3x4x2xf32> {epl.batch_dim = 2 : i64, epl.caller_shape = array<i64: 3, 8>, epl.role = "batch"}
// CHECK-SAME: -> (tensor<3x4x2xf32> {epl.caller_shape = array<i64: 3, 8>})
// CHECK: %[[NUMBERS:.*]] = arith.constant {{.*}}dense<[0, 1, 2, 3]> : tensor<4xi64>
// CHECK: epl.loop_slice <0, trip_count = 4, micro_batches = true> %[[NUMBERS]] {{.*}} : tensor<4xi64> -> tensor<i64>
// CHECK: linalg.index 1
// CHECK: %[[STACK:.*]] = epl.loop_stack <0, trip_count = 4, micro_batches = true> %{{.*}} : tensor<3x2xf32> -> tensor<4x3x2xf32>
// CHECK: %[[MOVED:.*]] = linalg.generic {{.*}} ins(%[[STACK]] : tensor<4x3x2xf32>) outs(%{{.*}} : tensor<3x4x2xf32>)
// CHECK: return %[[MOVED]]
func.func public @stacks(%x: tensor<3x8xf32> {epl.role = "batch", epl.batch_dim = 1 : i64}) -> tensor<3x8xf32> {
  %0 = tensor.empty() {epl.work = #fwd} : tensor<3x8xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d, n) -> (d, n)>, affine_map<(d, n) -> (d, n)>],
                       iterator_types = ["parallel", "parallel"], epl.work = #fwd}
      ins(%x : tensor<3x8xf32>) outs(%0 : tensor<3x8xf32>) {
  ^bb0(%a: f32, %out: f32):
    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i64
    %k = arith.sitofp %j : i64 to f32
    %r = arith.addf %a, %k : f32
    linalg.yield %r : f32
  } -> tensor<3x8xf32>
  return %1 : tensor<3x8xf32>
}

// -----

// The count of a masked mean, which every sample reads, is made in a loop before; bf16 sums are carried in f32 and
// rounded once.

#fwd = #epl.work<@tg0, forward>
epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// CHECK-LABEL: func.func public @masked
// CHECK: epl.loop_carry <0, trip_count = 4, micro_batches = true> 0 %{{.*}} : tensor<f32> -> tensor<f32>
// CHECK: arith.extf
// CHECK: %[[COUNT:.*]] = epl.loop_last <0, trip_count = 4, micro_batches = true> 0 %{{.*}} : tensor<f32>
// CHECK: arith.truncf
// CHECK: epl.loop_slice <1, trip_count = 4, micro_batches = true>
// CHECK: %[[Y:.*]] = epl.loop_stack <1, trip_count = 4, micro_batches = true> %{{.*}} : tensor<2xbf16> -> tensor<4x2xbf16>
// CHECK: return %[[Y]]
func.func public @masked(%x: tensor<8xbf16> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<8xbf16> {
  %zero = arith.constant {epl.work = #fwd} dense<0.0> : tensor<bf16>
  %count = linalg.generic {indexing_maps = [affine_map<(n) -> (n)>, affine_map<(n) -> ()>], iterator_types = ["reduction"], epl.work = #fwd}
      ins(%x : tensor<8xbf16>) outs(%zero : tensor<bf16>) {
  ^bb0(%a: bf16, %acc: bf16):
    %r = arith.addf %acc, %a : bf16
    linalg.yield %r : bf16
  } -> tensor<bf16>
  %0 = tensor.empty() {epl.work = #fwd} : tensor<8xbf16>
  %1 = linalg.generic {indexing_maps = [affine_map<(n) -> (n)>, affine_map<(n) -> ()>, affine_map<(n) -> (n)>], iterator_types = ["parallel"], epl.work = #fwd}
      ins(%x, %count : tensor<8xbf16>, tensor<bf16>) outs(%0 : tensor<8xbf16>) {
  ^bb0(%a: bf16, %c: bf16, %out: bf16):
    %r = arith.divf %a, %c : bf16
    linalg.yield %r : bf16
  } -> tensor<8xbf16>
  return %1 : tensor<8xbf16>
}

// -----

// What is the same for all micro-batches, as the gradient of a linear layer behind a sum, stands before the loop, though
// it has as many rows as there are samples of one.

#bwd = #epl.work<@tg0, backward>
#fwd = #epl.work<@tg0, forward>
epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// CHECK-LABEL: func.func public @same_for_all
// CHECK: %[[ONES:.*]] = arith.constant {{.*}}dense<1.000000e+00> : tensor<2x3xf32>
// CHECK: %[[G:.*]] = linalg.generic {{.*}} ins(%[[ONES]], %arg0 : tensor<2x3xf32>, tensor<3xf32>)
// CHECK: %[[X:.*]] = epl.loop_slice
// CHECK-NEXT: %[[H:.*]] = math.sin %[[X]]
// CHECK-NEXT: arith.mulf %[[H]], %[[G]]
func.func public @same_for_all(%w: tensor<3xf32> {epl.role = "state"},
                        %x: tensor<8x3xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<8x3xf32> {
  %h = math.sin %x {epl.work = #fwd} : tensor<8x3xf32>
  %ones = arith.constant {epl.work = #bwd} dense<1.0> : tensor<8x3xf32>
  %0 = tensor.empty() {epl.work = #bwd} : tensor<8x3xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(n, d) -> (n, d)>, affine_map<(n, d) -> (d)>, affine_map<(n, d) -> (n, d)>],
                       iterator_types = ["parallel", "parallel"], epl.work = #bwd}
      ins(%ones, %w : tensor<8x3xf32>, tensor<3xf32>) outs(%0 : tensor<8x3xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %p = arith.mulf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<8x3xf32>
  %1 = arith.mulf %h, %g {epl.work = #bwd} : tensor<8x3xf32>
  return %1 : tensor<8x3xf32>
}
