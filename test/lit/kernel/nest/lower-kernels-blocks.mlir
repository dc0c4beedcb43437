// RUN: epl-opt %s --epl-lower-kernels=cpu=x86-64-v4 | FileCheck %s

#rc = affine_map<(d0, d1) -> (d0, d1)>
#r = affine_map<(d0, d1) -> (d0)>
#c = affine_map<(d0, d1) -> (d1)>

// A long sum clears the sum of a block of 128 rows, adds the rows to it, four at a time, and this sum to the
// result. The three rows that no pass takes are a block of their own.

// CHECK: epl.kernel @columns fusion
// CHECK: form = "column", workspace = 448 : i64
// CHECK-LABEL: func.func private @columns.body
// CHECK-SAME: %{{.*}}: memref<129100xf32> {llvm.noalias}, %[[TOTAL:[a-z0-9]+]]: memref<100xf32>
// CHECK: %[[SUM:.*]] = memref.view
// CHECK: vector.store %{{.*}}, %[[TOTAL]]
// CHECK: scf.for %[[BLOCK:.*]] = %c0 to %c1288 step %c128
// CHECK: %[[NEXT:.*]] = arith.addi %[[BLOCK]], %c128
// CHECK: %[[END:.*]] = arith.minsi %[[NEXT]], %c1288
// CHECK: vector.store %{{.*}}, %[[SUM]]
// CHECK: scf.for %{{.*}} = %[[BLOCK]] to %[[END]] step %c4
// CHECK: vector.store %{{.*}}, %[[SUM]]
// CHECK: vector.load %[[TOTAL]]
// CHECK: vector.load %[[SUM]]
// CHECK: arith.addf
// CHECK: vector.store %{{.*}}, %[[TOTAL]]
// CHECK: vector.store %{{.*}}, %[[SUM]]
// CHECK: vector.store %{{.*}}, %[[SUM]]
// CHECK: vector.load %[[TOTAL]]
// CHECK: vector.store %{{.*}}, %[[TOTAL]]
epl.kernel @columns fusion {
^bb0(%x: tensor<1291x100xf32>):
  %zero = arith.constant dense<0.0> : tensor<100xf32>
  %sum = linalg.generic {indexing_maps = [#rc, #c], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<1291x100xf32>) outs(%zero : tensor<100xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  } -> tensor<100xf32>
  epl.yield %sum : tensor<100xf32>
}

// A maximum has no error.
// CHECK-LABEL: func.func private @maximum.body
// CHECK: scf.for %{{.*}} = %c0 to %c1288 step %c4
// CHECK-NOT: minsi
epl.kernel @maximum fusion {
^bb0(%x: tensor<1291x100xf32>):
  %low = arith.constant dense<0xFF800000> : tensor<100xf32>
  %max = linalg.generic {indexing_maps = [#rc, #c], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<1291x100xf32>) outs(%low : tensor<100xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.maximumf %out, %in : f32
    linalg.yield %0 : f32
  } -> tensor<100xf32>
  epl.yield %max : tensor<100xf32>
}

// Sums over the rows that a kernel works through, one row at a time.
// CHECK: epl.kernel @rows fusion
// CHECK: form = "row"
// CHECK-LABEL: func.func private @rows.body
// CHECK-SAME: memref<524288xf32> {llvm.noalias}, %{{.*}}: memref<524288xf32> {llvm.noalias}, %[[TOTAL:[a-z0-9]+]]: memref<256xf32>
// CHECK-DAG: %[[SUM:.*]] = memref.view %{{.*}} to memref<256xf32>
// CHECK: scf.for %[[BLOCK:.*]] = %c0 to %c2048 step %c128
// CHECK: %[[END:.*]] = arith.minsi %{{.*}}, %c2048
// CHECK: vector.store %{{.*}}, %[[SUM]]
// CHECK: scf.for %{{.*}} = %[[BLOCK]] to %[[END]] step %c1
// CHECK: vector.store %{{.*}}, %[[SUM]]
// CHECK: vector.load %[[TOTAL]]
// CHECK: vector.load %[[SUM]]
// CHECK: vector.store %{{.*}}, %[[TOTAL]]
epl.kernel @rows fusion {
^bb0(%x: tensor<2048x256xf32>):
  %zero = arith.constant dense<0.0> : tensor<256xf32>
  %zeros = arith.constant dense<0.0> : tensor<2048xf32>
  %e = tensor.empty() : tensor<2048x256xf32>
  %s = linalg.generic {indexing_maps = [#rc, #r], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<2048x256xf32>) outs(%zeros : tensor<2048xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  } -> tensor<2048xf32>
  %y = linalg.generic {indexing_maps = [#rc, #r, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<2048x256xf32>, tensor<2048xf32>) outs(%e : tensor<2048x256xf32>) {
  ^bb0(%in: f32, %of: f32, %out: f32):
    %0 = arith.divf %in, %of : f32
    linalg.yield %0 : f32
  } -> tensor<2048x256xf32>
  %sum = linalg.generic {indexing_maps = [#rc, #c], iterator_types = ["reduction", "parallel"]}
      ins(%y : tensor<2048x256xf32>) outs(%zero : tensor<256xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  } -> tensor<256xf32>
  epl.yield %y, %sum : tensor<2048x256xf32>, tensor<256xf32>
}
