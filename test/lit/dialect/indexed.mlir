// RUN: epl-opt %s | epl-opt | FileCheck %s
// RUN: epl-opt %s --mlir-print-op-generic | epl-opt | FileCheck %s

// CHECK-LABEL: func.func @gather
func.func @gather(%table: tensor<50x6xf32>, %tokens: tensor<4x8xi32>, %logits: tensor<4x10xbf16>, %labels: tensor<4xi64>, %at: tensor<i8>) {
  // CHECK: epl.gather %{{.*}}[%{{.*}}] of [0] operand_dims [-1, 2] index_dims [0, 1] : (tensor<50x6xf32>, tensor<4x8xi32>) -> tensor<4x8x6xf32>
  %0 = epl.gather %table[%tokens] of [0] operand_dims [-1, 2] index_dims [0, 1] : (tensor<50x6xf32>, tensor<4x8xi32>) -> tensor<4x8x6xf32>
  // A batch: row b of the logits for label b.
  // CHECK: epl.gather %{{.*}}[%{{.*}}] of [1] operand_dims [0, -1] index_dims [0]
  %1 = epl.gather %logits[%labels] of [1] operand_dims [0, -1] index_dims [0] : (tensor<4x10xbf16>, tensor<4xi64>) -> tensor<4xbf16>
  // A slice.
  // CHECK: epl.gather %{{.*}}[%{{.*}}, %{{.*}}] of [1, 0] operand_dims [0, 1] index_dims []
  %2 = epl.gather %table[%at, %at] of [1, 0] operand_dims [0, 1] index_dims [] : (tensor<50x6xf32>, tensor<i8>, tensor<i8>) -> tensor<3x2xf32>
  // Nothing is indexed.
  // CHECK: epl.gather %{{.*}}[] of [] operand_dims [1, 0] index_dims []
  %3 = epl.gather %table[] of [] operand_dims [1, 0] index_dims [] : (tensor<50x6xf32>) -> tensor<6x50xf32>
  return
}

// CHECK-LABEL: func.func @scatter
func.func @scatter(%zeros: tensor<50x6xf32>, %tokens: tensor<4x8xi32>, %rows: tensor<4x8x6xf32>, %flags: tensor<50xi1>, %flag: tensor<4x8xi1>) {
  // CHECK: epl.scatter add %{{.*}} into %{{.*}}[%{{.*}}] of [0] operand_dims [-1, 2] index_dims [0, 1] : (tensor<4x8x6xf32>, tensor<50x6xf32>, tensor<4x8xi32>) -> tensor<50x6xf32>
  %0 = epl.scatter add %rows into %zeros[%tokens] of [0] operand_dims [-1, 2] index_dims [0, 1] : (tensor<4x8x6xf32>, tensor<50x6xf32>, tensor<4x8xi32>) -> tensor<50x6xf32>
  // CHECK: epl.scatter ori
  %1 = epl.scatter ori %flag into %flags[%tokens] of [0] operand_dims [-1] index_dims [0, 1] : (tensor<4x8xi1>, tensor<50xi1>, tensor<4x8xi32>) -> tensor<50xi1>
  return
}
