// RUN: epl-opt %s --epl-lower-kernels=gpu=sm_80 --canonicalize --cse | FileCheck %s
// RUN: epl-opt %s --epl-lower-kernels=gpu=sm_80 --epl-codegen-gpu | FileCheck %s --check-prefix=CODE

// Threads of a GPU share slices. A block of 128 threads has a chunk of 1024 elements: each of them 4, and 4 that lie 512
// further on. The last chunk, of 904, is done one by one.

// CHECK: epl.kernel @flat fusion
// CHECK: grids = [#epl.grid<blocks = 5, threads = 128, shared = 0, group = 128, slice = 1024, extent = 5000>]
// CHECK-LABEL: func.func private @flat.body
// CHECK-SAME: passthrough = {{\[\[}}"epl-group", "128"]]
// CHECK: %[[TID:.*]] = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"
// CHECK: scf.if
// CHECK: vector.load %arg0[%[[NEAR:.*]]] {alignment = 16 : i64} : memref<5000xf32>, vector<4xf32>
// CHECK: vector.load %arg0[%[[FAR:.*]]] {alignment = 16 : i64} : memref<5000xf32>, vector<4xf32>
// CHECK: arith.addf {{.*}} : vector<8xf32>
// CHECK: vector.store {{.*}}, %arg1[%[[NEAR]]] {alignment = 16 : i64}
// CHECK: vector.store {{.*}}, %arg1[%[[FAR]]] {alignment = 16 : i64}
// CHECK: } else {
// CHECK: scf.for {{.*}} step %c128 {
// CHECK: memref.load
epl.kernel @flat fusion {
^bb0(%x: tensor<5000xf32>):
  %e = tensor.empty() : tensor<5000xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<5000xf32>) outs(%e : tensor<5000xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %in, %in : f32
    linalg.yield %s : f32
  } -> tensor<5000xf32>
  epl.yield %y : tensor<5000xf32>
}

// The size is in the grid alone: a tensor of another size has the same code.
// CHECK: epl.kernel @larger fusion
// CHECK: grids = [#epl.grid<blocks = 9, threads = 128, shared = 0, group = 128, slice = 1024, extent = 9004>]
// CODE: epl.kernel @larger fusion
// CODE: symbol = "flat"
epl.kernel @larger fusion {
^bb0(%x: tensor<9004xf32>):
  %e = tensor.empty() : tensor<9004xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<9004xf32>) outs(%e : tensor<9004xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %in, %in : f32
    linalg.yield %s : f32
  } -> tensor<9004xf32>
  epl.yield %y : tensor<9004xf32>
}

// A warp has a row, which it loads once: what the sum has read is still there for the quotient. The sum is in no memory.
// CHECK: epl.kernel @share fusion
// CHECK: grids = [#epl.grid<blocks = 1, threads = 256, shared = 0, group = 32, slice = 1, extent = 8>], workspace = 0 : i64
// CHECK-LABEL: func.func private @share.body
// CHECK-NOT: scf.for
// CHECK: %[[ROW:.*]] = vector.load %arg0
// CHECK-NOT: vector.load
// CHECK-COUNT-5: llvm.call_intrinsic "llvm.nvvm.shfl.sync.bfly.i32"
// CHECK-NOT: store
// CHECK: arith.divf %[[ROW]], %{{.*}} : vector<4xf32>
// CHECK: vector.store
epl.kernel @share fusion {
^bb0(%x: tensor<8x128xf32>):
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x128xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %out, %in : f32
    linalg.yield %a : f32
  } -> tensor<8xf32>
  %f = tensor.empty() : tensor<8x128xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %s : tensor<8x128xf32>, tensor<8xf32>) outs(%f : tensor<8x128xf32>) {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %q = arith.divf %in, %sum : f32
    linalg.yield %q : f32
  } -> tensor<8x128xf32>
  epl.yield %y : tensor<8x128xf32>
}

// Blocks add up strips of 128 rows: two threads a row, 128 rows at once. The second phase adds up what the strips have.
// CHECK: epl.kernel @columns fusion
// CHECK: grids = [#epl.grid<blocks = 8, threads = 256, shared = 0, group = 256, slice = 128, extent = 1000>,
// CHECK-SAME: #epl.grid<blocks = 1, threads = 256, shared = 0, group = 256, slice = 1, extent = 1>], workspace = 256 : i64
// CHECK-LABEL: func.func private @columns.body
// CHECK: scf.for {{.*}} step %c128 iter_args(%[[SUM:.*]] = %cst) -> (vector<4xf32>) {
// CHECK: vector.load %arg0
// CHECK: arith.addf %[[SUM]], {{.*}} : vector<4xf32>
// CHECK: memref.subview %{{.*}}[%{{.*}}] [8] [1] : memref<64xf32>
// CHECK: llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.all"
// CHECK-LABEL: func.func private @columns$1.body
// CHECK: scf.for {{.*}} step %c32 iter_args({{.*}}) -> (f32) {
// CHECK: llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.all"
// CHECK: %[[OLD:.*]] = memref.load %arg1
// CHECK: arith.addf %[[OLD]]
// CHECK: memref.store {{.*}}, %arg1
epl.kernel @columns fusion {
^bb0(%x: tensor<1000x8xf32>):
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<1000x8xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %out, %in : f32
    linalg.yield %a : f32
  } -> tensor<8xf32>
  epl.yield %s : tensor<8xf32>
}
