// RUN: epl-opt %s --epl-lower-kernels=cpu=x86-64-v4 | FileCheck %s

#rc = affine_map<(d0, d1) -> (d0, d1)>
#r = affine_map<(d0, d1) -> (d0)>
#c = affine_map<(d0, d1) -> (d1)>

// One loop for each level of a row: maximum, then exponentials and their sum, then the quotient. The exponentials
// wait in the result's row. A row of 100 is one vector of 64, two registers, and 4 lanes of a third.

// CHECK: epl.kernel @softmax fusion
// CHECK: extent = 8 : i64, flops = {{[0-9]+}} : i64, form = "row", workspace = 128 : i64
// CHECK-LABEL: func.func private @softmax.body
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<800xf32> {llvm.noalias}, %[[Y:[a-z0-9]+]]: memref<800xf32> {llvm.noalias}
// CHECK: scf.for %[[ROW:.*]] = %{{.*}} to %{{.*}} step %c1 {

// CHECK: %[[MAX:.*]] = arith.select {{.*}} : vector<64xi1>, vector<64xf32>
// CHECK: arith.cmpf uno
// CHECK: vector.extract_strided_slice %[[MAX]] {offsets = [0], sizes = [16], strides = [1]}
// CHECK: vector.constant_mask [4] : vector<16xi1>
// CHECK: vector.maskedload
// CHECK: %[[FINITE:.*]] = vector.reduction <maxnumf>
// CHECK: %[[NAN:.*]] = vector.reduction <add>
// CHECK: arith.addf %[[FINITE]], %[[NAN]]
// CHECK: memref.store %{{.*}} : memref<8xf32>

// CHECK: memref.load %{{.*}}[%[[ROW]]] : memref<8xf32>
// CHECK: %[[EXP:.*]] = math.exp %{{.*}} : vector<64xf32>
// CHECK: arith.addf %{{.*}}, %[[EXP]] fastmath<reassoc,contract>
// CHECK: vector.store %[[EXP]], %[[Y]]
// CHECK: vector.reduction <add>

// CHECK: vector.load %[[Y]]
// CHECK: %[[QUOTIENT:.*]] = arith.divf
// CHECK: vector.store %[[QUOTIENT]], %[[Y]]
epl.kernel @softmax fusion {
^bb0(%x: tensor<8x100xf32>):
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<8x100xf32>
  %er = tensor.empty() : tensor<8xf32>
  %i0 = linalg.fill ins(%zero : f32) outs(%er : tensor<8xf32>) -> tensor<8xf32>
  %i1 = linalg.fill ins(%low : f32) outs(%er : tensor<8xf32>) -> tensor<8xf32>
  %m = linalg.generic {indexing_maps = [#rc, #r], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x100xf32>) outs(%i1 : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.maximumf %out, %in : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %ex = linalg.generic {indexing_maps = [#rc, #r, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<8x100xf32>, tensor<8xf32>) outs(%e : tensor<8x100xf32>) {
  ^bb0(%in: f32, %max: f32, %out: f32):
    %0 = arith.subf %in, %max : f32
    %1 = math.exp %0 : f32
    linalg.yield %1 : f32
  } -> tensor<8x100xf32>
  %s = linalg.generic {indexing_maps = [#rc, #r], iterator_types = ["parallel", "reduction"]}
      ins(%ex : tensor<8x100xf32>) outs(%i0 : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#rc, #r, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%ex, %s : tensor<8x100xf32>, tensor<8xf32>) outs(%e : tensor<8x100xf32>) {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %0 = arith.divf %in, %sum : f32
    linalg.yield %0 : f32
  } -> tensor<8x100xf32>
  epl.yield %y : tensor<8x100xf32>
}

// A sum over the rows of a row nest cannot be sliced: its init is stored once, each row adds to memory, and what
// needs the sum follows behind all rows.

// CHECK: epl.kernel @loss fusion
// CHECK: extent = 1 : i64, flops = {{[0-9]+}} : i64, form = "row"
// CHECK-LABEL: func.func private @loss.body
// CHECK-SAME: %[[Z:[a-z0-9]+]]: memref<1xf32> {llvm.noalias}
// CHECK: scf.for
// CHECK: memref.store %{{.*}}, %[[SUM:.*]][%c0] : memref<1xf32>
// CHECK: scf.for %{{.*}} = %c0 to %c8 step %c1
// CHECK: vector.reduction <add>
// CHECK: %[[OLD:.*]] = memref.load %[[SUM]][%c0]
// CHECK: %[[NEW:.*]] = arith.addf %[[OLD]]
// CHECK: memref.store %[[NEW]], %[[SUM]][%c0]
// CHECK: }
// CHECK: memref.load %[[SUM]][%c0]
// CHECK: arith.mulf
// CHECK: memref.store
epl.kernel @loss fusion {
^bb0(%x: tensor<8x100xf32>):
  %zero = arith.constant 0.0 : f32
  %eighth = arith.constant 0.125 : f32
  %er = tensor.empty() : tensor<8xf32>
  %es = tensor.empty() : tensor<f32>
  %i0 = linalg.fill ins(%zero : f32) outs(%er : tensor<8xf32>) -> tensor<8xf32>
  %is = linalg.fill ins(%zero : f32) outs(%es : tensor<f32>) -> tensor<f32>
  %r = linalg.generic {indexing_maps = [#rc, #r], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x100xf32>) outs(%i0 : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
      ins(%r : tensor<8xf32>) outs(%is : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  %y = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}
      ins(%s : tensor<f32>) outs(%es : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.mulf %in, %eighth : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  epl.yield %y : tensor<f32>
}

// Rows with a sum over them: four short ones are added at once, so that the sum is loaded and stored once for
// all of them, and the last two together. What comes before is done row by row.

// CHECK: epl.kernel @gradient fusion
// CHECK: extent = 1 : i64, flops = {{[0-9]+}} : i64, form = "row"
// CHECK-LABEL: func.func private @gradient.body
// CHECK: vector.store %{{.*}}, %[[SUM:[a-z0-9]+]][%{{.*}}] : memref<16xf32>
// CHECK: scf.for %[[FIRST:.*]] = %c0 to %c8 step %c4
// CHECK: scf.for %[[ROW:.*]] = %[[FIRST]] to %{{.*}} step %c1 {
// CHECK: vector.reduction <add>
// CHECK: memref.store %{{.*}}[%[[ROW]]] : memref<10xf32>
// CHECK: vector.load %[[SUM]]
// CHECK-COUNT-4: vector.store %{{.*}} : memref<160xf32>
// CHECK: vector.store %{{.*}}, %[[SUM]]
// CHECK: }
// CHECK: scf.for
// CHECK: vector.reduction <add>
// CHECK: vector.load %[[SUM]]
// CHECK-COUNT-2: vector.store %{{.*}} : memref<160xf32>
// CHECK-NOT: vector.store %{{.*}} : memref<160xf32>
// CHECK: vector.store %{{.*}}, %[[SUM]]
epl.kernel @gradient fusion {
^bb0(%x: tensor<10x16xf32>):
  %z10 = arith.constant dense<0.0> : tensor<10xf32>
  %z16 = arith.constant dense<0.0> : tensor<16xf32>
  %e = tensor.empty() : tensor<10x16xf32>
  %r = linalg.generic {indexing_maps = [#rc, #r], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<10x16xf32>) outs(%z10 : tensor<10xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  } -> tensor<10xf32>
  %y = linalg.generic {indexing_maps = [#rc, #r, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%x, %r : tensor<10x16xf32>, tensor<10xf32>) outs(%e : tensor<10x16xf32>) {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %0 = arith.subf %in, %sum : f32
    linalg.yield %0 : f32
  } -> tensor<10x16xf32>
  %s = linalg.generic {indexing_maps = [#rc, #c], iterator_types = ["reduction", "parallel"]}
      ins(%y : tensor<10x16xf32>) outs(%z16 : tensor<16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  } -> tensor<16xf32>
  epl.yield %y, %s : tensor<10x16xf32>, tensor<16xf32>
}

// The operand is read transposed: no row of it can be shared with the result.

// CHECK: epl.kernel @transpose fusion
// CHECK-NOT: in_place
// CHECK-LABEL: func.func private @transpose.body
// CHECK: vector.gather
epl.kernel @transpose fusion {
^bb0(%x: tensor<32x32xf32>):
  %e = tensor.empty() : tensor<32x32xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<32x32xf32>) outs(%e : tensor<32x32xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %in : f32
    linalg.yield %0 : f32
  } -> tensor<32x32xf32>
  epl.yield %y : tensor<32x32xf32>
} {in_place = array<i32: 0>}

// Sums in bf16 are sums in f32 that are rounded once.

// CHECK-LABEL: func.func private @narrow.body
// CHECK: arith.extf %{{.*}} : vector<64xbf16> to vector<64xf32>
// CHECK: vector.reduction <add>
// CHECK: arith.truncf %{{.*}} : f32 to bf16
epl.kernel @narrow fusion {
^bb0(%x: tensor<8x64xbf16>):
  %zero = arith.constant 0.0 : bf16
  %er = tensor.empty() : tensor<8xbf16>
  %i0 = linalg.fill ins(%zero : bf16) outs(%er : tensor<8xbf16>) -> tensor<8xbf16>
  %r = linalg.generic {indexing_maps = [#rc, #r], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x64xbf16>) outs(%i0 : tensor<8xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %0 = arith.addf %out, %in : bf16
    linalg.yield %0 : bf16
  } -> tensor<8xbf16>
  epl.yield %r : tensor<8xbf16>
}
