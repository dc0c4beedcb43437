// RUN: epl-opt %s --epl-lower-kernels=cpu=x86-64-v4 | FileCheck %s
// RUN: epl-opt %s --epl-lower-kernels=cpu=x86-64-v3 | FileCheck %s --check-prefix=AVX2

#id = affine_map<(d0, d1) -> (d0, d1)>
#none = affine_map<(d0, d1) -> ()>
#v = affine_map<(d0) -> (d0)>
#s = affine_map<() -> ()>

// Two groups of elements, the smaller one first in the range of the slices. What depends on no loop stands before
// the loops; the first slice stores the scalar result. The results take the places of their operands, so nothing
// is promised about aliases; the scalar may not, as other slices read it.

// CHECK: epl.kernel @update fusion
// CHECK: extent = 262244 : i64, flops = {{[0-9]+}} : i64, form = "flat", in_place = array<i32: -1, 2, 3>, workspace = 0 : i64
// CHECK-LABEL: func.func private @update.body
// CHECK-NOT: llvm.noalias
// CHECK: %[[BEGIN:.*]] = arith.index_cast %{{.*}} : i64 to index
// CHECK: %[[END:.*]] = arith.index_cast %{{.*}} : i64 to index
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[BEGIN]], %c0
// CHECK: scf.if %[[FIRST]]
// CHECK: memref.store %{{.*}} : memref<1xf32>

// CHECK: arith.maxsi
// CHECK: arith.minsi
// CHECK: scf.for
// CHECK: vector.load %{{.*}} : memref<100xf32>, vector<64xf32>

// CHECK: arith.subi %[[BEGIN]], %c100
// CHECK: arith.maxsi
// CHECK: %[[LOW:.*]] = arith.minsi
// CHECK: arith.subi %[[END]], %c100
// CHECK: arith.maxsi
// CHECK: %[[HIGH:.*]] = arith.minsi
// CHECK: %[[SIZE:.*]] = arith.subi %[[HIGH]], %[[LOW]]
// CHECK: %[[LEFT:.*]] = arith.remui %[[SIZE]], %c64
// CHECK: %[[WHOLE:.*]] = arith.subi %[[HIGH]], %[[LEFT]]
// CHECK: %[[RATE:.*]] = arith.mulf %{{.*}} : f32
// CHECK: scf.for %{{.*}} = %[[LOW]] to %[[WHOLE]] step %c64
// CHECK: vector.load %{{.*}} : memref<262144xf32>, vector<64xf32>
// CHECK: vector.broadcast %[[RATE]] : f32 to vector<64xf32>
// CHECK: vector.store
// CHECK: arith.cmpi ne, %[[LEFT]], %c0
// CHECK: scf.if
// CHECK: %[[MASK:.*]] = vector.create_mask %[[LEFT]] : vector<64xi1>
// CHECK: vector.maskedload %{{.*}}, %[[MASK]]
// CHECK: vector.maskedstore %{{.*}}, %[[MASK]]

// AVX2: vector.load %{{.*}} : memref<262144xf32>, vector<32xf32>
epl.kernel @update fusion {
^bb0(%rate: tensor<f32>, %g: tensor<512x512xf32>, %p: tensor<512x512xf32>, %q: tensor<100xf32>):
  %two = arith.constant 2.0 : f32
  %es = tensor.empty() : tensor<f32>
  %e = tensor.empty() : tensor<512x512xf32>
  %ev = tensor.empty() : tensor<100xf32>
  %twice = linalg.generic {indexing_maps = [#s, #s], iterator_types = []} ins(%rate : tensor<f32>) outs(%es : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.mulf %in, %two : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  %new = linalg.generic {indexing_maps = [#id, #id, #none, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p, %g, %twice : tensor<512x512xf32>, tensor<512x512xf32>, tensor<f32>) outs(%e : tensor<512x512xf32>) {
  ^bb0(%in: f32, %gradient: f32, %r: f32, %out: f32):
    %0 = arith.mulf %gradient, %r : f32
    %1 = arith.subf %in, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<512x512xf32>
  %scaled = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]} ins(%q : tensor<100xf32>) outs(%ev : tensor<100xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.mulf %in, %two : f32
    linalg.yield %0 : f32
  } -> tensor<100xf32>
  epl.yield %twice, %new, %scaled : tensor<f32>, tensor<512x512xf32>, tensor<100xf32>
} {in_place = array<i32: 0, 2, 3>}

// Bytes become lanes of i1 and back.

// CHECK-LABEL: func.func private @not.body
// CHECK: %[[BYTES:.*]] = vector.load %{{.*}} : memref<256xi8>, vector<64xi8>
// CHECK: %[[BITS:.*]] = arith.cmpi ne, %[[BYTES]]
// CHECK: %[[NOT:.*]] = arith.xori %[[BITS]]
// CHECK: %[[OUT:.*]] = arith.extui %[[NOT]] : vector<64xi1> to vector<64xi8>
// CHECK: vector.store %[[OUT]]
epl.kernel @not fusion {
^bb0(%x: tensor<256xi1>):
  %true = arith.constant true
  %e = tensor.empty() : tensor<256xi1>
  %y = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]} ins(%x : tensor<256xi1>) outs(%e : tensor<256xi1>) {
  ^bb0(%in: i1, %out: i1):
    %0 = arith.xori %in, %true : i1
    linalg.yield %0 : i1
  } -> tensor<256xi1>
  epl.yield %y : tensor<256xi1>
}
