// RUN: epl-opt %s --epl-lower-kernels=cpu=x86-64-v3 | FileCheck %s
// RUN: epl-opt %s --epl-lower-kernels=loops | FileCheck %s --check-prefix=LOOPS

// Rows are added as vectors, in the order of the positions; windows outside are dropped.

// CHECK: epl.kernel @gradient fusion
// CHECK: extent = 1 : i64, flops = 0 : i64, form = "general", workspace = 0 : i64
// CHECK-LABEL: func.func private @gradient.body
// CHECK-SAME: %[[U:.*]]: memref<40xf32> {{.*}}, %[[I:.*]]: memref<4xi32> {{.*}}, %[[Y:.*]]: memref<90xf32>
// CHECK: scf.for
// CHECK: vector.store %{{.*}}, %[[Y]]
// CHECK: vector.maskedstore %[[Y]]
// CHECK: scf.for %[[P:.*]] =
// CHECK: %[[LOADED:.*]] = memref.load %[[I]][%[[P]]]
// CHECK: %[[ROW:.*]] = arith.index_cast %[[LOADED]]
// CHECK: arith.cmpi sge, %[[ROW]], %c0
// CHECK: arith.cmpi sle, %[[ROW]], %c8
// CHECK: scf.if
// CHECK: scf.for
// CHECK-DAG: vector.load %[[U]]
// CHECK-DAG: vector.load %[[Y]]
// CHECK: arith.addf %{{.*}} : vector<8xf32>
// CHECK: vector.store
// CHECK: vector.maskedload
// CHECK: arith.addf %{{.*}} : vector<8xf32>
// CHECK: vector.maskedstore

// LOOPS-LABEL: func.func private @gradient.body
// LOOPS-NOT: vector
// LOOPS: arith.addf %{{.*}} : f32
epl.kernel @gradient fusion {
^bb0(%rows: tensor<4x10xf32>, %i: tensor<4xi32>):
  %zeros = arith.constant dense<0.0> : tensor<9x10xf32>
  %0 = epl.scatter add %rows into %zeros[%i] of [0] operand_dims [-1, 1] index_dims [0] : (tensor<4x10xf32>, tensor<9x10xf32>, tensor<4xi32>) -> tensor<9x10xf32>
  epl.yield %0 : tensor<9x10xf32>
}

// Elements alone are combined one by one; a batch has the same position in both.
// CHECK-LABEL: func.func private @largest.body
// CHECK-SAME: %[[X:.*]]: memref<12xi16> {{.*}}, %[[U:.*]]: memref<4xi16> {{.*}}, %[[I:.*]]: memref<4xi64> {{.*}}, %[[Y:.*]]: memref<12xi16>
// CHECK: scf.for %[[B:.*]] =
// CHECK: scf.if
// CHECK: %[[NEW:.*]] = memref.load %[[U]]
// CHECK: %[[OLD:.*]] = memref.load %[[Y]]
// CHECK: arith.maxui %[[OLD]], %[[NEW]]
// CHECK: memref.store
epl.kernel @largest fusion {
^bb0(%x: tensor<4x3xi16>, %u: tensor<4xi16>, %i: tensor<4xi64>):
  %0 = epl.scatter umax %u into %x[%i] of [1] operand_dims [0, -1] index_dims [0] : (tensor<4xi16>, tensor<4x3xi16>, tensor<4xi64>) -> tensor<4x3xi16>
  epl.yield %0 : tensor<4x3xi16>
}
