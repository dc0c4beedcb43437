// RUN: epl-opt %s --epl-match-attention | FileCheck %s
// RUN: sed 's/%%2 = math.exp %%1/%%2 = math.exp2 %%1/' %s | epl-opt --epl-match-attention | FileCheck %s --check-prefix=NONE
// RUN: sed 's/%%2 = arith.addf %%out, %%1/%%2 = arith.addf %%1, %%1/' %s | epl-opt --epl-match-attention | FileCheck %s --check-prefix=NONE

// Scores, exponentials and weights are all rounded to 16 bits, and only the sum is in f32, which widens what it adds:
// roundings are not looked at, since a library has fewer. Another base, and what is no sum, are near misses.

// CHECK-LABEL: func.func @main
// CHECK: epl.launch @product_attention(
// CHECK: attention = #epl.attention<scale = 2.500000e-01 : f32, causal = false>
// NONE-LABEL: func.func @main
// NONE-NOT: attention
epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!h = !epl.dist<tensor<2x3x4x8xbf16>, <@mesh, [{}, {}, {}, {}]>>
#id4 = affine_map<(b, h, t, s) -> (b, h, t, s)>
#row = affine_map<(b, h, t, s) -> (b, h, t)>
func.func @main(%aq: !h, %ak: !h, %av: !h) -> !h {
  %0 = epl.task <@tg0, forward>(%aq, %ak, %av) : (!h, !h, !h) -> !h {
  ^bb0(%q: tensor<2x3x4x8xbf16>, %k: tensor<2x3x4x8xbf16>, %v: tensor<2x3x4x8xbf16>):
    %scores = epl.launch @scores(%q, %k) : (tensor<2x3x4x8xbf16>, tensor<2x3x4x8xbf16>) -> tensor<2x3x4x4xbf16>
    %p = epl.launch @softmax(%scores) : (tensor<2x3x4x4xbf16>) -> tensor<2x3x4x4xbf16>
    %o = epl.launch @product(%p, %v) : (tensor<2x3x4x4xbf16>, tensor<2x3x4x8xbf16>) -> tensor<2x3x4x8xbf16>
    epl.yield %o : tensor<2x3x4x8xbf16>
  }
  return %0 : !h
}
epl.kernel @scores contraction {
^bb0(%q: tensor<2x3x4x8xbf16>, %k: tensor<2x3x4x8xbf16>):
  %zero = arith.constant dense<0.0> : tensor<2x3x4x4xbf16>
  %y = linalg.generic {indexing_maps = [affine_map<(b, h, t, s, d) -> (b, h, t, d)>, affine_map<(b, h, t, s, d) -> (b, h, s, d)>, affine_map<(b, h, t, s, d) -> (b, h, t, s)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : tensor<2x3x4x8xbf16>, tensor<2x3x4x8xbf16>) outs(%zero : tensor<2x3x4x4xbf16>) {
  ^bb0(%a: bf16, %c: bf16, %out: bf16):
    %5 = arith.mulf %a, %c : bf16
    %6 = arith.addf %out, %5 : bf16
    linalg.yield %6 : bf16
  } -> tensor<2x3x4x4xbf16>
  epl.yield %y : tensor<2x3x4x4xbf16>
} {gemm = #epl.gemm<m = 4, n = 4, k = 8, lda = 8, ldb = 8, ldc = 4, transpose_a = false, transpose_b = true, accumulate = false, batch = [6, 32, 32, 16]>}
epl.kernel @softmax fusion {
^bb0(%x: tensor<2x3x4x4xbf16>):
  %scale = arith.constant 0.25 : bf16
  %least = arith.constant dense<0xFF80> : tensor<2x3x4xbf16>
  %zero = arith.constant dense<0.0> : tensor<2x3x4xf32>
  %e = tensor.empty() : tensor<2x3x4x4xbf16>
  %score = linalg.generic {indexing_maps = [#id4, #id4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : tensor<2x3x4x4xbf16>) outs(%e : tensor<2x3x4x4xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %1 = arith.mulf %in, %scale : bf16
    linalg.yield %1 : bf16
  } -> tensor<2x3x4x4xbf16>
  %most = linalg.generic {indexing_maps = [#id4, #row], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%score : tensor<2x3x4x4xbf16>) outs(%least : tensor<2x3x4xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %1 = arith.maximumf %out, %in : bf16
    linalg.yield %1 : bf16
  } -> tensor<2x3x4xbf16>
  %exp = linalg.generic {indexing_maps = [#id4, #row, #id4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%score, %most : tensor<2x3x4x4xbf16>, tensor<2x3x4xbf16>) outs(%e : tensor<2x3x4x4xbf16>) {
  ^bb0(%in: bf16, %max: bf16, %out: bf16):
    %1 = arith.subf %in, %max : bf16
    %2 = math.exp %1 : bf16
    linalg.yield %2 : bf16
  } -> tensor<2x3x4x4xbf16>
  %sum = linalg.generic {indexing_maps = [#id4, #row], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%exp : tensor<2x3x4x4xbf16>) outs(%zero : tensor<2x3x4xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %1 = arith.extf %in : bf16 to f32
    %2 = arith.addf %out, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3x4xf32>
  %p = linalg.generic {indexing_maps = [#id4, #row, #id4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%exp, %sum : tensor<2x3x4x4xbf16>, tensor<2x3x4xf32>) outs(%e : tensor<2x3x4x4xbf16>) {
  ^bb0(%in: bf16, %all: f32, %out: bf16):
    %1 = arith.truncf %all : f32 to bf16
    %2 = arith.divf %in, %1 : bf16
    linalg.yield %2 : bf16
  } -> tensor<2x3x4x4xbf16>
  epl.yield %p : tensor<2x3x4x4xbf16>
}
epl.kernel @product contraction {
^bb0(%p: tensor<2x3x4x4xbf16>, %v: tensor<2x3x4x8xbf16>):
  %zero = arith.constant dense<0.0> : tensor<2x3x4x8xbf16>
  %y = linalg.generic {indexing_maps = [affine_map<(b, h, t, d, s) -> (b, h, t, s)>, affine_map<(b, h, t, d, s) -> (b, h, s, d)>, affine_map<(b, h, t, d, s) -> (b, h, t, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%p, %v : tensor<2x3x4x4xbf16>, tensor<2x3x4x8xbf16>) outs(%zero : tensor<2x3x4x8xbf16>) {
  ^bb0(%a: bf16, %c: bf16, %out: bf16):
    %5 = arith.mulf %a, %c : bf16
    %6 = arith.addf %out, %5 : bf16
    linalg.yield %6 : bf16
  } -> tensor<2x3x4x8xbf16>
  epl.yield %y : tensor<2x3x4x8xbf16>
} {gemm = #epl.gemm<m = 4, n = 8, k = 4, lda = 4, ldb = 8, ldc = 8, transpose_a = false, transpose_b = false, accumulate = false, batch = [6, 16, 32, 32]>}
