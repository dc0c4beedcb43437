// RUN: epl-opt %s --split-input-file --epl-match-attention | FileCheck %s

// Scores that are scaled and masked, and their softmax: all is said of the last product, which has q and k as further
// inputs. The launches before it stay.

// CHECK-LABEL: func.func @main
// CHECK: %[[Q:.*]] = tensor.expand_shape
// CHECK: %[[SCORES:.*]] = epl.launch @scores(%[[Q]], %[[K:.*]]) :
// CHECK: %[[P:.*]] = epl.launch @softmax(%[[SCORES]])
// CHECK: epl.launch @product_attention(%[[P]], %{{.*}}, %[[Q]], %[[K]]) : (tensor<1x2x2x4x4xbf16>, tensor<2x4x2x8xbf16>, tensor<2x4x2x1x8xbf16>, tensor<2x4x2x8xbf16>) -> tensor<2x4x2x1x8xbf16>
// CHECK-NOT: epl.kernel @product contraction
// CHECK: epl.kernel @product_attention contraction
// CHECK: attention = #epl.attention<scale = 0.353553385 : f32, causal = true>
// CHECK-SAME: gemm = #epl.gemm<m = 4
epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!x = !epl.dist<tensor<2x4x2x8xbf16>, <@mesh, [{}, {}, {}, {}]>>
!p = !epl.dist<tensor<1x2x2x4x4xbf16>, <@mesh, [{}, {}, {}, {}, {}]>>
!o = !epl.dist<tensor<2x4x2x1x8xbf16>, <@mesh, [{}, {}, {}, {}, {}]>>
func.func @main(%q: !x, %k: !x, %v: !x) -> !o {
  %0 = epl.task <@tg0, forward>(%q, %k, %v) : (!x, !x, !x) -> !o {
  ^bb0(%tq: tensor<2x4x2x8xbf16>, %tk: tensor<2x4x2x8xbf16>, %tv: tensor<2x4x2x8xbf16>):
    %expanded = tensor.expand_shape %tq [[0], [1], [2, 3], [4]] output_shape [2, 4, 2, 1, 8] : tensor<2x4x2x8xbf16> into tensor<2x4x2x1x8xbf16>
    %scores = epl.launch @scores(%expanded, %tk) : (tensor<2x4x2x1x8xbf16>, tensor<2x4x2x8xbf16>) -> tensor<2x2x4x1x4xf32>
    %p = epl.launch @softmax(%scores) : (tensor<2x2x4x1x4xf32>) -> tensor<1x2x2x4x4xbf16>
    %o = epl.launch @product(%p, %tv) : (tensor<1x2x2x4x4xbf16>, tensor<2x4x2x8xbf16>) -> tensor<2x4x2x1x8xbf16>
    epl.yield %o : tensor<2x4x2x1x8xbf16>
  }
  return %0 : !o
}
epl.kernel @scores contraction {
^bb0(%arg0: tensor<2x4x2x1x8xbf16>, %arg1: tensor<2x4x2x8xbf16>):
  %cst = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x2x4x1x4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst : f32) outs(%0 : tensor<2x2x4x1x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x4x1x4xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d1, d3, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d1, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x2x1x8xbf16>, tensor<2x4x2x8xbf16>) outs(%1 : tensor<2x2x4x1x4xf32>) {
  ^bb0(%in: bf16, %in_0: bf16, %out: f32):
    %3 = arith.extf %in : bf16 to f32
    %4 = arith.extf %in_0 : bf16 to f32
    %5 = arith.mulf %3, %4 : f32
    %6 = arith.addf %out, %5 : f32
    linalg.yield %6 : f32
  } -> tensor<2x2x4x1x4xf32>
  epl.yield %2 : tensor<2x2x4x1x4xf32>
} {flops = 1024 : i64, gemm = #epl.gemm<m = 4, n = 4, k = 8, lda = 16, ldb = 16, ldc = 4, transpose_a = false, transpose_b = true, accumulate = false, batch = [2, 64, 64, 32, 2, 8, 8, 16]>}
epl.kernel @softmax fusion {
^bb0(%arg0: tensor<2x2x4x1x4xf32>):
  %0 = tensor.empty() : tensor<2x2x4x1x4xf32>
  %cst = arith.constant 0.353553385 : f32
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<2x2x4x1x4xf32>) outs(%0 : tensor<2x2x4x1x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %26 = arith.mulf %in, %cst : f32
    linalg.yield %26 : f32
  } -> tensor<2x2x4x1x4xf32>
  %2 = tensor.empty() : tensor<1x2x2x4x4xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d0, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%1 : tensor<2x2x4x1x4xf32>) outs(%2 : tensor<1x2x2x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x2x4x4xf32>
  %4 = tensor.empty() : tensor<4x4xi32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%4 : tensor<4x4xi32>) {
  ^bb0(%out: i32):
    %26 = linalg.index 0 : index
    %27 = arith.index_cast %26 : index to i32
    linalg.yield %27 : i32
  } -> tensor<4x4xi32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%4 : tensor<4x4xi32>) {
  ^bb0(%out: i32):
    %26 = linalg.index 1 : index
    %27 = arith.index_cast %26 : index to i32
    linalg.yield %27 : i32
  } -> tensor<4x4xi32>
  %7 = tensor.empty() : tensor<4x4xi1>
  %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%5, %6 : tensor<4x4xi32>, tensor<4x4xi32>) outs(%7 : tensor<4x4xi1>) {
  ^bb0(%in: i32, %in_7: i32, %out: i1):
    %26 = arith.cmpi sge, %in, %in_7 : i32
    linalg.yield %26 : i1
  } -> tensor<4x4xi1>
  %expanded = tensor.expand_shape %8 [[0, 1, 2], [3]] output_shape [1, 1, 4, 4] : tensor<4x4xi1> into tensor<1x1x4x4xi1>
  %9 = tensor.empty() : tensor<2x2x4x4xi1>
  %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, 0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<1x1x4x4xi1>) outs(%9 : tensor<2x2x4x4xi1>) {
  ^bb0(%in: i1, %out: i1):
    linalg.yield %in : i1
  } -> tensor<2x2x4x4xi1>
  %expanded_0 = tensor.expand_shape %10 [[0, 1], [2], [3], [4]] output_shape [1, 2, 2, 4, 4] : tensor<2x2x4x4xi1> into tensor<1x2x2x4x4xi1>
  %cst_1 = arith.constant dense<-2.38197633E+38> : tensor<f32>
  %11 = tensor.empty() : tensor<2x2x4x4xf32>
  %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_1 : tensor<f32>) outs(%11 : tensor<2x2x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x4x4xf32>
  %expanded_2 = tensor.expand_shape %12 [[0, 1], [2], [3], [4]] output_shape [1, 2, 2, 4, 4] : tensor<2x2x4x4xf32> into tensor<1x2x2x4x4xf32>
  %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_0, %3, %expanded_2 : tensor<1x2x2x4x4xi1>, tensor<1x2x2x4x4xf32>, tensor<1x2x2x4x4xf32>) outs(%2 : tensor<1x2x2x4x4xf32>) {
  ^bb0(%in: i1, %in_7: f32, %in_8: f32, %out: f32):
    %26 = arith.select %in, %in_7, %in_8 : f32
    linalg.yield %26 : f32
  } -> tensor<1x2x2x4x4xf32>
  %cst_3 = arith.constant 0xFF800000 : f32
  %14 = tensor.empty() : tensor<1x2x2x4xf32>
  %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_3 : f32) outs(%14 : tensor<1x2x2x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x2x4xf32>
  %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%13 : tensor<1x2x2x4x4xf32>) outs(%15 : tensor<1x2x2x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %26 = arith.maximumf %out, %in : f32
    linalg.yield %26 : f32
  } -> tensor<1x2x2x4xf32>
  %expanded_4 = tensor.expand_shape %16 [[0], [1], [2], [3, 4]] output_shape [1, 2, 2, 4, 1] : tensor<1x2x2x4xf32> into tensor<1x2x2x4x1xf32>
  %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, 0)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_4 : tensor<1x2x2x4x1xf32>) outs(%2 : tensor<1x2x2x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x2x4x4xf32>
  %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%13, %17 : tensor<1x2x2x4x4xf32>, tensor<1x2x2x4x4xf32>) outs(%2 : tensor<1x2x2x4x4xf32>) {
  ^bb0(%in: f32, %in_7: f32, %out: f32):
    %26 = arith.subf %in, %in_7 : f32
    linalg.yield %26 : f32
  } -> tensor<1x2x2x4x4xf32>
  %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%18 : tensor<1x2x2x4x4xf32>) outs(%2 : tensor<1x2x2x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %26 = math.exp %in : f32
    linalg.yield %26 : f32
  } -> tensor<1x2x2x4x4xf32>
  %cst_5 = arith.constant 0.000000e+00 : f32
  %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_5 : f32) outs(%14 : tensor<1x2x2x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x2x4xf32>
  %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%19 : tensor<1x2x2x4x4xf32>) outs(%20 : tensor<1x2x2x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %26 = arith.addf %out, %in : f32
    linalg.yield %26 : f32
  } -> tensor<1x2x2x4xf32>
  %expanded_6 = tensor.expand_shape %21 [[0], [1], [2], [3, 4]] output_shape [1, 2, 2, 4, 1] : tensor<1x2x2x4xf32> into tensor<1x2x2x4x1xf32>
  %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, 0)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_6 : tensor<1x2x2x4x1xf32>) outs(%2 : tensor<1x2x2x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x2x4x4xf32>
  %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%19, %22 : tensor<1x2x2x4x4xf32>, tensor<1x2x2x4x4xf32>) outs(%2 : tensor<1x2x2x4x4xf32>) {
  ^bb0(%in: f32, %in_7: f32, %out: f32):
    %26 = arith.divf %in, %in_7 : f32
    linalg.yield %26 : f32
  } -> tensor<1x2x2x4x4xf32>
  %24 = tensor.empty() : tensor<1x2x2x4x4xbf16>
  %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%23 : tensor<1x2x2x4x4xf32>) outs(%24 : tensor<1x2x2x4x4xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %26 = arith.truncf %in : f32 to bf16
    linalg.yield %26 : bf16
  } -> tensor<1x2x2x4x4xbf16>
  epl.yield %25 : tensor<1x2x2x4x4xbf16>
}
epl.kernel @product contraction {
^bb0(%arg0: tensor<1x2x2x4x4xbf16>, %arg1: tensor<2x4x2x8xbf16>):
  %cst = arith.constant 0.000000e+00 : bf16
  %0 = tensor.empty() : tensor<2x4x2x1x8xbf16>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst : bf16) outs(%0 : tensor<2x4x2x1x8xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    linalg.yield %in : bf16
  } -> tensor<2x4x2x1x8xbf16>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d0, d1, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d1, d2)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d1, d3, d2)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<1x2x2x4x4xbf16>, tensor<2x4x2x8xbf16>) outs(%1 : tensor<2x4x2x1x8xbf16>) {
  ^bb0(%in: bf16, %in_0: bf16, %out: bf16):
    %3 = arith.mulf %in, %in_0 : bf16
    %4 = arith.addf %out, %3 : bf16
    linalg.yield %4 : bf16
  } -> tensor<2x4x2x1x8xbf16>
  epl.yield %2 : tensor<2x4x2x1x8xbf16>
} {flops = 1024 : i64, gemm = #epl.gemm<m = 4, n = 8, k = 4, lda = 4, ldb = 16, ldc = 16, transpose_a = false, transpose_b = false, accumulate = false, batch = [2, 32, 64, 64, 2, 16, 8, 8]>}

// -----

// Without a mask.

// CHECK-LABEL: func.func @main
// CHECK: epl.launch @product_attention(
// CHECK: attention = #epl.attention<scale = 0.353553385 : f32, causal = false>
epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!x = !epl.dist<tensor<2x4x2x8xbf16>, <@mesh, [{}, {}, {}, {}]>>
!p = !epl.dist<tensor<1x2x2x4x4xbf16>, <@mesh, [{}, {}, {}, {}, {}]>>
!o = !epl.dist<tensor<2x4x2x1x8xbf16>, <@mesh, [{}, {}, {}, {}, {}]>>
func.func @main(%q: !x, %k: !x, %v: !x) -> !o {
  %0 = epl.task <@tg0, forward>(%q, %k, %v) : (!x, !x, !x) -> !o {
  ^bb0(%tq: tensor<2x4x2x8xbf16>, %tk: tensor<2x4x2x8xbf16>, %tv: tensor<2x4x2x8xbf16>):
    %expanded = tensor.expand_shape %tq [[0], [1], [2, 3], [4]] output_shape [2, 4, 2, 1, 8] : tensor<2x4x2x8xbf16> into tensor<2x4x2x1x8xbf16>
    %scores = epl.launch @scores(%expanded, %tk) : (tensor<2x4x2x1x8xbf16>, tensor<2x4x2x8xbf16>) -> tensor<2x2x4x1x4xf32>
    %p = epl.launch @softmax(%scores) : (tensor<2x2x4x1x4xf32>) -> tensor<1x2x2x4x4xbf16>
    %o = epl.launch @product(%p, %tv) : (tensor<1x2x2x4x4xbf16>, tensor<2x4x2x8xbf16>) -> tensor<2x4x2x1x8xbf16>
    epl.yield %o : tensor<2x4x2x1x8xbf16>
  }
  return %0 : !o
}
epl.kernel @scores contraction {
^bb0(%arg0: tensor<2x4x2x1x8xbf16>, %arg1: tensor<2x4x2x8xbf16>):
  %cst = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x2x4x1x4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst : f32) outs(%0 : tensor<2x2x4x1x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x4x1x4xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d1, d3, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d1, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x2x1x8xbf16>, tensor<2x4x2x8xbf16>) outs(%1 : tensor<2x2x4x1x4xf32>) {
  ^bb0(%in: bf16, %in_0: bf16, %out: f32):
    %3 = arith.extf %in : bf16 to f32
    %4 = arith.extf %in_0 : bf16 to f32
    %5 = arith.mulf %3, %4 : f32
    %6 = arith.addf %out, %5 : f32
    linalg.yield %6 : f32
  } -> tensor<2x2x4x1x4xf32>
  epl.yield %2 : tensor<2x2x4x1x4xf32>
} {flops = 1024 : i64, gemm = #epl.gemm<m = 4, n = 4, k = 8, lda = 16, ldb = 16, ldc = 4, transpose_a = false, transpose_b = true, accumulate = false, batch = [2, 64, 64, 32, 2, 8, 8, 16]>}
epl.kernel @softmax fusion {
^bb0(%arg0: tensor<2x2x4x1x4xf32>):
  %0 = tensor.empty() : tensor<2x2x4x1x4xf32>
  %cst = arith.constant 0.353553385 : f32
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<2x2x4x1x4xf32>) outs(%0 : tensor<2x2x4x1x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %18 = arith.mulf %in, %cst : f32
    linalg.yield %18 : f32
  } -> tensor<2x2x4x1x4xf32>
  %cst_0 = arith.constant 0xFF800000 : f32
  %2 = tensor.empty() : tensor<2x2x4x1xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_0 : f32) outs(%2 : tensor<2x2x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x4x1xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%1 : tensor<2x2x4x1x4xf32>) outs(%3 : tensor<2x2x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %18 = arith.maximumf %out, %in : f32
    linalg.yield %18 : f32
  } -> tensor<2x2x4x1xf32>
  %5 = tensor.empty() : tensor<1x2x2x4xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d2, d3, d0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%4 : tensor<2x2x4x1xf32>) outs(%5 : tensor<1x2x2x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x2x4xf32>
  %7 = tensor.empty() : tensor<1x2x2x4x4xf32>
  %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d0, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%1 : tensor<2x2x4x1x4xf32>) outs(%7 : tensor<1x2x2x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x2x4x4xf32>
  %expanded = tensor.expand_shape %6 [[0], [1], [2], [3, 4]] output_shape [1, 2, 2, 4, 1] : tensor<1x2x2x4xf32> into tensor<1x2x2x4x1xf32>
  %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, 0)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<1x2x2x4x1xf32>) outs(%7 : tensor<1x2x2x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x2x4x4xf32>
  %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%8, %9 : tensor<1x2x2x4x4xf32>, tensor<1x2x2x4x4xf32>) outs(%7 : tensor<1x2x2x4x4xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %18 = arith.subf %in, %in_3 : f32
    linalg.yield %18 : f32
  } -> tensor<1x2x2x4x4xf32>
  %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%10 : tensor<1x2x2x4x4xf32>) outs(%7 : tensor<1x2x2x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %18 = math.exp %in : f32
    linalg.yield %18 : f32
  } -> tensor<1x2x2x4x4xf32>
  %cst_1 = arith.constant 0.000000e+00 : f32
  %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_1 : f32) outs(%5 : tensor<1x2x2x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x2x4xf32>
  %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%11 : tensor<1x2x2x4x4xf32>) outs(%12 : tensor<1x2x2x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %18 = arith.addf %out, %in : f32
    linalg.yield %18 : f32
  } -> tensor<1x2x2x4xf32>
  %expanded_2 = tensor.expand_shape %13 [[0], [1], [2], [3, 4]] output_shape [1, 2, 2, 4, 1] : tensor<1x2x2x4xf32> into tensor<1x2x2x4x1xf32>
  %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, 0)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_2 : tensor<1x2x2x4x1xf32>) outs(%7 : tensor<1x2x2x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x2x4x4xf32>
  %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%11, %14 : tensor<1x2x2x4x4xf32>, tensor<1x2x2x4x4xf32>) outs(%7 : tensor<1x2x2x4x4xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %18 = arith.divf %in, %in_3 : f32
    linalg.yield %18 : f32
  } -> tensor<1x2x2x4x4xf32>
  %16 = tensor.empty() : tensor<1x2x2x4x4xbf16>
  %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%15 : tensor<1x2x2x4x4xf32>) outs(%16 : tensor<1x2x2x4x4xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %18 = arith.truncf %in : f32 to bf16
    linalg.yield %18 : bf16
  } -> tensor<1x2x2x4x4xbf16>
  epl.yield %17 : tensor<1x2x2x4x4xbf16>
}
epl.kernel @product contraction {
^bb0(%arg0: tensor<1x2x2x4x4xbf16>, %arg1: tensor<2x4x2x8xbf16>):
  %cst = arith.constant 0.000000e+00 : bf16
  %0 = tensor.empty() : tensor<2x4x2x1x8xbf16>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst : bf16) outs(%0 : tensor<2x4x2x1x8xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    linalg.yield %in : bf16
  } -> tensor<2x4x2x1x8xbf16>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d0, d1, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d1, d2)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d1, d3, d2)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<1x2x2x4x4xbf16>, tensor<2x4x2x8xbf16>) outs(%1 : tensor<2x4x2x1x8xbf16>) {
  ^bb0(%in: bf16, %in_0: bf16, %out: bf16):
    %3 = arith.mulf %in, %in_0 : bf16
    %4 = arith.addf %out, %3 : bf16
    linalg.yield %4 : bf16
  } -> tensor<2x4x2x1x8xbf16>
  epl.yield %2 : tensor<2x4x2x1x8xbf16>
} {flops = 1024 : i64, gemm = #epl.gemm<m = 4, n = 8, k = 4, lda = 4, ldb = 16, ldc = 16, transpose_a = false, transpose_b = false, accumulate = false, batch = [2, 32, 64, 64, 2, 16, 8, 8]>}

// -----

// A mask that leaves nothing of the first row.

// CHECK-LABEL: func.func @main
// CHECK: epl.launch @product(
// CHECK-NOT: attention
epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!x = !epl.dist<tensor<2x4x2x8xbf16>, <@mesh, [{}, {}, {}, {}]>>
!p = !epl.dist<tensor<1x2x2x4x4xbf16>, <@mesh, [{}, {}, {}, {}, {}]>>
!o = !epl.dist<tensor<2x4x2x1x8xbf16>, <@mesh, [{}, {}, {}, {}, {}]>>
func.func @main(%q: !x, %k: !x, %v: !x) -> !o {
  %0 = epl.task <@tg0, forward>(%q, %k, %v) : (!x, !x, !x) -> !o {
  ^bb0(%tq: tensor<2x4x2x8xbf16>, %tk: tensor<2x4x2x8xbf16>, %tv: tensor<2x4x2x8xbf16>):
    %expanded = tensor.expand_shape %tq [[0], [1], [2, 3], [4]] output_shape [2, 4, 2, 1, 8] : tensor<2x4x2x8xbf16> into tensor<2x4x2x1x8xbf16>
    %scores = epl.launch @scores(%expanded, %tk) : (tensor<2x4x2x1x8xbf16>, tensor<2x4x2x8xbf16>) -> tensor<2x2x4x1x4xf32>
    %p = epl.launch @softmax(%scores) : (tensor<2x2x4x1x4xf32>) -> tensor<1x2x2x4x4xbf16>
    %o = epl.launch @product(%p, %tv) : (tensor<1x2x2x4x4xbf16>, tensor<2x4x2x8xbf16>) -> tensor<2x4x2x1x8xbf16>
    epl.yield %o : tensor<2x4x2x1x8xbf16>
  }
  return %0 : !o
}
epl.kernel @scores contraction {
^bb0(%arg0: tensor<2x4x2x1x8xbf16>, %arg1: tensor<2x4x2x8xbf16>):
  %cst = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x2x4x1x4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst : f32) outs(%0 : tensor<2x2x4x1x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x4x1x4xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d1, d3, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d1, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x2x1x8xbf16>, tensor<2x4x2x8xbf16>) outs(%1 : tensor<2x2x4x1x4xf32>) {
  ^bb0(%in: bf16, %in_0: bf16, %out: f32):
    %3 = arith.extf %in : bf16 to f32
    %4 = arith.extf %in_0 : bf16 to f32
    %5 = arith.mulf %3, %4 : f32
    %6 = arith.addf %out, %5 : f32
    linalg.yield %6 : f32
  } -> tensor<2x2x4x1x4xf32>
  epl.yield %2 : tensor<2x2x4x1x4xf32>
} {flops = 1024 : i64, gemm = #epl.gemm<m = 4, n = 4, k = 8, lda = 16, ldb = 16, ldc = 4, transpose_a = false, transpose_b = true, accumulate = false, batch = [2, 64, 64, 32, 2, 8, 8, 16]>}
epl.kernel @softmax fusion {
^bb0(%arg0: tensor<2x2x4x1x4xf32>):
  %0 = tensor.empty() : tensor<2x2x4x1x4xf32>
  %cst = arith.constant 0.353553385 : f32
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<2x2x4x1x4xf32>) outs(%0 : tensor<2x2x4x1x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %26 = arith.mulf %in, %cst : f32
    linalg.yield %26 : f32
  } -> tensor<2x2x4x1x4xf32>
  %2 = tensor.empty() : tensor<1x2x2x4x4xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d0, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%1 : tensor<2x2x4x1x4xf32>) outs(%2 : tensor<1x2x2x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x2x4x4xf32>
  %4 = tensor.empty() : tensor<4x4xi32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%4 : tensor<4x4xi32>) {
  ^bb0(%out: i32):
    %26 = linalg.index 0 : index
    %27 = arith.index_cast %26 : index to i32
    linalg.yield %27 : i32
  } -> tensor<4x4xi32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%4 : tensor<4x4xi32>) {
  ^bb0(%out: i32):
    %26 = linalg.index 1 : index
    %27 = arith.index_cast %26 : index to i32
    linalg.yield %27 : i32
  } -> tensor<4x4xi32>
  %7 = tensor.empty() : tensor<4x4xi1>
  %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%5, %6 : tensor<4x4xi32>, tensor<4x4xi32>) outs(%7 : tensor<4x4xi1>) {
  ^bb0(%in: i32, %in_7: i32, %out: i1):
    %26 = arith.cmpi sgt, %in, %in_7 : i32
    linalg.yield %26 : i1
  } -> tensor<4x4xi1>
  %expanded = tensor.expand_shape %8 [[0, 1, 2], [3]] output_shape [1, 1, 4, 4] : tensor<4x4xi1> into tensor<1x1x4x4xi1>
  %9 = tensor.empty() : tensor<2x2x4x4xi1>
  %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, 0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<1x1x4x4xi1>) outs(%9 : tensor<2x2x4x4xi1>) {
  ^bb0(%in: i1, %out: i1):
    linalg.yield %in : i1
  } -> tensor<2x2x4x4xi1>
  %expanded_0 = tensor.expand_shape %10 [[0, 1], [2], [3], [4]] output_shape [1, 2, 2, 4, 4] : tensor<2x2x4x4xi1> into tensor<1x2x2x4x4xi1>
  %cst_1 = arith.constant dense<-2.38197633E+38> : tensor<f32>
  %11 = tensor.empty() : tensor<2x2x4x4xf32>
  %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_1 : tensor<f32>) outs(%11 : tensor<2x2x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x4x4xf32>
  %expanded_2 = tensor.expand_shape %12 [[0, 1], [2], [3], [4]] output_shape [1, 2, 2, 4, 4] : tensor<2x2x4x4xf32> into tensor<1x2x2x4x4xf32>
  %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_0, %3, %expanded_2 : tensor<1x2x2x4x4xi1>, tensor<1x2x2x4x4xf32>, tensor<1x2x2x4x4xf32>) outs(%2 : tensor<1x2x2x4x4xf32>) {
  ^bb0(%in: i1, %in_7: f32, %in_8: f32, %out: f32):
    %26 = arith.select %in, %in_7, %in_8 : f32
    linalg.yield %26 : f32
  } -> tensor<1x2x2x4x4xf32>
  %cst_3 = arith.constant 0xFF800000 : f32
  %14 = tensor.empty() : tensor<1x2x2x4xf32>
  %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_3 : f32) outs(%14 : tensor<1x2x2x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x2x4xf32>
  %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%13 : tensor<1x2x2x4x4xf32>) outs(%15 : tensor<1x2x2x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %26 = arith.maximumf %out, %in : f32
    linalg.yield %26 : f32
  } -> tensor<1x2x2x4xf32>
  %expanded_4 = tensor.expand_shape %16 [[0], [1], [2], [3, 4]] output_shape [1, 2, 2, 4, 1] : tensor<1x2x2x4xf32> into tensor<1x2x2x4x1xf32>
  %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, 0)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_4 : tensor<1x2x2x4x1xf32>) outs(%2 : tensor<1x2x2x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x2x4x4xf32>
  %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%13, %17 : tensor<1x2x2x4x4xf32>, tensor<1x2x2x4x4xf32>) outs(%2 : tensor<1x2x2x4x4xf32>) {
  ^bb0(%in: f32, %in_7: f32, %out: f32):
    %26 = arith.subf %in, %in_7 : f32
    linalg.yield %26 : f32
  } -> tensor<1x2x2x4x4xf32>
  %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%18 : tensor<1x2x2x4x4xf32>) outs(%2 : tensor<1x2x2x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %26 = math.exp %in : f32
    linalg.yield %26 : f32
  } -> tensor<1x2x2x4x4xf32>
  %cst_5 = arith.constant 0.000000e+00 : f32
  %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_5 : f32) outs(%14 : tensor<1x2x2x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x2x4xf32>
  %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%19 : tensor<1x2x2x4x4xf32>) outs(%20 : tensor<1x2x2x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %26 = arith.addf %out, %in : f32
    linalg.yield %26 : f32
  } -> tensor<1x2x2x4xf32>
  %expanded_6 = tensor.expand_shape %21 [[0], [1], [2], [3, 4]] output_shape [1, 2, 2, 4, 1] : tensor<1x2x2x4xf32> into tensor<1x2x2x4x1xf32>
  %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, 0)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_6 : tensor<1x2x2x4x1xf32>) outs(%2 : tensor<1x2x2x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x2x4x4xf32>
  %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%19, %22 : tensor<1x2x2x4x4xf32>, tensor<1x2x2x4x4xf32>) outs(%2 : tensor<1x2x2x4x4xf32>) {
  ^bb0(%in: f32, %in_7: f32, %out: f32):
    %26 = arith.divf %in, %in_7 : f32
    linalg.yield %26 : f32
  } -> tensor<1x2x2x4x4xf32>
  %24 = tensor.empty() : tensor<1x2x2x4x4xbf16>
  %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%23 : tensor<1x2x2x4x4xf32>) outs(%24 : tensor<1x2x2x4x4xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %26 = arith.truncf %in : f32 to bf16
    linalg.yield %26 : bf16
  } -> tensor<1x2x2x4x4xbf16>
  epl.yield %25 : tensor<1x2x2x4x4xbf16>
}
epl.kernel @product contraction {
^bb0(%arg0: tensor<1x2x2x4x4xbf16>, %arg1: tensor<2x4x2x8xbf16>):
  %cst = arith.constant 0.000000e+00 : bf16
  %0 = tensor.empty() : tensor<2x4x2x1x8xbf16>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst : bf16) outs(%0 : tensor<2x4x2x1x8xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    linalg.yield %in : bf16
  } -> tensor<2x4x2x1x8xbf16>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d0, d1, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d1, d2)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d1, d3, d2)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<1x2x2x4x4xbf16>, tensor<2x4x2x8xbf16>) outs(%1 : tensor<2x4x2x1x8xbf16>) {
  ^bb0(%in: bf16, %in_0: bf16, %out: bf16):
    %3 = arith.mulf %in, %in_0 : bf16
    %4 = arith.addf %out, %3 : bf16
    linalg.yield %4 : bf16
  } -> tensor<2x4x2x1x8xbf16>
  epl.yield %2 : tensor<2x4x2x1x8xbf16>
} {flops = 1024 : i64, gemm = #epl.gemm<m = 4, n = 8, k = 4, lda = 4, ldb = 16, ldc = 16, transpose_a = false, transpose_b = false, accumulate = false, batch = [2, 32, 64, 64, 2, 16, 8, 8]>}

// -----

// Somebody else reads the softmax, as gradients do.

// CHECK-LABEL: func.func @main
// CHECK: epl.launch @product(
// CHECK-NOT: attention
epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!x = !epl.dist<tensor<2x4x2x8xbf16>, <@mesh, [{}, {}, {}, {}]>>
!p = !epl.dist<tensor<1x2x2x4x4xbf16>, <@mesh, [{}, {}, {}, {}, {}]>>
!o = !epl.dist<tensor<2x4x2x1x8xbf16>, <@mesh, [{}, {}, {}, {}, {}]>>
func.func @main(%q: !x, %k: !x, %v: !x) -> (!o, !p) {
  %0:2 = epl.task <@tg0, forward>(%q, %k, %v) : (!x, !x, !x) -> (!o, !p) {
  ^bb0(%tq: tensor<2x4x2x8xbf16>, %tk: tensor<2x4x2x8xbf16>, %tv: tensor<2x4x2x8xbf16>):
    %expanded = tensor.expand_shape %tq [[0], [1], [2, 3], [4]] output_shape [2, 4, 2, 1, 8] : tensor<2x4x2x8xbf16> into tensor<2x4x2x1x8xbf16>
    %scores = epl.launch @scores(%expanded, %tk) : (tensor<2x4x2x1x8xbf16>, tensor<2x4x2x8xbf16>) -> tensor<2x2x4x1x4xf32>
    %p = epl.launch @softmax(%scores) : (tensor<2x2x4x1x4xf32>) -> tensor<1x2x2x4x4xbf16>
    %o = epl.launch @product(%p, %tv) : (tensor<1x2x2x4x4xbf16>, tensor<2x4x2x8xbf16>) -> tensor<2x4x2x1x8xbf16>
    epl.yield %o, %p : tensor<2x4x2x1x8xbf16>, tensor<1x2x2x4x4xbf16>
  }
  return %0#0, %0#1 : !o, !p
}
epl.kernel @scores contraction {
^bb0(%arg0: tensor<2x4x2x1x8xbf16>, %arg1: tensor<2x4x2x8xbf16>):
  %cst = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x2x4x1x4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst : f32) outs(%0 : tensor<2x2x4x1x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x4x1x4xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d1, d3, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d1, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x2x1x8xbf16>, tensor<2x4x2x8xbf16>) outs(%1 : tensor<2x2x4x1x4xf32>) {
  ^bb0(%in: bf16, %in_0: bf16, %out: f32):
    %3 = arith.extf %in : bf16 to f32
    %4 = arith.extf %in_0 : bf16 to f32
    %5 = arith.mulf %3, %4 : f32
    %6 = arith.addf %out, %5 : f32
    linalg.yield %6 : f32
  } -> tensor<2x2x4x1x4xf32>
  epl.yield %2 : tensor<2x2x4x1x4xf32>
} {flops = 1024 : i64, gemm = #epl.gemm<m = 4, n = 4, k = 8, lda = 16, ldb = 16, ldc = 4, transpose_a = false, transpose_b = true, accumulate = false, batch = [2, 64, 64, 32, 2, 8, 8, 16]>}
epl.kernel @softmax fusion {
^bb0(%arg0: tensor<2x2x4x1x4xf32>):
  %0 = tensor.empty() : tensor<2x2x4x1x4xf32>
  %cst = arith.constant 0.353553385 : f32
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<2x2x4x1x4xf32>) outs(%0 : tensor<2x2x4x1x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %18 = arith.mulf %in, %cst : f32
    linalg.yield %18 : f32
  } -> tensor<2x2x4x1x4xf32>
  %cst_0 = arith.constant 0xFF800000 : f32
  %2 = tensor.empty() : tensor<2x2x4x1xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_0 : f32) outs(%2 : tensor<2x2x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x4x1xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%1 : tensor<2x2x4x1x4xf32>) outs(%3 : tensor<2x2x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %18 = arith.maximumf %out, %in : f32
    linalg.yield %18 : f32
  } -> tensor<2x2x4x1xf32>
  %5 = tensor.empty() : tensor<1x2x2x4xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d2, d3, d0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%4 : tensor<2x2x4x1xf32>) outs(%5 : tensor<1x2x2x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x2x4xf32>
  %7 = tensor.empty() : tensor<1x2x2x4x4xf32>
  %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d0, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%1 : tensor<2x2x4x1x4xf32>) outs(%7 : tensor<1x2x2x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x2x4x4xf32>
  %expanded = tensor.expand_shape %6 [[0], [1], [2], [3, 4]] output_shape [1, 2, 2, 4, 1] : tensor<1x2x2x4xf32> into tensor<1x2x2x4x1xf32>
  %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, 0)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<1x2x2x4x1xf32>) outs(%7 : tensor<1x2x2x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x2x4x4xf32>
  %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%8, %9 : tensor<1x2x2x4x4xf32>, tensor<1x2x2x4x4xf32>) outs(%7 : tensor<1x2x2x4x4xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %18 = arith.subf %in, %in_3 : f32
    linalg.yield %18 : f32
  } -> tensor<1x2x2x4x4xf32>
  %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%10 : tensor<1x2x2x4x4xf32>) outs(%7 : tensor<1x2x2x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %18 = math.exp %in : f32
    linalg.yield %18 : f32
  } -> tensor<1x2x2x4x4xf32>
  %cst_1 = arith.constant 0.000000e+00 : f32
  %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_1 : f32) outs(%5 : tensor<1x2x2x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x2x4xf32>
  %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%11 : tensor<1x2x2x4x4xf32>) outs(%12 : tensor<1x2x2x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %18 = arith.addf %out, %in : f32
    linalg.yield %18 : f32
  } -> tensor<1x2x2x4xf32>
  %expanded_2 = tensor.expand_shape %13 [[0], [1], [2], [3, 4]] output_shape [1, 2, 2, 4, 1] : tensor<1x2x2x4xf32> into tensor<1x2x2x4x1xf32>
  %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, 0)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_2 : tensor<1x2x2x4x1xf32>) outs(%7 : tensor<1x2x2x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x2x4x4xf32>
  %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%11, %14 : tensor<1x2x2x4x4xf32>, tensor<1x2x2x4x4xf32>) outs(%7 : tensor<1x2x2x4x4xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %18 = arith.divf %in, %in_3 : f32
    linalg.yield %18 : f32
  } -> tensor<1x2x2x4x4xf32>
  %16 = tensor.empty() : tensor<1x2x2x4x4xbf16>
  %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%15 : tensor<1x2x2x4x4xf32>) outs(%16 : tensor<1x2x2x4x4xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %18 = arith.truncf %in : f32 to bf16
    linalg.yield %18 : bf16
  } -> tensor<1x2x2x4x4xbf16>
  epl.yield %17 : tensor<1x2x2x4x4xbf16>
}
epl.kernel @product contraction {
^bb0(%arg0: tensor<1x2x2x4x4xbf16>, %arg1: tensor<2x4x2x8xbf16>):
  %cst = arith.constant 0.000000e+00 : bf16
  %0 = tensor.empty() : tensor<2x4x2x1x8xbf16>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst : bf16) outs(%0 : tensor<2x4x2x1x8xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    linalg.yield %in : bf16
  } -> tensor<2x4x2x1x8xbf16>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d0, d1, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d1, d2)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d1, d3, d2)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<1x2x2x4x4xbf16>, tensor<2x4x2x8xbf16>) outs(%1 : tensor<2x4x2x1x8xbf16>) {
  ^bb0(%in: bf16, %in_0: bf16, %out: bf16):
    %3 = arith.mulf %in, %in_0 : bf16
    %4 = arith.addf %out, %3 : bf16
    linalg.yield %4 : bf16
  } -> tensor<2x4x2x1x8xbf16>
  epl.yield %2 : tensor<2x4x2x1x8xbf16>
} {flops = 1024 : i64, gemm = #epl.gemm<m = 4, n = 8, k = 4, lda = 4, ldb = 16, ldc = 16, transpose_a = false, transpose_b = false, accumulate = false, batch = [2, 32, 64, 64, 2, 16, 8, 8]>}
