// RUN: epl-opt %s --epl-lower-kernels=cpu=x86-64-v4 --canonicalize | FileCheck %s

// A convolution: 18 channels are two vectors, the second masked; the seven positions of a line, of both images,
// are the rows of one tile. Its 28 accumulators stay in registers while the sums over the kernel run, whose
// innermost loops, positions of a line and channels, are one.
// CHECK: epl.kernel @forward contraction
// CHECK: extent = 7 : i64, flops = 158760 : i64, form = "tiled", workspace = 0 : i64
// CHECK-LABEL: func.func private @forward.body
// CHECK: scf.for
// CHECK: scf.for %{{.*}} = %c0 to %c3 {{.*}} iter_args
// CHECK: scf.for %{{.*}} = %c0 to %c15 {{.*}} iter_args
// CHECK: vector.load {{.*}} vector<16xf32>
// CHECK: vector.maskedload
// CHECK-COUNT-28: arith.addf {{.*}} : vector<16xf32>
// CHECK-NOT: arith.addf
// CHECK-COUNT-14: vector.maskedstore
epl.kernel @forward contraction {
^bb0(%a: tensor<2x9x9x5xf32>, %b: tensor<3x3x5x18xf32>):
  %s = arith.constant dense<0.0> : tensor<2x7x7x18xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d4, d2 + d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%a, %b : tensor<2x9x9x5xf32>, tensor<3x3x5x18xf32>) outs(%s : tensor<2x7x7x18xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<2x7x7x18xf32>
  epl.yield %r : tensor<2x7x7x18xf32>
}

// The gradient of its operand: the kernel is copied first, 810 elements, to where the channels of the result
// are contiguous. All slices would share the copy, so there is one.
// CHECK: epl.kernel @operand contraction
// CHECK: extent = 1 : i64, flops = {{[0-9]+}} : i64, form = "tiled", workspace = 3264 : i64
// CHECK-LABEL: func.func private @operand.body
// CHECK: %[[COPY:.*]] = memref.view
// CHECK: memref.store {{.*}}, %[[COPY]]
// CHECK: vector.load %[[COPY]]
epl.kernel @operand contraction {
^bb0(%a: tensor<2x9x9x5xf32>, %b: tensor<3x3x18x5xf32>):
  %s = arith.constant dense<0.0> : tensor<2x7x7x18xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d4, d2 + d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d3, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%a, %b : tensor<2x9x9x5xf32>, tensor<3x3x18x5xf32>) outs(%s : tensor<2x7x7x18xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<2x7x7x18xf32>
  epl.yield %r : tensor<2x7x7x18xf32>
}

// A sum of products for one element has no loop for lanes.
// CHECK: epl.kernel @inner contraction
// CHECK: form = "row"
epl.kernel @inner contraction {
^bb0(%a: tensor<3x20xf32>, %b: tensor<3x20xf32>):
  %s = arith.constant dense<0.0> : tensor<f32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%a, %b : tensor<3x20xf32>, tensor<3x20xf32>) outs(%s : tensor<f32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<f32>
  epl.yield %r : tensor<f32>
}

// Operands of bf16 are widened first: 810 and 810 elements of four bytes, rounded up to cache lines. Sums are
// rounded when they are complete.
// CHECK: epl.kernel @narrow contraction
// CHECK: extent = 1 : i64, flops = 158760 : i64, form = "tiled", workspace = 6528 : i64
// CHECK-LABEL: func.func private @narrow.body
// CHECK-DAG: %[[A:.*]] = memref.view {{.*}}[%c0]
// CHECK-DAG: %[[B:.*]] = memref.view {{.*}}[%c3264]
// CHECK: arith.extf {{.*}} : vector<16xbf16> to vector<16xf32>
// CHECK: vector.store {{.*}}, %[[A]]
// CHECK: vector.store {{.*}}, %[[B]]
// CHECK: scf.for {{.*}} iter_args
// CHECK: vector.load %[[B]]{{.*}} vector<16xf32>
// CHECK: arith.addf {{.*}} : vector<16xf32>
// CHECK-NOT: arith.truncf
// CHECK: scf.yield
// CHECK: arith.truncf {{.*}} : vector<16xf32> to vector<16xbf16>
epl.kernel @narrow contraction {
^bb0(%a: tensor<2x9x9x5xbf16>, %b: tensor<3x3x5x18xbf16>):
  %s = arith.constant dense<0.0> : tensor<2x7x7x18xbf16>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d4, d2 + d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%a, %b : tensor<2x9x9x5xbf16>, tensor<3x3x5x18xbf16>) outs(%s : tensor<2x7x7x18xbf16>) {
  ^bb0(%x: bf16, %y: bf16, %o: bf16):
    %p = arith.mulf %x, %y : bf16
    %q = arith.addf %o, %p : bf16
    linalg.yield %q : bf16
  } -> tensor<2x7x7x18xbf16>
  epl.yield %r : tensor<2x7x7x18xbf16>
}

// Sums that wait in memory wait there in f32: of 2 x 30 x 30 x 33 elements, all of the result.
// CHECK: epl.kernel @waiting contraction
// CHECK-LABEL: func.func private @waiting.body
// CHECK: %[[SUMS:.*]] = memref.view {{.*}} to memref<59400xf32>
// CHECK: vector.load %[[SUMS]]
// CHECK: vector.store {{.*}}, %[[SUMS]]
// CHECK-NOT: arith.truncf
// CHECK: scf.for {{.*}} to %c59392 step %c16
// CHECK: %[[SUM:.*]] = vector.load %[[SUMS]]
// CHECK-NEXT: %[[ROUNDED:.*]] = arith.truncf %[[SUM]] : vector<16xf32> to vector<16xbf16>
// CHECK-NEXT: vector.store %[[ROUNDED]], %arg2
epl.kernel @waiting contraction {
^bb0(%a: tensor<2x32x32x256xbf16>, %b: tensor<3x3x256x33xbf16>):
  %s = arith.constant dense<0.0> : tensor<2x30x30x33xbf16>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d4, d2 + d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%a, %b : tensor<2x32x32x256xbf16>, tensor<3x3x256x33xbf16>) outs(%s : tensor<2x30x30x33xbf16>) {
  ^bb0(%x: bf16, %y: bf16, %o: bf16):
    %p = arith.mulf %x, %y : bf16
    %q = arith.addf %o, %p : bf16
    linalg.yield %q : bf16
  } -> tensor<2x30x30x33xbf16>
  epl.yield %r : tensor<2x30x30x33xbf16>
}

// The gradient of what a convolution with stride 2 reads, 3 taps of 4 channels for 10 positions: those of one
// phase meet elements at two taps, those of the other at one. So 5 * (2 + 1) times 16 lanes and 4 channels are
// multiplied, twice that is counted, and the zeros are never in memory.
// CHECK: epl.kernel @skip contraction
// CHECK: extent = 1 : i64, flops = 1920 : i64, form = "tiled", workspace = 0 : i64
// CHECK-LABEL: func.func private @skip.body
// CHECK-SAME: %[[R:[^ ]+]]: memref<160xf32>
// CHECK: scf.for %{{.*}} = %c0 to %c2 {{.*}} iter_args
// CHECK: scf.for %{{.*}} = %c0 to %c4 {{.*}} iter_args
// CHECK-COUNT-5: vector.store {{.*}}, %[[R]]
// CHECK: scf.for %{{.*}} = %c0 to %c4 {{.*}} iter_args
// CHECK-COUNT-5: vector.store {{.*}}, %[[R]]
epl.kernel @skip contraction {
^bb0(%a: tensor<6x4xf32>, %b: tensor<3x4x16xf32>):
  %z = arith.constant dense<0.0> : tensor<12x4xf32>
  %d = tensor.insert_slice %a into %z[0, 0] [6, 4] [2, 1] : tensor<6x4xf32> into tensor<12x4xf32>
  %s = arith.constant dense<0.0> : tensor<10x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0 + d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%d, %b : tensor<12x4xf32>, tensor<3x4x16xf32>) outs(%s : tensor<10x16xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<10x16xf32>
  epl.yield %r : tensor<10x16xf32>
}

// Without taps, every other element is the start: the whole result is filled first.
// CHECK: epl.kernel @between contraction
// CHECK: flops = 640 : i64, form = "tiled"
// CHECK-LABEL: func.func private @between.body
// CHECK: scf.for %{{.*}} = %c0 to %c160 step %c16
// CHECK: vector.store
// CHECK-COUNT-5: vector.store
epl.kernel @between contraction {
^bb0(%a: tensor<5x4xf32>, %b: tensor<1x4x16xf32>):
  %z = arith.constant dense<0.0> : tensor<10x4xf32>
  %d = tensor.insert_slice %a into %z[1, 0] [5, 4] [2, 1] : tensor<5x4xf32> into tensor<10x4xf32>
  %s = arith.constant dense<0.0> : tensor<10x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0 + d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%d, %b : tensor<10x4xf32>, tensor<1x4x16xf32>) outs(%s : tensor<10x16xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<10x16xf32>
  epl.yield %r : tensor<10x16xf32>
}
