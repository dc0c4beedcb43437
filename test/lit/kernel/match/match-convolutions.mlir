// RUN: epl-opt %s --epl-match-convolutions | FileCheck %s

// Samples, channels and features in their order in memory; a stride of 2 along each axis.
// CHECK-LABEL: epl.kernel @forward contraction
// CHECK: convolution = #epl.convolution<output, operands = [0, 1, 2], flips = false, accumulate = false, samples = [8, 196, 0, 54], groups = [1, 0, 0, 0], channels = [4, 1, 6, 0], features = [6, 0, 1, 1], axes = [7, 3, 3, 28, 72, 18, 2, 1, 0, 0, 7, 3, 3, 4, 24, 6, 2, 1, 0, 0]>
epl.kernel @forward contraction {
^bb0(%arg0: tensor<8x7x7x4xf32>, %arg1: tensor<3x3x4x6xf32>):
  %cst = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<8x3x3x6xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst : f32) outs(%0 : tensor<8x3x3x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x3x3x6xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 * 2 + d4, d2 * 2 + d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%arg0, %arg1 : tensor<8x7x7x4xf32>, tensor<3x3x4x6xf32>) outs(%1 : tensor<8x3x3x6xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %3 = arith.mulf %in, %in_0 : f32
    %4 = arith.addf %out, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<8x3x3x6xf32>
  epl.yield %2 : tensor<8x3x3x6xf32>
}

// The gradient of the image, whose output has zeros between its elements: they are the stride.
// CHECK-LABEL: epl.kernel @image contraction
// CHECK: convolution = #epl.convolution<image, operands = [2, 1, 0], flips = false, accumulate = false, samples = [8, 144, 0, 96], groups = [1, 0, 0, 0], channels = [4, 1, 6, 0], features = [6, 0, 1, 1], axes = [6, 3, 4, 24, 72, 24, 2, 1, 2, 1, 6, 3, 4, 4, 24, 6, 2, 1, 2, 1]>
epl.kernel @image contraction {
^bb0(%arg0: tensor<8x4x4x6xf32>, %arg1: tensor<3x3x4x6xf32>):
  %cst = arith.constant dense<0.000000e+00> : tensor<8x8x8x6xf32>
  %inserted_slice = tensor.insert_slice %arg0 into %cst[0, 0, 0, 0] [8, 4, 4, 6] [1, 2, 2, 1] : tensor<8x4x4x6xf32> into tensor<8x8x8x6xf32>
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<8x6x6x4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_0 : f32) outs(%0 : tensor<8x6x6x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x6x6x4xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d6, d2 + -d3 + 2, d4 + -d5 + 2, d0)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d5, d1, d0)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d6, d2, d4, d1)>], iterator_types = ["reduction", "parallel", "parallel", "reduction", "parallel", "reduction", "parallel"]} ins(%inserted_slice, %arg1 : tensor<8x8x8x6xf32>, tensor<3x3x4x6xf32>) outs(%1 : tensor<8x6x6x4xf32>) {
  ^bb0(%in: f32, %in_1: f32, %out: f32):
    %3 = arith.mulf %in, %in_1 : f32
    %4 = arith.addf %out, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<8x6x6x4xf32>
  epl.yield %2 : tensor<8x6x6x4xf32>
}

// The gradient of the filter. The filter is the smaller one, though both fit.
// CHECK-LABEL: epl.kernel @filter contraction
// CHECK: convolution = #epl.convolution<filter, operands = [0, 2, 1], flips = false, accumulate = false, samples = [8, 196, 0, 54], groups = [1, 0, 0, 0], channels = [4, 1, 6, 0], features = [6, 0, 1, 1], axes = [7, 3, 3, 28, 72, 18, 2, 1, 0, 0, 7, 3, 3, 4, 24, 6, 2, 1, 0, 0]>
epl.kernel @filter contraction {
^bb0(%arg0: tensor<8x7x7x4xf32>, %arg1: tensor<8x3x3x6xf32>):
  %cst = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<8x5x5x6xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst : f32) outs(%0 : tensor<8x5x5x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x5x5x6xf32>
  %inserted_slice = tensor.insert_slice %arg1 into %1[0, 0, 0, 0] [8, 3, 3, 6] [1, 2, 2, 1] : tensor<8x3x3x6xf32> into tensor<8x5x5x6xf32>
  %2 = tensor.empty() : tensor<3x3x4x6xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst : f32) outs(%2 : tensor<3x3x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<3x3x4x6xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d2 + d3, d4 + d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, d5, d1)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d2, d4, d6, d1)>], iterator_types = ["reduction", "parallel", "parallel", "reduction", "parallel", "reduction", "parallel"]} ins(%arg0, %inserted_slice : tensor<8x7x7x4xf32>, tensor<8x5x5x6xf32>) outs(%3 : tensor<3x3x4x6xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %5 = arith.mulf %in, %in_0 : f32
    %6 = arith.addf %out, %5 : f32
    linalg.yield %6 : f32
  } -> tensor<3x3x4x6xf32>
  epl.yield %4 : tensor<3x3x4x6xf32>
}

// Each channel is a group of its own. The filter is the first input.
// CHECK-LABEL: epl.kernel @depthwise contraction
// CHECK: convolution = #epl.convolution<output, operands = [1, 0, 2], flips = false, accumulate = false, samples = [8, 1152, 0, 512], groups = [8, 1, 1, 1], channels = [1, 0, 0, 0], features = [1, 0, 0, 0], axes = [12, 3, 8, 96, 24, 64, 1, 2, 0, 0, 12, 3, 8, 8, 8, 8, 1, 2, 0, 0]>
epl.kernel @depthwise contraction {
^bb0(%arg0: tensor<3x3x8xf32>, %arg1: tensor<8x12x12x8xf32>):
  %cst = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<8x8x8x8xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst : f32) outs(%0 : tensor<8x8x8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x8x8x8xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5, d3)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 + d4 * 2, d2 + d5 * 2, d3)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%arg0, %arg1 : tensor<3x3x8xf32>, tensor<8x12x12x8xf32>) outs(%1 : tensor<8x8x8x8xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %3 = arith.mulf %in, %in_0 : f32
    %4 = arith.addf %out, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<8x8x8x8xf32>
  epl.yield %2 : tensor<8x8x8x8xf32>
}

// With sums of bf16 in f32, zeros around nothing, and what is added to, the last input.
// CHECK-LABEL: epl.kernel @widened contraction
// CHECK: convolution = #epl.convolution<output, operands = [0, 1, 3], flips = false, accumulate = true, samples = [2, 27, 0, 30], groups = [1, 0, 0, 0], channels = [3, 1, 5, 0], features = [5, 0, 1, 1], axes = [9, 4, 6, 3, 15, 5, 1, 1, 0, 0]>
epl.kernel @widened contraction {
^bb0(%x: tensor<2x9x3xbf16>, %w: tensor<4x3x5xbf16>, %sum: tensor<2x6x5xf32>):
  %y = linalg.generic {indexing_maps = [affine_map<(n, o, k, t, c) -> (n, o + t, c)>, affine_map<(n, o, k, t, c) -> (t, c, k)>, affine_map<(n, o, k, t, c) -> (n, o, k)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%x, %w : tensor<2x9x3xbf16>, tensor<4x3x5xbf16>) outs(%sum : tensor<2x6x5xf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.extf %b : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %c, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<2x6x5xf32>
  epl.yield %y : tensor<2x6x5xf32>
}

// Samples of two dimensions that do not follow one another in the output: one of them is an axis without a filter.
// CHECK-LABEL: epl.kernel @two_samples contraction
// CHECK: convolution = #epl.convolution<output, operands = [0, 1, 3], flips = false, accumulate = true, samples = [2, 27, 0, 1], groups = [1, 0, 0, 0], channels = [1, 0, 0, 0], features = [1, 0, 0, 0], axes = [9, 4, 6, 1, 1, 2, 1, 1, 0, 0, 3, 1, 3, 9, 0, 12, 1, 1, 0, 0]>
epl.kernel @two_samples contraction {
^bb0(%x: tensor<2x3x9xf32>, %w: tensor<4xf32>, %sum: tensor<3x6x2xf32>):
  %y = linalg.generic {indexing_maps = [affine_map<(m, o, n, t) -> (n, m, o + t)>, affine_map<(m, o, n, t) -> (t)>, affine_map<(m, o, n, t) -> (m, o, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %w : tensor<2x3x9xf32>, tensor<4xf32>) outs(%sum : tensor<3x6x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<3x6x2xf32>
  epl.yield %y : tensor<3x6x2xf32>
}

// The window begins behind the first element, for which a library has no number: what is computed is the gradient of an
// image by a filter whose taps are reversed.
// CHECK-LABEL: epl.kernel @behind contraction
// CHECK: convolution = #epl.convolution<image, operands = [3, 1, 0], flips = true, accumulate = true, samples = [1, 0, 0, 0], groups = [1, 0, 0, 0], channels = [1, 0, 0, 0], features = [1, 0, 0, 0], axes = [5, 4, 9, 1, 1, 1, 1, 1, 4, 3]>
epl.kernel @behind contraction {
^bb0(%x: tensor<9xf32>, %w: tensor<4xf32>, %sum: tensor<5xf32>):
  %y = linalg.generic {indexing_maps = [affine_map<(o, t) -> (o + t + 1)>, affine_map<(o, t) -> (t)>, affine_map<(o, t) -> (o)>], iterator_types = ["parallel", "reduction"]} ins(%x, %w : tensor<9xf32>, tensor<4xf32>) outs(%sum : tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<5xf32>
  epl.yield %y : tensor<5xf32>
}

// A product of matrices has no axis; integers are no library's; an axis with windows of windows is no convolution's.
// CHECK-LABEL: epl.kernel @product contraction
// CHECK-NOT: convolution
epl.kernel @product contraction {
^bb0(%x: tensor<2x9xf32>, %w: tensor<9x4xf32>, %sum: tensor<2x4xf32>):
  %y = linalg.generic {indexing_maps = [affine_map<(n, k, c) -> (n, c)>, affine_map<(n, k, c) -> (c, k)>, affine_map<(n, k, c) -> (n, k)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<2x9xf32>, tensor<9x4xf32>) outs(%sum : tensor<2x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<2x4xf32>
  epl.yield %y : tensor<2x4xf32>
}
epl.kernel @integers contraction {
^bb0(%x: tensor<9xi32>, %w: tensor<4xi32>, %sum: tensor<6xi32>):
  %y = linalg.generic {indexing_maps = [affine_map<(o, t) -> (o + t)>, affine_map<(o, t) -> (t)>, affine_map<(o, t) -> (o)>], iterator_types = ["parallel", "reduction"]} ins(%x, %w : tensor<9xi32>, tensor<4xi32>) outs(%sum : tensor<6xi32>) {
  ^bb0(%a: i32, %b: i32, %c: i32):
    %0 = arith.muli %a, %b : i32
    %1 = arith.addi %c, %0 : i32
    linalg.yield %1 : i32
  } -> tensor<6xi32>
  epl.yield %y : tensor<6xi32>
}
epl.kernel @three_windows contraction {
^bb0(%x: tensor<9xf32>, %w: tensor<4x2xf32>, %sum: tensor<5xf32>):
  %y = linalg.generic {indexing_maps = [affine_map<(o, t, u) -> (o + t + u)>, affine_map<(o, t, u) -> (t, u)>, affine_map<(o, t, u) -> (o)>], iterator_types = ["parallel", "reduction", "reduction"]} ins(%x, %w : tensor<9xf32>, tensor<4x2xf32>) outs(%sum : tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<5xf32>
  epl.yield %y : tensor<5xf32>
}
