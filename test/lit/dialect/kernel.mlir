// RUN: epl-opt %s --split-input-file | epl-opt --split-input-file | FileCheck %s
// RUN: epl-opt %s --split-input-file --mlir-print-op-generic | epl-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @clusters
func.func @clusters(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: epl.cluster fusion(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<4xf32>):
  %0 = epl.cluster fusion (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    // CHECK-NEXT: epl.yield %[[A]] : tensor<4xf32>
    epl.yield %a : tensor<4xf32>
  }
  // CHECK: epl.cluster contraction() : () -> () {
  epl.cluster contraction () : () -> () {
  }
  // CHECK: epl.launch @k0(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = epl.launch @k0(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK: epl.kernel @k0 fusion {
// CHECK: } {extent = 4 : i64, flops = 8 : i64, form = "flat", in_place = array<i32: 0>, workspace = 0 : i64}
epl.kernel @k0 fusion {
^bb0(%a: tensor<4xf32>):
  epl.yield %a : tensor<4xf32>
} {form = "flat", extent = 4 : i64, workspace = 0 : i64, flops = 8 : i64, in_place = array<i32: 0>}

// CHECK: epl.kernel @k1 contraction {
// CHECK: } {gemm = #epl.gemm<m = 1, n = 1, k = 1, lda = 1, ldb = 1, ldc = 1, transpose_a = false, transpose_b = false, accumulate = false>, in_place = array<i32: -1>}
epl.kernel @k1 contraction {
^bb0(%a: tensor<1x1xf32>, %b: tensor<1x1xf32>):
  epl.yield %a : tensor<1x1xf32>
} {gemm = #epl.gemm<m = 1, n = 1, k = 1, lda = 1, ldb = 1, ldc = 1, transpose_a = false, transpose_b = false, accumulate = false>, in_place = array<i32: -1>}

// CHECK: epl.binary elf("znver4") ["avx2", "fma"] "\7FELF"
epl.binary elf("znver4") ["avx2", "fma"] "\7FELF"

// Code for GPUs: an entry that two kernels share, and the threads that run it.
// CHECK: epl.kernel @k2 fusion {
// CHECK: } {grids = [#epl.grid<blocks = 8, threads = 128, shared = 0, group = 32, slice = 1, extent = 1000>], symbol = "k0"}
epl.kernel @k2 fusion {
^bb0(%a: tensor<4xf32>):
  epl.yield %a : tensor<4xf32>
} {grids = [#epl.grid<blocks = 8, threads = 128, shared = 0, group = 32, slice = 1, extent = 1000>], symbol = "k0"}

// CHECK: epl.binary ptx("sm_80") isa 70 [] ".version 7.0"
epl.binary ptx("sm_80") isa 70 [] ".version 7.0"
