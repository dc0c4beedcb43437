// RUN: epl-opt %s --epl-lower-kernels=cpu=x86-64-v4 | FileCheck %s

// What multiplies each group of 4 columns keeps the sums' 32 columns from being one loop: a slice is a part of
// the 4, and what the sums start from is stored in the same two loops.
// CHECK: form = "column"
// CHECK: arith.minsi %{{.*}}, %c4
// CHECK: scf.for %{{.*}} = %c0 to %c8 step %c1
// CHECK: scf.for
// CHECK: vector.store %{{.*}} : memref<32xf32>
// CHECK: scf.for %{{.*}} = %c0 to %c12 step %c1
// CHECK: scf.for %{{.*}} = %c0 to %c8 step %c1
// CHECK: scf.for
// CHECK: arith.addf
epl.kernel @scaled_sum fusion {
^bb0(%x: tensor<12x8x4xf32>, %scale: tensor<8xf32>):
  %zero = arith.constant dense<0.0> : tensor<8x4xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1)>, affine_map<(d0, d1, d2) -> (d1, d2)>], iterator_types = ["reduction", "parallel", "parallel"]} ins(%x, %scale : tensor<12x8x4xf32>, tensor<8xf32>) outs(%zero : tensor<8x4xf32>) {
  ^bb0(%a: f32, %s: f32, %out: f32):
    %0 = arith.mulf %a, %s : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<8x4xf32>
  epl.yield %sum : tensor<8x4xf32>
}

// Nothing keeps these apart: both loops are over all 136 columns, though the init is a fill of rows and columns.
// CHECK: form = "column"
// CHECK: arith.minsi %{{.*}}, %c136
// CHECK-NOT: %c8 step
// CHECK: vector.store %{{.*}} : memref<136xf32>
// CHECK: scf.for %{{.*}} = %c0 to %c12 step %c4
// CHECK: arith.addf
epl.kernel @sum fusion {
^bb0(%x: tensor<12x17x8xf32>):
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<17x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<17x8xf32>) -> tensor<17x8xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>], iterator_types = ["reduction", "parallel", "parallel"]} ins(%x : tensor<12x17x8xf32>) outs(%init : tensor<17x8xf32>) {
  ^bb0(%a: f32, %out: f32):
    %0 = arith.addf %out, %a : f32
    linalg.yield %0 : f32
  } -> tensor<17x8xf32>
  epl.yield %sum : tensor<17x8xf32>
}
