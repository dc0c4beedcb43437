// RUN: epl-opt %s --epl-match-contractions --epl-match-attention | FileCheck %s
// RUN: sed 's/dense<0.0> : !k \/\/ of the sum/dense<1.0> : !k/' %s | epl-opt --epl-match-contractions --epl-match-attention | FileCheck %s --check-prefix=NONE
// RUN: sed 's/%%1 = arith.addf %%out, %%in : bf16/%%1 = arith.maximumf %%out, %%in : bf16/' %s | epl-opt --epl-match-contractions --epl-match-attention | FileCheck %s --check-prefix=NONE
// RUN: sed 's/= epl.launch @sum(%%each_dk)/= epl.launch @sum(%%each_dv)/' %s | epl-opt --epl-match-contractions --epl-match-attention | FileCheck %s --check-prefix=NONE
// RUN: sed 's/2x4x2x3x8/2x4x2x2x8/; s/2x5x2x3x8/2x5x2x2x8/; s/3x2x2x4/2x2x2x4/; s/-> (b, s, k, d)>\], iterator_types = \["parallel", "parallel", "parallel", "reduction", "parallel"\]/-> (b, s, g, d)>], iterator_types = ["parallel", "parallel", "reduction", "parallel", "parallel"]/' %s | epl-opt --epl-match-contractions --epl-match-attention | FileCheck %s --check-prefix=NONE

// Gradients of k and v for each head of q, which are added up over the heads that share these, as programs do that
// repeat k and v: the sums are parts, too. Near misses are a sum that does not start from 0, a maximum, another reader
// of what is added up, and a sum over the groups.

// CHECK-LABEL: func.func @main
// CHECK: epl.launch @product_attention(%{{.*}}) : ({{.*}}) -> (tensor<2x4x2x3x8xbf16>, tensor<3x2x2x4xf32>)
// CHECK: %[[EACH:.*]] = epl.launch @dv(
// CHECK: %[[DV:.*]] = epl.launch @sum(%[[EACH]])
// CHECK: %[[DK:.*]] = epl.launch @sum(
// CHECK: epl.launch @attention_gradient(%{{.*}}, %[[DK]], %[[DV]],
// CHECK: attention_gradient = #epl.attention_gradient<parts = 9, steps = [192, 8, 48, 80, 8, 16, 80, 8, 16, 192, 8, 48, 80, 8, 16, 80, 8, 16, 192, 8, 48, 192, 8, 48]>
// NONE-LABEL: func.func @main
// NONE-NOT: attention
epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
#q = affine_map<(g, b, k, t, s, d) -> (b, t, k, g, d)>
#k = affine_map<(g, b, k, t, s, d) -> (b, s, k, d)>
#v = affine_map<(g, b, k, t, s, d) -> (b, s, k, d)>
#each = affine_map<(g, b, k, t, s, d) -> (b, s, k, g, d)>
#p = affine_map<(g, b, k, t, s, d) -> (g, b, k, t, s)>
#whole = affine_map<(g, b, k, t, s) -> (g, b, k, t, s)>
#row = affine_map<(g, b, k, t, s) -> (g, b, k, t)>
#sums_t = ["parallel", "parallel", "parallel", "reduction", "parallel", "parallel"]
!q = tensor<2x4x2x3x8xbf16>
!k = tensor<2x5x2x8xbf16>
!v = tensor<2x5x2x8xbf16>
!wide_q = tensor<2x4x2x3x8xf32>
!each = tensor<2x5x2x3x8xbf16>
!wide_each = tensor<2x5x2x3x8xf32>
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
    %each_dv = epl.launch @dv(%p, %do) : (!p, !q) -> !each
    %dv = epl.launch @sum(%each_dv) : (!each) -> !v
    %dp = epl.launch @dp(%do, %v) : (!q, !v) -> !p
    %ds = epl.launch @ds(%s, %dp, %e) : (!r, !p, !s) -> !s
    %wide_dq = epl.launch @dq(%ds, %k) : (!s, !k) -> !wide_q
    %dq = epl.launch @round_q(%wide_dq) : (!wide_q) -> !q
    %wide_dk = epl.launch @dk(%ds, %q) : (!s, !q) -> !wide_each
    %each_dk = epl.launch @round_each(%wide_dk) : (!wide_each) -> !each
    %dk = epl.launch @sum(%each_dk) : (!each) -> !k
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
  %zero = arith.constant dense<0.0> : !each
  %c = linalg.generic {indexing_maps = [#p, #q, #each], iterator_types = #sums_t} ins(%a, %b : !p, !q) outs(%zero : !each) {
  ^bb0(%x: bf16, %y: bf16, %out: bf16):
    %5 = arith.mulf %x, %y : bf16
    %6 = arith.addf %out, %5 : bf16
    linalg.yield %6 : bf16
  } -> !each
  epl.yield %c : !each
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
  %zero = arith.constant dense<0.0> : !wide_each
  %c = linalg.generic {indexing_maps = [#p, #q, #each], iterator_types = #sums_t} ins(%a, %b : !s, !q) outs(%zero : !wide_each) {
  ^bb0(%x: f32, %y: bf16, %out: f32):
    %4 = arith.extf %y : bf16 to f32
    %5 = arith.mulf %x, %4 : f32
    %6 = arith.addf %out, %5 : f32
    linalg.yield %6 : f32
  } -> !wide_each
  epl.yield %c : !wide_each
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
epl.kernel @round_each fusion {
^bb0(%x: !wide_each):
  %e = tensor.empty() : !each
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%x : !wide_each) outs(%e : !each) {
  ^bb0(%in: f32, %out: bf16):
    %1 = arith.truncf %in : f32 to bf16
    linalg.yield %1 : bf16
  } -> !each
  epl.yield %y : !each
}
epl.kernel @sum fusion {
^bb0(%x: !each):
  %zero = arith.constant dense<0.0> : !k // of the sum
  %y = linalg.generic {indexing_maps = [affine_map<(b, s, k, g, d) -> (b, s, k, g, d)>, affine_map<(b, s, k, g, d) -> (b, s, k, d)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]} ins(%x : !each) outs(%zero : !k) {
  ^bb0(%in: bf16, %out: bf16):
    %1 = arith.addf %out, %in : bf16
    linalg.yield %1 : bf16
  } -> !k
  epl.yield %y : !k
}
