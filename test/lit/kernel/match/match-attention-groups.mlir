// RUN: epl-opt %s --epl-match-contractions --epl-match-attention | FileCheck %s
// RUN: sed 's/-> (g, b, k, t, s)/-> (b, k, g, t, s)/; s/-> (g, b, k, t)/-> (b, k, g, t)/; s/3x2x2x4/2x2x3x4/' %s | epl-opt --epl-match-contractions --epl-match-attention | FileCheck %s
// RUN: sed 's/2x4x2x3x8/2x4x1x3x8/; s/2x5x2x8/2x5x1x8/; s/3x2x2x4/3x2x1x4/' %s | epl-opt --epl-match-contractions --epl-match-attention | FileCheck %s --check-prefix=ONE
// RUN: sed 's/-> (b, t, k, g, d)/-> (b, k, g, t, d)/; s/2x4x2x3x8/2x2x3x4x8/; s/-> (g, b, k, t, s)/-> (b, k, g, t, s)/; s/-> (g, b, k, t)/-> (b, k, g, t)/; s/3x2x2x4/2x2x3x4/' %s | epl-opt --epl-match-contractions --epl-match-attention | FileCheck %s --check-prefix=TURNED
// RUN: sed 's/-> (b, t, k, g, d)/-> (b, t, g, k, d)/; s/2x4x2x3x8/2x4x3x2x8/' %s | epl-opt --epl-match-contractions --epl-match-attention | FileCheck %s --check-prefix=NONE
// RUN: sed 's/^#v = .*(b, s, k, d)/#v = affine_map<(g, b, k, t, s, d) -> (b, s, k, g, d)/; s/^!v = .*/!v = tensor<2x5x2x3x8xbf16>/; s/^#sums_v = .*/#sums_v = #sums_t/; /^!dv =/s/\[{}/[{}, {}/' %s | epl-opt --epl-match-contractions --epl-match-attention | FileCheck %s --check-prefix=NONE
// RUN: sed 's/^#\([kv]\) = .*(b, s, k, d)/#\1 = affine_map<(g, b, k, t, s, d) -> (b, s, k, g, d)/; s/2x5x2x8/2x5x2x3x8/; s/^#sums_[vk] = .*//; s/#sums_[vk]/#sums_t/; s/(d0, d1, d2, d3) -> (d0, d1, d2, d3)/(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)/g; s/\["parallel", "parallel", "parallel", "parallel"\]/["parallel", "parallel", "parallel", "parallel", "parallel"]/; /^!d[kv] =/s/\[{}/[{}, {}/' %s | epl-opt --epl-match-contractions --epl-match-attention | FileCheck %s --check-prefix=NONE
// RUN: sed 's/@dk(%%ds, %%q)/@dk(%%ds, %%do)/' %s | epl-opt --epl-match-contractions --epl-match-attention | FileCheck %s --check-prefix=NONE
// RUN: sed 's/cmpi sge, %%i, %%j : index \/\/ of rows/cmpi sge, %%g, %%j : index/' %s | epl-opt --epl-match-contractions --epl-match-attention | FileCheck %s --check-prefix=NONE

// Three heads of q for each of k and v, whose gradients are sums over these: k and v have a step of 0 along the loop
// over a group. The heads of q stand side by side, so they are six with one step; scores may be in any order. With one
// head of k and v there is nothing beside the group. Where products have the positions of a group's heads as one loop
// they get two. Near misses are heads of a group that do not stand side by side, v with more heads than k, as many heads
// of k and v as of q that have no one step, a gradient of another tensor, and a mask of other rows.

// CHECK-LABEL: func.func @main
// CHECK: epl.launch @product_attention(%{{.*}}) : ({{.*}}) -> (tensor<2x4x2x3x8xbf16>, tensor<{{3x2x2|2x2x3}}x4xf32>)
// CHECK: epl.launch @attention_gradient(
// CHECK: attention_gradient = #epl.attention_gradient<parts = 7, steps = [192, 8, 48, 80, 8, 16, 80, 8, 16, 192, 8, 48, 80, 8, 16, 80, 8, 16, 192, 8, 48, 192, 8, 48]>
// ONE-LABEL: func.func @main
// ONE: epl.launch @product_attention(
// ONE: attention_gradient = #epl.attention_gradient<parts = 7, steps = [96, 8, 24, 40, 40, 8, 40, 40, 8, 96, 8, 24, 40, 40, 8, 40, 40, 8, 96, 8, 24, 96, 8, 24]>
// TURNED-LABEL: func.func @main
// TURNED: epl.launch @scores_0(
// TURNED: epl.launch @product_attention(
// TURNED: epl.kernel @scores_0
// TURNED: gemm = #epl.gemm<m = 4, n = 5, k = 8, {{.*}}transpose_b = true
// TURNED: epl.kernel @product_attention
// TURNED: gemm = #epl.gemm<m = 4, n = 8, k = 5,
// TURNED: attention_gradient = #epl.attention_gradient<parts = 7, steps = [192, 32, 8, 80, 8, 16, 80, 8, 16, 192, 32, 8, 80, 8, 16, 80, 8, 16, 192, 32, 8, 192, 32, 8]>
// NONE-LABEL: func.func @main
// NONE-NOT: attention
epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
#q = affine_map<(g, b, k, t, s, d) -> (b, t, k, g, d)>
#k = affine_map<(g, b, k, t, s, d) -> (b, s, k, d)>
#v = affine_map<(g, b, k, t, s, d) -> (b, s, k, d)>
#p = affine_map<(g, b, k, t, s, d) -> (g, b, k, t, s)>
#whole = affine_map<(g, b, k, t, s) -> (g, b, k, t, s)>
#row = affine_map<(g, b, k, t, s) -> (g, b, k, t)>
#sums_t = ["parallel", "parallel", "parallel", "reduction", "parallel", "parallel"]
#sums_v = ["reduction", "parallel", "parallel", "reduction", "parallel", "parallel"]
#sums_k = ["reduction", "parallel", "parallel", "reduction", "parallel", "parallel"]
!q = tensor<2x4x2x3x8xbf16>
!k = tensor<2x5x2x8xbf16>
!v = tensor<2x5x2x8xbf16>
!wide_q = tensor<2x4x2x3x8xf32>
!wide_k = tensor<2x5x2x8xf32>
!p = tensor<3x2x2x4x5xbf16>
!s = tensor<3x2x2x4x5xf32>
!r = tensor<3x2x2x4xf32>
!dq = !epl.dist<!q, <@mesh, [{}, {}, {}, {}, {}]>>
!dp = !epl.dist<!p, <@mesh, [{}, {}, {}, {}, {}]>>
!ds = !epl.dist<!s, <@mesh, [{}, {}, {}, {}, {}]>>
!dr = !epl.dist<!r, <@mesh, [{}, {}, {}, {}]>>
!dk = !epl.dist<!k, <@mesh, [{}, {}, {}, {}]>>
!dv = !epl.dist<!v, <@mesh, [{}, {}, {}, {}]>>
func.func @main(%aq: !dq, %ak: !dk, %av: !dv, %ado: !dq) -> (!dq, !dk, !dv) {
  %0:3 = epl.task <@tg0, forward>(%aq, %ak, %av) : (!dq, !dk, !dv) -> (!ds, !dr, !dp) {
  ^bb0(%q: !q, %k: !k, %v: !v):
    %scores = epl.launch @scores(%q, %k) : (!q, !k) -> !s
    %e, %s, %p = epl.launch @softmax(%scores) : (!s) -> (!s, !r, !p)
    %o = epl.launch @product(%p, %v) : (!p, !v) -> !q
    epl.yield %e, %s, %p : !s, !r, !p
  }
  %1:3 = epl.task <@tg0, backward>(%ado, %aq, %ak, %av, %0#0, %0#1, %0#2) : (!dq, !dq, !dk, !dv, !ds, !dr, !dp) -> (!dq, !dk, !dv) {
  ^bb0(%do: !q, %q: !q, %k: !k, %v: !v, %e: !s, %s: !r, %p: !p):
    %dv = epl.launch @dv(%p, %do) : (!p, !q) -> !v
    %dp = epl.launch @dp(%do, %v) : (!q, !v) -> !p
    %ds = epl.launch @ds(%s, %dp, %e) : (!r, !p, !s) -> !s
    %wide_dq = epl.launch @dq(%ds, %k) : (!s, !k) -> !wide_q
    %dq = epl.launch @round_q(%wide_dq) : (!wide_q) -> !q
    %wide_dk = epl.launch @dk(%ds, %q) : (!s, !q) -> !wide_k
    %dk = epl.launch @round_k(%wide_dk) : (!wide_k) -> !k
    epl.yield %dq, %dk, %dv : !q, !k, !v
  }
  return %1#0, %1#1, %1#2 : !dq, !dk, !dv
}
epl.kernel @scores contraction {
^bb0(%a: !q, %b: !k):
  %zero = arith.constant dense<0.0> : !s
  %c = linalg.generic {indexing_maps = [#q, #k, #p], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : !q, !k) outs(%zero : !s) {
  ^bb0(%x: bf16, %y: bf16, %out: f32):
    %3 = arith.extf %x : bf16 to f32
    %4 = arith.extf %y : bf16 to f32
    %5 = arith.mulf %3, %4 : f32
    %6 = arith.addf %out, %5 : f32
    linalg.yield %6 : f32
  } -> !s
  epl.yield %c : !s
}
epl.kernel @softmax fusion {
^bb0(%x: !s):
  %scale = arith.constant 0.25 : f32
  %low = arith.constant -1.0e38 : f32
  %least = arith.constant dense<0xFF800000> : !r
  %zero = arith.constant dense<0.0> : !r
  %e = tensor.empty() : !s
  %score = linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%x : !s) outs(%e : !s) {
  ^bb0(%in: f32, %out: f32):
    %g = linalg.index 0 : index
    %i = linalg.index 3 : index
    %j = linalg.index 4 : index
    %1 = arith.mulf %in, %scale : f32
    %2 = arith.cmpi sge, %i, %j : index // of rows
    %3 = arith.select %2, %1, %low : f32
    linalg.yield %3 : f32
  } -> !s
  %most = linalg.generic {indexing_maps = [#whole, #row], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%score : !s) outs(%least : !r) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.maximumf %out, %in : f32
    linalg.yield %1 : f32
  } -> !r
  %exp = linalg.generic {indexing_maps = [#whole, #row, #whole], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%score, %most : !s, !r) outs(%e : !s) {
  ^bb0(%in: f32, %max: f32, %out: f32):
    %1 = arith.subf %in, %max : f32
    %2 = math.exp %1 : f32
    linalg.yield %2 : f32
  } -> !s
  %sum = linalg.generic {indexing_maps = [#whole, #row], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%exp : !s) outs(%zero : !r) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %out, %in : f32
    linalg.yield %1 : f32
  } -> !r
  %narrow = tensor.empty() : !p
  %p = linalg.generic {indexing_maps = [#whole, #row, #whole], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%exp, %sum : !s, !r) outs(%narrow : !p) {
  ^bb0(%in: f32, %all: f32, %out: bf16):
    %1 = arith.divf %in, %all : f32
    %2 = arith.truncf %1 : f32 to bf16
    linalg.yield %2 : bf16
  } -> !p
  epl.yield %exp, %sum, %p : !s, !r, !p
}
epl.kernel @product contraction {
^bb0(%a: !p, %b: !v):
  %zero = arith.constant dense<0.0> : !q
  %c = linalg.generic {indexing_maps = [#p, #v, #q], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "parallel"]} ins(%a, %b : !p, !v) outs(%zero : !q) {
  ^bb0(%x: bf16, %y: bf16, %out: bf16):
    %5 = arith.mulf %x, %y : bf16
    %6 = arith.addf %out, %5 : bf16
    linalg.yield %6 : bf16
  } -> !q
  epl.yield %c : !q
}
epl.kernel @dv contraction {
^bb0(%a: !p, %b: !q):
  %zero = arith.constant dense<0.0> : !v
  %c = linalg.generic {indexing_maps = [#p, #q, #v], iterator_types = #sums_v} ins(%a, %b : !p, !q) outs(%zero : !v) {
  ^bb0(%x: bf16, %y: bf16, %out: bf16):
    %5 = arith.mulf %x, %y : bf16
    %6 = arith.addf %out, %5 : bf16
    linalg.yield %6 : bf16
  } -> !v
  epl.yield %c : !v
}
epl.kernel @dp contraction {
^bb0(%a: !q, %b: !v):
  %zero = arith.constant dense<0.0> : !p
  %c = linalg.generic {indexing_maps = [#q, #v, #p], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : !q, !v) outs(%zero : !p) {
  ^bb0(%x: bf16, %y: bf16, %out: bf16):
    %5 = arith.mulf %x, %y : bf16
    %6 = arith.addf %out, %5 : bf16
    linalg.yield %6 : bf16
  } -> !p
  epl.yield %c : !p
}
epl.kernel @ds fusion {
^bb0(%s: !r, %dp: !p, %e: !s):
  %scale = arith.constant 0.25 : f32
  %zero = arith.constant dense<0.0> : !r
  %any = tensor.empty() : !s
  %each = linalg.generic {indexing_maps = [#whole, #whole, #row, #whole], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%dp, %e, %s : !p, !s, !r) outs(%any : !s) {
  ^bb0(%d: bf16, %x: f32, %all: f32, %out: f32):
    %1 = arith.extf %d : bf16 to f32
    %2 = arith.divf %x, %all : f32
    %3 = arith.mulf %1, %2 : f32
    linalg.yield %3 : f32
  } -> !s
  %sum = linalg.generic {indexing_maps = [#whole, #row], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%each : !s) outs(%zero : !r) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %out, %in : f32
    linalg.yield %1 : f32
  } -> !r
  %y = linalg.generic {indexing_maps = [#whole, #whole, #row, #row, #whole], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%dp, %e, %s, %sum : !p, !s, !r, !r) outs(%any : !s) {
  ^bb0(%d: bf16, %x: f32, %all: f32, %row: f32, %out: f32):
    %1 = arith.extf %d : bf16 to f32
    %2 = arith.divf %x, %all : f32
    %3 = arith.subf %1, %row : f32
    %4 = arith.mulf %3, %2 : f32
    %5 = arith.mulf %4, %scale : f32
    linalg.yield %5 : f32
  } -> !s
  epl.yield %y : !s
}
epl.kernel @dq contraction {
^bb0(%a: !s, %b: !k):
  %zero = arith.constant dense<0.0> : !wide_q
  %c = linalg.generic {indexing_maps = [#p, #k, #q], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "parallel"]} ins(%a, %b : !s, !k) outs(%zero : !wide_q) {
  ^bb0(%x: f32, %y: bf16, %out: f32):
    %4 = arith.extf %y : bf16 to f32
    %5 = arith.mulf %x, %4 : f32
    %6 = arith.addf %out, %5 : f32
    linalg.yield %6 : f32
  } -> !wide_q
  epl.yield %c : !wide_q
}
epl.kernel @dk contraction {
^bb0(%a: !s, %b: !q):
  %zero = arith.constant dense<0.0> : !wide_k
  %c = linalg.generic {indexing_maps = [#p, #q, #k], iterator_types = #sums_k} ins(%a, %b : !s, !q) outs(%zero : !wide_k) {
  ^bb0(%x: f32, %y: bf16, %out: f32):
    %4 = arith.extf %y : bf16 to f32
    %5 = arith.mulf %x, %4 : f32
    %6 = arith.addf %out, %5 : f32
    linalg.yield %6 : f32
  } -> !wide_k
  epl.yield %c : !wide_k
}
epl.kernel @round_q fusion {
^bb0(%x: !wide_q):
  %e = tensor.empty() : !q
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%x : !wide_q) outs(%e : !q) {
  ^bb0(%in: f32, %out: bf16):
    %1 = arith.truncf %in : f32 to bf16
    linalg.yield %1 : bf16
  } -> !q
  epl.yield %y : !q
}
epl.kernel @round_k fusion {
^bb0(%x: !wide_k):
  %e = tensor.empty() : !k
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : !wide_k) outs(%e : !k) {
  ^bb0(%in: f32, %out: bf16):
    %1 = arith.truncf %in : f32 to bf16
    linalg.yield %1 : bf16
  } -> !k
  epl.yield %y : !k
}
