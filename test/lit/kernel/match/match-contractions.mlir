// RUN: epl-opt %s --epl-match-contractions | FileCheck %s

// Neither operand transposed.
// CHECK-LABEL: epl.kernel @nn contraction
// CHECK: {flops = 1024 : i64, gemm = #epl.gemm<m = 4, n = 8, k = 16, lda = 16, ldb = 8, ldc = 8, transpose_a = false, transpose_b = false, accumulate = false>}
epl.kernel @nn contraction {
^bb0(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>):
  %c = arith.constant dense<0.0> : tensor<4x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x16xf32>, tensor<16x8xf32>) outs(%c : tensor<4x8xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  epl.yield %r : tensor<4x8xf32>
}

// The first one.
// CHECK-LABEL: epl.kernel @tn contraction
// CHECK: {{{.*}}gemm = #epl.gemm<m = 4, n = 8, k = 16, lda = 4, ldb = 8, ldc = 8, transpose_a = true, transpose_b = false, accumulate = false>}
epl.kernel @tn contraction {
^bb0(%a: tensor<16x4xf32>, %b: tensor<16x8xf32>):
  %c = arith.constant dense<0.0> : tensor<4x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<16x4xf32>, tensor<16x8xf32>) outs(%c : tensor<4x8xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  epl.yield %r : tensor<4x8xf32>
}

// The second one.
// CHECK-LABEL: epl.kernel @nt contraction
// CHECK: {{{.*}}gemm = #epl.gemm<m = 4, n = 8, k = 16, lda = 16, ldb = 16, ldc = 8, transpose_a = false, transpose_b = true, accumulate = false>}
epl.kernel @nt contraction {
^bb0(%a: tensor<4x16xf32>, %b: tensor<8x16xf32>):
  %c = arith.constant dense<0.0> : tensor<4x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x16xf32>, tensor<8x16xf32>) outs(%c : tensor<4x8xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  epl.yield %r : tensor<4x8xf32>
}

// Both.
// CHECK-LABEL: epl.kernel @tt contraction
// CHECK: {{{.*}}gemm = #epl.gemm<m = 4, n = 8, k = 16, lda = 4, ldb = 16, ldc = 8, transpose_a = true, transpose_b = true, accumulate = false>}
epl.kernel @tt contraction {
^bb0(%a: tensor<16x4xf32>, %b: tensor<8x16xf32>):
  %c = arith.constant dense<0.0> : tensor<4x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<16x4xf32>, tensor<8x16xf32>) outs(%c : tensor<4x8xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  epl.yield %r : tensor<4x8xf32>
}

// One argument twice would be another call: the second operand is the second input.
// CHECK-LABEL: epl.kernel @square contraction
// CHECK: epl.yield
// CHECK-NOT: gemm
epl.kernel @square contraction {
^bb0(%a: tensor<4x4xf32>):
  %c = arith.constant dense<0.0> : tensor<4x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %a : tensor<4x4xf32>, tensor<4x4xf32>) outs(%c : tensor<4x4xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  epl.yield %r : tensor<4x4xf32>
}

// f64 too.
// CHECK-LABEL: epl.kernel @double contraction
// CHECK: {{{.*}}gemm = #epl.gemm<m = 4, n = 8, k = 16, lda = 16, ldb = 8, ldc = 8, transpose_a = false, transpose_b = false, accumulate = false>}
epl.kernel @double contraction {
^bb0(%a: tensor<4x16xf64>, %b: tensor<16x8xf64>):
  %c = arith.constant dense<0.0> : tensor<4x8xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x16xf64>, tensor<16x8xf64>) outs(%c : tensor<4x8xf64>) {
  ^bb0(%x: f64, %y: f64, %o: f64):
    %p = arith.mulf %x, %y : f64
    %s = arith.addf %o, %p : f64
    linalg.yield %s : f64
  } -> tensor<4x8xf64>
  epl.yield %r : tensor<4x8xf64>
}

// A start that is an input is added to, in its own storage.
// CHECK-LABEL: epl.kernel @accumulate contraction
// CHECK: {{{.*}}gemm = #epl.gemm<m = 4, n = 8, k = 16, lda = 16, ldb = 8, ldc = 8, transpose_a = false, transpose_b = false, accumulate = true>, in_place = array<i32: 2>}
epl.kernel @accumulate contraction {
^bb0(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>, %c: tensor<4x8xf32>):
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x16xf32>, tensor<16x8xf32>) outs(%c : tensor<4x8xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  epl.yield %r : tensor<4x8xf32>
}

// A batch dimension is a stride for each operand.
// CHECK-LABEL: epl.kernel @batch contraction
// CHECK: {{{.*}}gemm = #epl.gemm<m = 4, n = 8, k = 16, lda = 16, ldb = 8, ldc = 8, transpose_a = false, transpose_b = false, accumulate = false, batch = [3, 64, 128, 32]>}
epl.kernel @batch contraction {
^bb0(%a: tensor<3x4x16xf32>, %b: tensor<3x16x8xf32>):
  %c = arith.constant dense<0.0> : tensor<3x4x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : tensor<3x4x16xf32>, tensor<3x16x8xf32>) outs(%c : tensor<3x4x8xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<3x4x8xf32>
  epl.yield %r : tensor<3x4x8xf32>
}

// Neighbouring batch dimensions are one.
// CHECK-LABEL: epl.kernel @batches contraction
// CHECK: {{{.*}}gemm = #epl.gemm<m = 4, n = 8, k = 16, lda = 16, ldb = 8, ldc = 8, transpose_a = false, transpose_b = false, accumulate = false, batch = [6, 64, 128, 32]>}
epl.kernel @batches contraction {
^bb0(%a: tensor<2x3x4x16xf32>, %b: tensor<2x3x16x8xf32>):
  %c = arith.constant dense<0.0> : tensor<2x3x4x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : tensor<2x3x4x16xf32>, tensor<2x3x16x8xf32>) outs(%c : tensor<2x3x4x8xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<2x3x4x8xf32>
  epl.yield %r : tensor<2x3x4x8xf32>
}

// Scores of attention, heads between positions and features: leading dimensions skip the other heads.
// CHECK-LABEL: epl.kernel @attention contraction
// CHECK: {{{.*}}gemm = #epl.gemm<m = 5, n = 7, k = 8, lda = 24, ldb = 24, ldc = 7, transpose_a = false, transpose_b = true, accumulate = false, batch = [2, 120, 168, 105, 3, 8, 8, 35]>}
epl.kernel @attention contraction {
^bb0(%a: tensor<2x5x3x8xf32>, %b: tensor<2x7x3x8xf32>):
  %c = arith.constant dense<0.0> : tensor<2x3x5x7xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : tensor<2x5x3x8xf32>, tensor<2x7x3x8xf32>) outs(%c : tensor<2x3x5x7xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<2x3x5x7xf32>
  epl.yield %r : tensor<2x3x5x7xf32>
}

// Adjacent dimensions of one kind are one: x[b,t,h,d] w[h,d,f].
// CHECK-LABEL: epl.kernel @merge contraction
// CHECK: {{{.*}}gemm = #epl.gemm<m = 10, n = 7, k = 24, lda = 24, ldb = 7, ldc = 7, transpose_a = false, transpose_b = false, accumulate = false>}
epl.kernel @merge contraction {
^bb0(%a: tensor<2x5x3x8xf32>, %b: tensor<3x8x7xf32>):
  %c = arith.constant dense<0.0> : tensor<2x5x7xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d3, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%a, %b : tensor<2x5x3x8xf32>, tensor<3x8x7xf32>) outs(%c : tensor<2x5x7xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<2x5x7xf32>
  epl.yield %r : tensor<2x5x7xf32>
}

// What cannot be merged into m is the batch, along which the other operand stands still.
// CHECK-LABEL: epl.kernel @apart contraction
// CHECK: {{{.*}}gemm = #epl.gemm<m = 5, n = 7, k = 8, lda = 24, ldb = 7, ldc = 7, transpose_a = false, transpose_b = false, accumulate = false, batch = [3, 8, 0, 35]>}
epl.kernel @apart contraction {
^bb0(%a: tensor<5x3x8xf32>, %b: tensor<8x7xf32>):
  %c = arith.constant dense<0.0> : tensor<3x5x7xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : tensor<5x3x8xf32>, tensor<8x7xf32>) outs(%c : tensor<3x5x7xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<3x5x7xf32>
  epl.yield %r : tensor<3x5x7xf32>
}

// The result is written with a leading dimension of its own.
// CHECK-LABEL: epl.kernel @permuted contraction
// CHECK: {{{.*}}gemm = #epl.gemm<m = 5, n = 7, k = 8, lda = 8, ldb = 7, ldc = 21, transpose_a = false, transpose_b = false, accumulate = false, batch = [3, 40, 56, 7]>}
epl.kernel @permuted contraction {
^bb0(%a: tensor<3x5x8xf32>, %b: tensor<3x8x7xf32>):
  %c = arith.constant dense<0.0> : tensor<5x3x7xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d1, d0, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : tensor<3x5x8xf32>, tensor<3x8x7xf32>) outs(%c : tensor<5x3x7xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<5x3x7xf32>
  epl.yield %r : tensor<5x3x7xf32>
}

// A matrix by a vector: n is 1.
// CHECK-LABEL: epl.kernel @matvec contraction
// CHECK: {{{.*}}gemm = #epl.gemm<m = 4, n = 1, k = 16, lda = 16, ldb = 1, ldc = 1, transpose_a = false, transpose_b = false, accumulate = false>}
epl.kernel @matvec contraction {
^bb0(%a: tensor<4x16xf32>, %b: tensor<16xf32>):
  %c = arith.constant dense<0.0> : tensor<4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%a, %b : tensor<4x16xf32>, tensor<16xf32>) outs(%c : tensor<4xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  epl.yield %r : tensor<4xf32>
}

// A vector by a matrix: m is 1.
// CHECK-LABEL: epl.kernel @vecmat contraction
// CHECK: {{{.*}}gemm = #epl.gemm<m = 1, n = 8, k = 16, lda = 16, ldb = 8, ldc = 8, transpose_a = false, transpose_b = false, accumulate = false>}
epl.kernel @vecmat contraction {
^bb0(%a: tensor<16xf32>, %b: tensor<16x8xf32>):
  %c = arith.constant dense<0.0> : tensor<8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%a, %b : tensor<16xf32>, tensor<16x8xf32>) outs(%c : tensor<8xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  epl.yield %r : tensor<8xf32>
}

// Both are 1.
// CHECK-LABEL: epl.kernel @dot contraction
// CHECK: {{{.*}}gemm = #epl.gemm<m = 1, n = 1, k = 16, lda = 16, ldb = 1, ldc = 1, transpose_a = false, transpose_b = false, accumulate = false>}
epl.kernel @dot contraction {
^bb0(%a: tensor<16xf32>, %b: tensor<16xf32>):
  %c = arith.constant dense<0.0> : tensor<f32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%a, %b : tensor<16xf32>, tensor<16xf32>) outs(%c : tensor<f32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  epl.yield %r : tensor<f32>
}

// No sum at all but of one element.
// CHECK-LABEL: epl.kernel @outer contraction
// CHECK: {{{.*}}gemm = #epl.gemm<m = 4, n = 8, k = 1, lda = 1, ldb = 8, ldc = 8, transpose_a = false, transpose_b = false, accumulate = false>}
epl.kernel @outer contraction {
^bb0(%a: tensor<4x1xf32>, %b: tensor<1x8xf32>):
  %c = arith.constant dense<0.0> : tensor<4x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x1xf32>, tensor<1x8xf32>) outs(%c : tensor<4x8xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  epl.yield %r : tensor<4x8xf32>
}

// Rows of the result must be contiguous (epl-normalize-contractions sees to it): else it is many products with
// vectors, which tiles of our own outrun.
// CHECK-LABEL: epl.kernel @transposed_result contraction
// CHECK: epl.yield
// CHECK-NOT: gemm
epl.kernel @transposed_result contraction {
^bb0(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>):
  %c = arith.constant dense<0.0> : tensor<8x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d1, d0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x16xf32>, tensor<16x8xf32>) outs(%c : tensor<8x4xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x4xf32>
  epl.yield %r : tensor<8x4xf32>
}

// Two sums that are apart in memory are no product of matrices.
// CHECK-LABEL: epl.kernel @two_sums contraction
// CHECK: epl.yield
// CHECK-NOT: gemm
epl.kernel @two_sums contraction {
^bb0(%a: tensor<2x4x3xf32>, %b: tensor<3x2x8xf32>):
  %c = arith.constant dense<0.0> : tensor<4x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d3, d2, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %b : tensor<2x4x3xf32>, tensor<3x2x8xf32>) outs(%c : tensor<4x8xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  epl.yield %r : tensor<4x8xf32>
}

// Nor is a sum over one operand only.
// CHECK-LABEL: epl.kernel @one_sided contraction
// CHECK: epl.yield
// CHECK-NOT: gemm
epl.kernel @one_sided contraction {
^bb0(%a: tensor<4x16xf32>, %b: tensor<8xf32>):
  %c = arith.constant dense<0.0> : tensor<4x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x16xf32>, tensor<8xf32>) outs(%c : tensor<4x8xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  epl.yield %r : tensor<4x8xf32>
}

// Nor one that starts from a constant.
// CHECK-LABEL: epl.kernel @start contraction
// CHECK: epl.yield
// CHECK-NOT: gemm
epl.kernel @start contraction {
^bb0(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>):
  %c = arith.constant dense<1.0> : tensor<4x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x16xf32>, tensor<16x8xf32>) outs(%c : tensor<4x8xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  epl.yield %r : tensor<4x8xf32>
}

// The library knows floats: those of 16 bits are summed in f32 and rounded.
// CHECK-LABEL: epl.kernel @bf16 contraction
// CHECK: gemm = #epl.gemm<m = 4, n = 8, k = 16,
epl.kernel @bf16 contraction {
^bb0(%a: tensor<4x16xbf16>, %b: tensor<16x8xbf16>):
  %c = arith.constant dense<0.0> : tensor<4x8xbf16>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x16xbf16>, tensor<16x8xbf16>) outs(%c : tensor<4x8xbf16>) {
  ^bb0(%x: bf16, %y: bf16, %o: bf16):
    %p = arith.mulf %x, %y : bf16
    %s = arith.addf %o, %p : bf16
    linalg.yield %s : bf16
  } -> tensor<4x8xbf16>
  epl.yield %r : tensor<4x8xbf16>
}

// CHECK-LABEL: epl.kernel @integer contraction
// CHECK: epl.yield
// CHECK-NOT: gemm
epl.kernel @integer contraction {
^bb0(%a: tensor<4x16xi32>, %b: tensor<16x8xi32>):
  %c = arith.constant dense<0> : tensor<4x8xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x16xi32>, tensor<16x8xi32>) outs(%c : tensor<4x8xi32>) {
  ^bb0(%x: i32, %y: i32, %o: i32):
    %p = arith.muli %x, %y : i32
    %s = arith.addi %o, %p : i32
    linalg.yield %s : i32
  } -> tensor<4x8xi32>
  epl.yield %r : tensor<4x8xi32>
}

// A window is no matrix.
// CHECK-LABEL: epl.kernel @convolution contraction
// CHECK: epl.yield
// CHECK-NOT: gemm
epl.kernel @convolution contraction {
^bb0(%a: tensor<18xf32>, %b: tensor<3x8xf32>):
  %c = arith.constant dense<0.0> : tensor<16x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0 + d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<18xf32>, tensor<3x8xf32>) outs(%c : tensor<16x8xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<16x8xf32>
  epl.yield %r : tensor<16x8xf32>
}

// A convolution whose kernel has one position is a product.
// CHECK-LABEL: epl.kernel @pointwise contraction
// CHECK: gemm = #epl.gemm<m = 98, n = 8, k = 16, lda = 16, ldb = 8, ldc = 8, transpose_a = false, transpose_b = false, accumulate = false>
epl.kernel @pointwise contraction {
^bb0(%a: tensor<2x7x7x16xf32>, %b: tensor<1x1x16x8xf32>):
  %c = arith.constant dense<0.0> : tensor<2x7x7x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d4, d2 + d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%a, %b : tensor<2x7x7x16xf32>, tensor<1x1x16x8xf32>) outs(%c : tensor<2x7x7x8xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<2x7x7x8xf32>
  epl.yield %r : tensor<2x7x7x8xf32>
}

// One whose windows overlap is none: rows of a matrix would.
// CHECK-LABEL: epl.kernel @overlapping contraction
// CHECK-NOT: gemm
// CHECK: epl.kernel @backward
epl.kernel @overlapping contraction {
^bb0(%a: tensor<1x9x16xf32>, %b: tensor<3x16x8xf32>):
  %c = arith.constant dense<0.0> : tensor<1x7x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 + d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d3, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%a, %b : tensor<1x9x16xf32>, tensor<3x16x8xf32>) outs(%c : tensor<1x7x8xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x7x8xf32>
  epl.yield %r : tensor<1x7x8xf32>
}

// Nor one that reads an operand backwards.
// CHECK-NOT: gemm
epl.kernel @backward contraction {
^bb0(%a: tensor<1x3xf32>, %b: tensor<3x8xf32>):
  %c = arith.constant dense<0.0> : tensor<1x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d0 - d2 + 2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<1x3xf32>, tensor<3x8xf32>) outs(%c : tensor<1x8xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x8xf32>
  epl.yield %r : tensor<1x8xf32>
}

// 16-bit floats may also be summed and not rounded.
// CHECK-LABEL: epl.kernel @widened contraction
// CHECK: gemm = #epl.gemm<m = 4, n = 8, k = 16,
epl.kernel @widened contraction {
^bb0(%a: tensor<4x16xf16>, %b: tensor<16x8xf16>):
  %c = arith.constant dense<0.0> : tensor<4x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x16xf16>, tensor<16x8xf16>) outs(%c : tensor<4x8xf32>) {
  ^bb0(%x: f16, %y: f16, %o: f32):
    %xw = arith.extf %x : f16 to f32
    %yw = arith.extf %y : f16 to f32
    %p = arith.mulf %xw, %yw : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  epl.yield %r : tensor<4x8xf32>
}

// A product that is rounded before it is widened is another one, and so is one of two types.
// CHECK-LABEL: epl.kernel @rounded contraction
// CHECK-NOT: gemm
// CHECK-LABEL: epl.kernel @mixed contraction
// CHECK-NOT: gemm
epl.kernel @rounded contraction {
^bb0(%a: tensor<4x16xbf16>, %b: tensor<16x8xbf16>):
  %c = arith.constant dense<0.0> : tensor<4x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x16xbf16>, tensor<16x8xbf16>) outs(%c : tensor<4x8xf32>) {
  ^bb0(%x: bf16, %y: bf16, %o: f32):
    %p = arith.mulf %x, %y : bf16
    %pw = arith.extf %p : bf16 to f32
    %s = arith.addf %o, %pw : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  epl.yield %r : tensor<4x8xf32>
}

epl.kernel @mixed contraction {
^bb0(%a: tensor<4x16xbf16>, %b: tensor<16x8xf32>):
  %c = arith.constant dense<0.0> : tensor<4x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x16xbf16>, tensor<16x8xf32>) outs(%c : tensor<4x8xf32>) {
  ^bb0(%x: bf16, %y: f32, %o: f32):
    %xw = arith.extf %x : bf16 to f32
    %p = arith.mulf %xw, %y : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  epl.yield %r : tensor<4x8xf32>
}
