// RUN: epl-opt %s --epl-fold-epilogues | FileCheck %s

// A bias and an activation go into the product, whose kernel has the ops of both. Kernels that nobody launches any
// more are gone.

// CHECK-LABEL: func.func @main
// CHECK: epl.launch @k0_matmul_add_maximum(%{{.*}}, %{{.*}}, %[[BIAS:.*]]) : (tensor<4x8xf32>, tensor<8x2xf32>, tensor<1x2xf32>)
// A product that two read, one whose bias is along rows, and one that is divided stay.
// CHECK: %[[TWICE:.*]] = epl.launch @k0_matmul(
// CHECK: epl.launch @k2_maximum(%[[TWICE]])
// CHECK: epl.launch @k0_matmul(
// CHECK: epl.launch @k3_add(
// CHECK: epl.launch @k0_matmul(
// CHECK: epl.launch @k4_div(
// CHECK: epl.launch @k5_sum_maximum(
// CHECK: epl.launch @k0_matmul_maximum(%{{.*}}, %{{.*}}) : (tensor<4x8xf32>, tensor<8x2xf32>)

// CHECK: epl.kernel @k0_matmul contraction
// CHECK-NOT: epilogue
// CHECK: epl.kernel @k0_matmul_add_maximum contraction
// CHECK: ^bb0(%{{.*}}: tensor<4x8xf32>, %{{.*}}: tensor<8x2xf32>, %{{.*}}: tensor<1x2xf32>):
// CHECK: arith.mulf
// CHECK: arith.maximumf
// CHECK: {epilogue = #epl.epilogue<bias = true, activation = relu>, {{.*}}gemm = #epl.gemm<m = 4
// CHECK-NOT: epl.kernel @k1_add_maximum
// CHECK: epl.kernel @k0_matmul_maximum contraction
// CHECK: {epilogue = #epl.epilogue<bias = false, activation = relu>
// CHECK: epl.kernel @k2_maximum

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (0, j)>
#column = affine_map<(i, j) -> (i, 0)>
epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!a = !epl.dist<tensor<4x8xf32>, <@mesh, [{}, {}]>>
!b = !epl.dist<tensor<8x2xf32>, <@mesh, [{}, {}]>>
!c = !epl.dist<tensor<4x2xf32>, <@mesh, [{}, {}]>>
!v = !epl.dist<tensor<1x2xf32>, <@mesh, [{}, {}]>>
!w = !epl.dist<tensor<4x1xf32>, <@mesh, [{}, {}]>>
func.func @main(%a: !a, %b: !b, %v: !v, %w: !w) -> (!c, !c, !c, !c, !c, !c, !c) {
  %r:7 = epl.task <@tg0, forward>(%a, %b, %v, %w) : (!a, !b, !v, !w) -> (!c, !c, !c, !c, !c, !c, !c) {
  ^bb0(%x: tensor<4x8xf32>, %y: tensor<8x2xf32>, %bias: tensor<1x2xf32>, %rows: tensor<4x1xf32>):
    %0 = epl.launch @k0_matmul(%x, %y) : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
    %1 = epl.launch @k1_add_maximum(%0, %bias) : (tensor<4x2xf32>, tensor<1x2xf32>) -> tensor<4x2xf32>
    %2 = epl.launch @k0_matmul(%x, %y) : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
    %3 = epl.launch @k2_maximum(%2) : (tensor<4x2xf32>) -> tensor<4x2xf32>
    %4 = epl.launch @k0_matmul(%x, %y) : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
    %5 = epl.launch @k3_add(%4, %rows) : (tensor<4x2xf32>, tensor<4x1xf32>) -> tensor<4x2xf32>
    %6 = epl.launch @k0_matmul(%x, %y) : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
    %7 = epl.launch @k4_div(%6) : (tensor<4x2xf32>) -> tensor<4x2xf32>
    %8 = epl.launch @k5_sum_maximum(%7, %5) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
    %9 = epl.launch @k0_matmul(%x, %y) : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
    %10 = epl.launch @k2_maximum(%9) : (tensor<4x2xf32>) -> tensor<4x2xf32>
    epl.yield %1, %2, %3, %5, %7, %8, %10 : tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>
  }
  return %r#0, %r#1, %r#2, %r#3, %r#4, %r#5, %r#6 : !c, !c, !c, !c, !c, !c, !c
}
epl.kernel @k0_matmul contraction {
^bb0(%x: tensor<4x8xf32>, %y: tensor<8x2xf32>):
  %zero = arith.constant dense<0.0> : tensor<4x2xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : tensor<4x8xf32>, tensor<8x2xf32>) outs(%zero : tensor<4x2xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x2xf32>
  epl.yield %0 : tensor<4x2xf32>
} {flops = 128 : i64, gemm = #epl.gemm<m = 4, n = 2, k = 8, lda = 8, ldb = 2, ldc = 2, transpose_a = false, transpose_b = false, accumulate = false>}
epl.kernel @k1_add_maximum fusion {
^bb0(%x: tensor<4x2xf32>, %bias: tensor<1x2xf32>):
  %e = tensor.empty() : tensor<4x2xf32>
  %zero = arith.constant 0.0 : f32
  %0 = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]} ins(%bias : tensor<1x2xf32>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<4x2xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%0, %x : tensor<4x2xf32>, tensor<4x2xf32>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<4x2xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<4x2xf32>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.maximumf %p, %zero : f32
    linalg.yield %s : f32
  } -> tensor<4x2xf32>
  epl.yield %2 : tensor<4x2xf32>
}
epl.kernel @k2_maximum fusion {
^bb0(%x: tensor<4x2xf32>):
  %e = tensor.empty() : tensor<4x2xf32>
  %zero = arith.constant 0.0 : f32
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x2xf32>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.maximumf %zero, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x2xf32>
  epl.yield %0 : tensor<4x2xf32>
}
epl.kernel @k3_add fusion {
^bb0(%x: tensor<4x2xf32>, %rows: tensor<4x1xf32>):
  %e = tensor.empty() : tensor<4x2xf32>
  %0 = linalg.generic {indexing_maps = [#column, #id], iterator_types = ["parallel", "parallel"]} ins(%rows : tensor<4x1xf32>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<4x2xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %0 : tensor<4x2xf32>, tensor<4x2xf32>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<4x2xf32>
  epl.yield %1 : tensor<4x2xf32>
}
epl.kernel @k4_div fusion {
^bb0(%x: tensor<4x2xf32>):
  %e = tensor.empty() : tensor<4x2xf32>
  %two = arith.constant 2.0 : f32
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x2xf32>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.divf %p, %two : f32
    linalg.yield %s : f32
  } -> tensor<4x2xf32>
  epl.yield %0 : tensor<4x2xf32>
}
epl.kernel @k5_sum_maximum fusion {
^bb0(%x: tensor<4x2xf32>, %y: tensor<4x2xf32>):
  %e = tensor.empty() : tensor<4x2xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<4x2xf32>, tensor<4x2xf32>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.maximumf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<4x2xf32>
  epl.yield %0 : tensor<4x2xf32>
}
