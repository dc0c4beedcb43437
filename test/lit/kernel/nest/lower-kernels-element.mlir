// RUN: epl-opt %s --epl-lower-kernels=gpu=sm_80 --canonicalize | FileCheck %s

// A thread of a GPU runs a slice: a contraction's are the elements of its result. Here i is row 8 i / 8 of a and column
// i mod 8 of b; the loop sums over k.

// CHECK: epl.kernel @product contraction
// CHECK: extent = 32 : i64, flops = 192 : i64, form = "element"
// CHECK-SAME: grids = [#epl.grid<blocks = 1, threads = 32, shared = 0, group = 1, slice = 1, extent = 32>], workspace = 0 : i64
// CHECK-LABEL: func.func private @product.body
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %c1 {
// CHECK-DAG: arith.divui %[[I]], %c8
// CHECK-DAG: arith.remui %[[I]], %c8
// CHECK: %[[SUM:.*]] = scf.for %{{.*}} = %c0 to %c3 step %c1 iter_args(%[[OLD:.*]] = %cst) -> (f32) {
// CHECK: %[[TERM:.*]] = arith.mulf {{.*}} : f32
// CHECK: arith.addf %[[OLD]], %[[TERM]] : f32
// CHECK: memref.store %[[SUM]], %{{.*}}[%[[I]]] : memref<32xf32>
epl.kernel @product contraction {
^bb0(%a: tensor<4x3xf32>, %b: tensor<3x8xf32>):
  %s = arith.constant dense<0.0> : tensor<4x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x3xf32>, tensor<3x8xf32>) outs(%s : tensor<4x8xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<4x8xf32>
  epl.yield %r : tensor<4x8xf32>
}

// An operand with zeros between its elements: two of three elements of the result are in no part of the contraction, and
// keep what they begin with.
// CHECK: epl.kernel @between contraction
// CHECK-LABEL: func.func private @between.body
// CHECK: %[[REST:.*]] = arith.remui %{{.*}}, %c3
// CHECK: %[[HERE:.*]] = arith.cmpi eq, %[[REST]], %c0
// CHECK: scf.if %{{.*}} -> (f32) {
// CHECK: } else {
// CHECK-NEXT: scf.yield %cst : f32
epl.kernel @between contraction {
^bb0(%a: tensor<5xf32>, %b: tensor<1xf32>):
  %z = arith.constant dense<0.0> : tensor<13xf32>
  %d = tensor.insert_slice %a into %z[0] [5] [3] : tensor<5xf32> into tensor<13xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0 + d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%d, %b : tensor<13xf32>, tensor<1xf32>) outs(%z : tensor<13xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<13xf32>
  epl.yield %r : tensor<13xf32>
}
