// RUN: epl-opt %s --epl-match-attention | FileCheck %s
// RUN: sed 's/dense<-1.0e38>/dense<0.0>/' %s | epl-opt --epl-match-attention | FileCheck %s --check-prefix=NONE
// RUN: sed 's/0.25 : f32 \/\/ of the gradient/0.5 : f32/' %s | epl-opt --epl-match-attention | FileCheck %s --check-prefix=NONE
// RUN: sed 's/cmpi sge/cmpi sgt/' %s | epl-opt --epl-match-attention | FileCheck %s --check-prefix=NONE
// RUN: sed 's/%%2 = arith.cmpi sge.*mask alone/%%2 = arith.cmpi sle, %%i, %%j : index/' %s | epl-opt --epl-match-attention | FileCheck %s --check-prefix=NONE
// RUN: sed 's/arith.subf %%weighted, %%row/arith.addf %%weighted, %%row/' %s | epl-opt --epl-match-attention | FileCheck %s --check-prefix=NONE
// RUN: sed 's/@dq(%%ds, %%k)/@dq(%%ds, %%v)/' %s | epl-opt --epl-match-attention | FileCheck %s --check-prefix=NONE
// RUN: sed 's/@round(%%wide_dk)/@round(%%wide_dq)/' %s | epl-opt --epl-match-attention | FileCheck %s --check-prefix=NONE
// RUN: sed 's/linalg.yield %%3 : f32/linalg.yield %%1 : f32/' %s | epl-opt --epl-match-attention | FileCheck %s --check-prefix=NONE
// RUN: sed 's/%%5 = arith.select %%kept, %%4, %%none/%%5 = arith.addf %%4, %%none/' %s | epl-opt --epl-match-attention | FileCheck %s

// A causal softmax, whose exponentials and sums the gradient reads in another task, and the mask that a launch of its
// own makes: the launches of the gradient stand together, and one behind them for what a library does. It gets o and
// the rows of the attention, which the tasks hand on. Near misses are a mask that masks nothing, another scale, another
// mask, another one of the gradient alone, a sum for a difference, another tensor, another reader of what the launches
// hand to one another, and a mask of the gradient alone. The other way round what is masked is 0 in any case.

// CHECK-LABEL: func.func @main
// CHECK: epl.launch @product_attention(%{{.*}}) : ({{.*}}) -> (tensor<2x3x4x8xbf16>, tensor<6x4xf32>)
// CHECK: epl.task <@tg0, apply>
// CHECK-SAME: -> (!epl.dist<tensor<2x3x4x8xbf16>
// CHECK: ^bb0(%[[DO:.*]]: tensor<2x3x4x8xbf16>, %[[Q:.*]]: tensor<2x3x4x8xbf16>, %[[K:.*]]: tensor<2x3x4x8xbf16>, %[[V:.*]]: tensor<2x3x4x8xbf16>, {{.*}}, %[[O:.*]]: tensor<2x3x4x8xbf16>, %[[ROWS:.*]]: tensor<6x4xf32>):
// CHECK-NEXT: %[[TWICE:.*]] = epl.launch @twice(%[[DO]])
// CHECK-NEXT: %[[DV:.*]] = epl.launch @dv
// CHECK-NEXT: epl.launch @dp
// CHECK-NEXT: epl.launch @ds
// CHECK-NEXT: epl.launch @dq
// CHECK-NEXT: %[[DQ:.*]] = epl.launch @round
// CHECK-NEXT: epl.launch @dk
// CHECK-NEXT: %[[DK:.*]] = epl.launch @round
// CHECK-NEXT: %[[G:.*]]:3 = epl.launch @attention_gradient(%[[DQ]], %[[DK]], %[[DV]], %[[Q]], %[[K]], %[[V]], %[[O]], %[[TWICE]], %[[ROWS]])
// CHECK-NEXT: %[[LAST:.*]] = epl.launch @twice(%[[G]]#2)
// CHECK-NEXT: epl.yield %[[G]]#0, %[[G]]#1, %[[LAST]]
// CHECK: epl.kernel @attention_gradient fusion
// CHECK: attention_gradient = #epl.attention_gradient<parts = 7, steps = [32, 32, 8, 32, 32, 8,
// NONE-LABEL: func.func @main
// NONE-NOT: attention
epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!h = !epl.dist<tensor<2x3x4x8xbf16>, <@mesh, [{}, {}, {}, {}]>>
!s = !epl.dist<tensor<2x3x4x4xf32>, <@mesh, [{}, {}, {}, {}]>>
!p = !epl.dist<tensor<2x3x4x4xbf16>, <@mesh, [{}, {}, {}, {}]>>
!r = !epl.dist<tensor<2x3x4xf32>, <@mesh, [{}, {}, {}]>>
!m = !epl.dist<tensor<4x4xi1>, <@mesh, [{}, {}]>>
func.func @main(%aq: !h, %ak: !h, %av: !h, %ado: !h) -> (!h, !h, !h) {
  %0:4 = epl.task <@tg0, forward>(%aq, %ak, %av) : (!h, !h, !h) -> (!s, !r, !p, !m) {
  ^bb0(%q: tensor<2x3x4x8xbf16>, %k: tensor<2x3x4x8xbf16>, %v: tensor<2x3x4x8xbf16>):
    %scores = epl.launch @scores(%q, %k) : (tensor<2x3x4x8xbf16>, tensor<2x3x4x8xbf16>) -> tensor<2x3x4x4xf32>
    %e, %s, %p = epl.launch @softmax(%scores) : (tensor<2x3x4x4xf32>) -> (tensor<2x3x4x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4x4xbf16>)
    %o = epl.launch @product(%p, %v) : (tensor<2x3x4x4xbf16>, tensor<2x3x4x8xbf16>) -> tensor<2x3x4x8xbf16>
    %mask = epl.launch @mask() : () -> tensor<4x4xi1>
    epl.yield %e, %s, %p, %mask : tensor<2x3x4x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4x4xbf16>, tensor<4x4xi1>
  }
  %1:3 = epl.task <@tg0, apply>(%ado, %aq, %ak, %av, %0#0, %0#1, %0#2, %0#3) : (!h, !h, !h, !h, !s, !r, !p, !m) -> (!h, !h, !h) {
  ^bb0(%ddo: tensor<2x3x4x8xbf16>, %q: tensor<2x3x4x8xbf16>, %k: tensor<2x3x4x8xbf16>, %v: tensor<2x3x4x8xbf16>, %e: tensor<2x3x4x4xf32>, %s: tensor<2x3x4xf32>, %p: tensor<2x3x4x4xbf16>, %mask: tensor<4x4xi1>):
    %do = epl.launch @twice(%ddo) : (tensor<2x3x4x8xbf16>) -> tensor<2x3x4x8xbf16>
    %made = epl.launch @dv(%p, %do) : (tensor<2x3x4x4xbf16>, tensor<2x3x4x8xbf16>) -> tensor<2x3x4x8xbf16>
    %dv = epl.launch @twice(%made) : (tensor<2x3x4x8xbf16>) -> tensor<2x3x4x8xbf16>
    %dp = epl.launch @dp(%do, %v) : (tensor<2x3x4x8xbf16>, tensor<2x3x4x8xbf16>) -> tensor<2x3x4x4xbf16>
    %ds = epl.launch @ds(%s, %dp, %e, %mask) : (tensor<2x3x4xf32>, tensor<2x3x4x4xbf16>, tensor<2x3x4x4xf32>, tensor<4x4xi1>) -> tensor<2x3x4x4xf32>
    %wide_dq = epl.launch @dq(%ds, %k) : (tensor<2x3x4x4xf32>, tensor<2x3x4x8xbf16>) -> tensor<2x3x4x8xf32>
    %dq = epl.launch @round(%wide_dq) : (tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xbf16>
    %wide_dk = epl.launch @dk(%ds, %q) : (tensor<2x3x4x4xf32>, tensor<2x3x4x8xbf16>) -> tensor<2x3x4x8xf32>
    %dk = epl.launch @round(%wide_dk) : (tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xbf16>
    epl.yield %dq, %dk, %dv : tensor<2x3x4x8xbf16>, tensor<2x3x4x8xbf16>, tensor<2x3x4x8xbf16> // gradients
  }
  return %1#0, %1#1, %1#2 : !h, !h, !h // results
}
#id4 = affine_map<(b, h, t, s) -> (b, h, t, s)>
#row = affine_map<(b, h, t, s) -> (b, h, t)>
#one = affine_map<(b, h, t, s) -> (t, s)>
epl.kernel @twice fusion {
^bb0(%x: tensor<2x3x4x8xbf16>):
  %e = tensor.empty() : tensor<2x3x4x8xbf16>
  %y = linalg.generic {indexing_maps = [#id4, #id4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : tensor<2x3x4x8xbf16>) outs(%e : tensor<2x3x4x8xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %1 = arith.addf %in, %in : bf16
    linalg.yield %1 : bf16
  } -> tensor<2x3x4x8xbf16>
  epl.yield %y : tensor<2x3x4x8xbf16>
}
epl.kernel @round fusion {
^bb0(%x: tensor<2x3x4x8xf32>):
  %e = tensor.empty() : tensor<2x3x4x8xbf16>
  %y = linalg.generic {indexing_maps = [#id4, #id4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : tensor<2x3x4x8xf32>) outs(%e : tensor<2x3x4x8xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %1 = arith.truncf %in : f32 to bf16
    linalg.yield %1 : bf16
  } -> tensor<2x3x4x8xbf16>
  epl.yield %y : tensor<2x3x4x8xbf16>
}
epl.kernel @mask fusion {
^bb0:
  %e = tensor.empty() : tensor<4x4xi1>
  %y = linalg.generic {indexing_maps = [affine_map<(t, s) -> (t, s)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<4x4xi1>) {
  ^bb0(%out: i1):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %2 = arith.cmpi sge, %i, %j : index // mask alone
    linalg.yield %2 : i1
  } -> tensor<4x4xi1>
  epl.yield %y : tensor<4x4xi1>
}
epl.kernel @scores contraction {
^bb0(%q: tensor<2x3x4x8xbf16>, %k: tensor<2x3x4x8xbf16>):
  %zero = arith.constant dense<0.0> : tensor<2x3x4x4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(b, h, t, s, d) -> (b, h, t, d)>, affine_map<(b, h, t, s, d) -> (b, h, s, d)>, affine_map<(b, h, t, s, d) -> (b, h, t, s)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : tensor<2x3x4x8xbf16>, tensor<2x3x4x8xbf16>) outs(%zero : tensor<2x3x4x4xf32>) {
  ^bb0(%a: bf16, %c: bf16, %out: f32):
    %3 = arith.extf %a : bf16 to f32
    %4 = arith.extf %c : bf16 to f32
    %5 = arith.mulf %3, %4 : f32
    %6 = arith.addf %out, %5 : f32
    linalg.yield %6 : f32
  } -> tensor<2x3x4x4xf32>
  epl.yield %y : tensor<2x3x4x4xf32>
} {gemm = #epl.gemm<m = 4, n = 4, k = 8, lda = 8, ldb = 8, ldc = 4, transpose_a = false, transpose_b = true, accumulate = false, batch = [6, 32, 32, 16]>}
epl.kernel @softmax fusion {
^bb0(%x: tensor<2x3x4x4xf32>):
  %scale = arith.constant 0.25 : f32
  %masked = arith.constant dense<-1.0e38> : tensor<f32>
  %least = arith.constant dense<0xFF800000> : tensor<2x3x4xf32>
  %zero = arith.constant dense<0.0> : tensor<2x3x4xf32>
  %e = tensor.empty() : tensor<2x3x4x4xf32>
  %score = linalg.generic {indexing_maps = [#id4, affine_map<(b, h, t, s) -> ()>, #id4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x, %masked : tensor<2x3x4x4xf32>, tensor<f32>) outs(%e : tensor<2x3x4x4xf32>) {
  ^bb0(%in: f32, %low: f32, %out: f32):
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %1 = arith.mulf %in, %scale : f32
    %2 = arith.cmpi sge, %i, %j : index
    %3 = arith.select %2, %1, %low : f32
    linalg.yield %3 : f32
  } -> tensor<2x3x4x4xf32>
  %most = linalg.generic {indexing_maps = [#id4, #row], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%score : tensor<2x3x4x4xf32>) outs(%least : tensor<2x3x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.maximumf %out, %in : f32
    linalg.yield %1 : f32
  } -> tensor<2x3x4xf32>
  %exp = linalg.generic {indexing_maps = [#id4, #row, #id4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%score, %most : tensor<2x3x4x4xf32>, tensor<2x3x4xf32>) outs(%e : tensor<2x3x4x4xf32>) {
  ^bb0(%in: f32, %max: f32, %out: f32):
    %1 = arith.subf %in, %max : f32
    %2 = math.exp %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3x4x4xf32>
  %sum = linalg.generic {indexing_maps = [#id4, #row], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%exp : tensor<2x3x4x4xf32>) outs(%zero : tensor<2x3x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %out, %in : f32
    linalg.yield %1 : f32
  } -> tensor<2x3x4xf32>
  %narrow = tensor.empty() : tensor<2x3x4x4xbf16>
  %p = linalg.generic {indexing_maps = [#id4, #row, #id4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%exp, %sum : tensor<2x3x4x4xf32>, tensor<2x3x4xf32>) outs(%narrow : tensor<2x3x4x4xbf16>) {
  ^bb0(%in: f32, %all: f32, %out: bf16):
    %1 = arith.divf %in, %all : f32
    %2 = arith.truncf %1 : f32 to bf16
    linalg.yield %2 : bf16
  } -> tensor<2x3x4x4xbf16>
  epl.yield %exp, %sum, %p : tensor<2x3x4x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4x4xbf16>
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
epl.kernel @dv contraction {
^bb0(%p: tensor<2x3x4x4xbf16>, %do: tensor<2x3x4x8xbf16>):
  %zero = arith.constant dense<0.0> : tensor<2x3x4x8xbf16>
  %y = linalg.generic {indexing_maps = [affine_map<(b, h, s, d, t) -> (b, h, t, s)>, affine_map<(b, h, s, d, t) -> (b, h, t, d)>, affine_map<(b, h, s, d, t) -> (b, h, s, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%p, %do : tensor<2x3x4x4xbf16>, tensor<2x3x4x8xbf16>) outs(%zero : tensor<2x3x4x8xbf16>) {
  ^bb0(%a: bf16, %c: bf16, %out: bf16):
    %5 = arith.mulf %a, %c : bf16
    %6 = arith.addf %out, %5 : bf16
    linalg.yield %6 : bf16
  } -> tensor<2x3x4x8xbf16>
  epl.yield %y : tensor<2x3x4x8xbf16>
}
epl.kernel @dp contraction {
^bb0(%do: tensor<2x3x4x8xbf16>, %v: tensor<2x3x4x8xbf16>):
  %zero = arith.constant dense<0.0> : tensor<2x3x4x4xbf16>
  %y = linalg.generic {indexing_maps = [affine_map<(b, h, t, s, d) -> (b, h, t, d)>, affine_map<(b, h, t, s, d) -> (b, h, s, d)>, affine_map<(b, h, t, s, d) -> (b, h, t, s)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%do, %v : tensor<2x3x4x8xbf16>, tensor<2x3x4x8xbf16>) outs(%zero : tensor<2x3x4x4xbf16>) {
  ^bb0(%a: bf16, %c: bf16, %out: bf16):
    %5 = arith.mulf %a, %c : bf16
    %6 = arith.addf %out, %5 : bf16
    linalg.yield %6 : bf16
  } -> tensor<2x3x4x4xbf16>
  epl.yield %y : tensor<2x3x4x4xbf16>
}
epl.kernel @ds fusion {
^bb0(%s: tensor<2x3x4xf32>, %dp: tensor<2x3x4x4xbf16>, %e: tensor<2x3x4x4xf32>, %mask: tensor<4x4xi1>):
  %none = arith.constant 0.0 : f32
  %scale = arith.constant 0.25 : f32 // of the gradient
  %zero = arith.constant dense<0.0> : tensor<2x3x4xf32>
  %any = tensor.empty() : tensor<2x3x4x4xf32>
  %each = linalg.generic {indexing_maps = [#id4, #id4, #row, #id4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%dp, %e, %s : tensor<2x3x4x4xbf16>, tensor<2x3x4x4xf32>, tensor<2x3x4xf32>) outs(%any : tensor<2x3x4x4xf32>) {
  ^bb0(%d: bf16, %x: f32, %all: f32, %out: f32):
    %1 = arith.extf %d : bf16 to f32
    %2 = arith.mulf %all, %all : f32
    %3 = arith.mulf %1, %x : f32
    %4 = arith.divf %3, %2 : f32
    linalg.yield %4 : f32
  } -> tensor<2x3x4x4xf32>
  %sum = linalg.generic {indexing_maps = [#id4, #row], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%each : tensor<2x3x4x4xf32>) outs(%zero : tensor<2x3x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %out, %in : f32
    linalg.yield %1 : f32
  } -> tensor<2x3x4xf32>
  %y = linalg.generic {indexing_maps = [#id4, #id4, #row, #row, #one, #id4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%dp, %e, %s, %sum, %mask : tensor<2x3x4x4xbf16>, tensor<2x3x4x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<4x4xi1>) outs(%any : tensor<2x3x4x4xf32>) {
  ^bb0(%d: bf16, %x: f32, %all: f32, %row: f32, %kept: i1, %out: f32):
    %1 = arith.extf %d : bf16 to f32
    %weighted = arith.divf %1, %all : f32
    %3 = arith.subf %weighted, %row : f32
    %4 = arith.mulf %3, %x : f32
    %5 = arith.select %kept, %4, %none : f32
    %6 = arith.mulf %5, %scale : f32
    linalg.yield %6 : f32
  } -> tensor<2x3x4x4xf32>
  epl.yield %y : tensor<2x3x4x4xf32>
}
epl.kernel @dq contraction {
^bb0(%ds: tensor<2x3x4x4xf32>, %k: tensor<2x3x4x8xbf16>):
  %zero = arith.constant dense<0.0> : tensor<2x3x4x8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(b, h, t, d, s) -> (b, h, t, s)>, affine_map<(b, h, t, d, s) -> (b, h, s, d)>, affine_map<(b, h, t, d, s) -> (b, h, t, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%ds, %k : tensor<2x3x4x4xf32>, tensor<2x3x4x8xbf16>) outs(%zero : tensor<2x3x4x8xf32>) {
  ^bb0(%a: f32, %c: bf16, %out: f32):
    %4 = arith.extf %c : bf16 to f32
    %5 = arith.mulf %a, %4 : f32
    %6 = arith.addf %out, %5 : f32
    linalg.yield %6 : f32
  } -> tensor<2x3x4x8xf32>
  epl.yield %y : tensor<2x3x4x8xf32>
}
epl.kernel @dk contraction {
^bb0(%ds: tensor<2x3x4x4xf32>, %q: tensor<2x3x4x8xbf16>):
  %zero = arith.constant dense<0.0> : tensor<2x3x4x8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(b, h, s, d, t) -> (b, h, t, s)>, affine_map<(b, h, s, d, t) -> (b, h, t, d)>, affine_map<(b, h, s, d, t) -> (b, h, s, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%ds, %q : tensor<2x3x4x4xf32>, tensor<2x3x4x8xbf16>) outs(%zero : tensor<2x3x4x8xf32>) {
  ^bb0(%a: f32, %c: bf16, %out: f32):
    %4 = arith.extf %c : bf16 to f32
    %5 = arith.mulf %a, %4 : f32
    %6 = arith.addf %out, %5 : f32
    linalg.yield %6 : f32
  } -> tensor<2x3x4x8xf32>
  epl.yield %y : tensor<2x3x4x8xf32>
}
