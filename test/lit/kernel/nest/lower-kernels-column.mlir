// RUN: epl-opt %s --epl-lower-kernels=cpu=x86-64-v4 | FileCheck %s

#rc = affine_map<(d0, d1) -> (d0, d1)>
#cr = affine_map<(d0, d1) -> (d1, d0)>
#r = affine_map<(d0, d1) -> (d0)>
#v = affine_map<(d0) -> (d0)>

// Every slice owns some columns: it zeroes their sums, adds all rows to them, four at a time and the last two
// together, and goes on with the sums. The last block has 4 of 16 columns.

// CHECK: epl.kernel @bias_gradient fusion
// CHECK: extent = 7 : i64, flops = {{[0-9]+}} : i64, form = "column"
// CHECK-LABEL: func.func private @bias_gradient.body
// CHECK: %[[LOW:.*]] = arith.muli %{{.*}}, %c16
// CHECK: %[[HIGH:.*]] = arith.muli %{{.*}}, %c16
// CHECK: arith.minsi %[[LOW]], %c100
// CHECK: arith.minsi %[[HIGH]], %c100
// CHECK: scf.for
// CHECK: vector.store %{{.*}}, %[[SUMS:.*]][%{{.*}}] : memref<100xf32>, vector<64xf32>
// CHECK: scf.for %{{.*}} = %c0 to %c8 step %c4
// CHECK: scf.for
// CHECK: %[[OLD:.*]] = vector.load %[[SUMS]]
// CHECK: %[[ROW0:.*]] = vector.load %[[X:.*]][
// CHECK: %[[SUM0:.*]] = arith.addf %[[OLD]], %[[ROW0]]
// CHECK: vector.load %[[X]]
// CHECK: %[[SUM1:.*]] = arith.addf %[[SUM0]]
// CHECK: %[[SUM2:.*]] = arith.addf %[[SUM1]]
// CHECK-NOT: vector.store
// CHECK: %[[SUM3:.*]] = arith.addf %[[SUM2]]
// CHECK: vector.store %[[SUM3]], %[[SUMS]]
// CHECK: scf.for
// CHECK: vector.load %[[SUMS]]
// CHECK: arith.addf
// CHECK-NOT: vector.store
// CHECK: arith.addf
// CHECK-NOT: arith.addf
// CHECK: vector.store %{{.*}}, %[[SUMS]]
// CHECK: scf.for
// CHECK: vector.load %[[SUMS]]
// CHECK: arith.subf
epl.kernel @bias_gradient fusion {
^bb0(%x: tensor<10x100xf32>, %old: tensor<100xf32>):
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<100xf32>
  %i0 = linalg.fill ins(%zero : f32) outs(%e : tensor<100xf32>) -> tensor<100xf32>
  %sum = linalg.generic {indexing_maps = [#cr, #r], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<10x100xf32>) outs(%i0 : tensor<100xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  } -> tensor<100xf32>
  %new = linalg.generic {indexing_maps = [#v, #v, #v], iterator_types = ["parallel"]}
      ins(%old, %sum : tensor<100xf32>, tensor<100xf32>) outs(%e : tensor<100xf32>) {
  ^bb0(%in: f32, %s: f32, %out: f32):
    %0 = arith.subf %in, %s : f32
    linalg.yield %0 : f32
  } -> tensor<100xf32>
  epl.yield %new : tensor<100xf32>
} {in_place = array<i32: 1>}

// Wide rows too, if they are only read.
// CHECK: epl.kernel @wide fusion
// CHECK: form = "column"
// CHECK-LABEL: func.func private @wide.body
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c4
// CHECK: arith.addf
epl.kernel @wide fusion {
^bb0(%x: tensor<64x1024xf32>):
  %zero = arith.constant dense<0.0> : tensor<1024xf32>
  %sum = linalg.generic {indexing_maps = [#cr, #r], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<64x1024xf32>) outs(%zero : tensor<1024xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  } -> tensor<1024xf32>
  epl.yield %sum : tensor<1024xf32>
}

// Wide rows that are stored as well, within the caches, are added one by one.
// CHECK: epl.kernel @wide_stored fusion
// CHECK: form = "column"
// CHECK-LABEL: func.func private @wide_stored.body
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c1
// CHECK: arith.addf
epl.kernel @wide_stored fusion {
^bb0(%x: tensor<64x1024xf32>):
  %zero = arith.constant dense<0.0> : tensor<1024xf32>
  %e = tensor.empty() : tensor<64x1024xf32>
  %y = linalg.generic {indexing_maps = [#rc, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<64x1024xf32>) outs(%e : tensor<64x1024xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  } -> tensor<64x1024xf32>
  %sum = linalg.generic {indexing_maps = [#cr, #r], iterator_types = ["parallel", "reduction"]}
      ins(%y : tensor<64x1024xf32>) outs(%zero : tensor<1024xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  } -> tensor<1024xf32>
  epl.yield %y, %sum : tensor<64x1024xf32>, tensor<1024xf32>
}
