// RUN: epl-opt %s --epl-decompose-gathers | FileCheck %s

// CHECK: #[[B:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK: #[[RESULT:.*]] = affine_map<(d0, d1) -> (d0, d1)>

// Rows: the position is moved into the table.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[X:.*]]: tensor<9x4xf32>, %[[I:.*]]: tensor<2xi32>
// CHECK: linalg.generic {indexing_maps = [#[[B]], #[[RESULT]]], iterator_types = ["parallel", "parallel"]} ins(%[[I]] : tensor<2xi32>)
// CHECK-NEXT: ^bb0(%[[POSITION:.*]]: i32, %{{.*}}: f32):
// CHECK-DAG: %[[COLUMN:.*]] = linalg.index 1
// CHECK-DAG: %[[AT:.*]] = arith.index_cast %[[POSITION]] : i32 to index
// CHECK-DAG: %[[LOW:.*]] = arith.maxsi %[[AT]], %c0
// CHECK-DAG: %[[ROW:.*]] = arith.minsi %[[LOW]], %c8
// CHECK: tensor.extract %[[X]][%[[ROW]], %[[COLUMN]]]
// CHECK: } -> tensor<2x4xf32>
func.func @rows(%x: tensor<9x4xf32>, %i: tensor<2xi32>) -> tensor<2x4xf32> {
  %0 = epl.gather %x[%i] of [0] operand_dims [-1, 1] index_dims [0] : (tensor<9x4xf32>, tensor<2xi32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// A slice: its last start is the one where it still fits.
// CHECK-LABEL: func.func @slice
// CHECK: %[[FIRST:.*]] = linalg.index 0
// CHECK: arith.minsi %{{.*}}, %c6
// CHECK: %[[ROW:.*]] = arith.addi %{{.*}}, %[[FIRST]]
// CHECK: tensor.extract %{{.*}}[%[[ROW]], %{{.*}}]
func.func @slice(%x: tensor<9x4xf32>, %i: tensor<i64>) -> tensor<3x4xf32> {
  %0 = epl.gather %x[%i] of [0] operand_dims [0, 1] index_dims [] : (tensor<9x4xf32>, tensor<i64>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// Of each row one element; what is not indexed is at 0.
// CHECK-LABEL: func.func @batch
// CHECK: %[[ROW:.*]] = linalg.index 0
// CHECK: %[[COLUMN:.*]] = arith.minsi
// CHECK: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK: tensor.extract %{{.*}}[%[[ROW]], %[[COLUMN]], %[[ZERO]]]
func.func @batch(%x: tensor<9x4x2xf32>, %i: tensor<9xi8>) -> tensor<9xf32> {
  %0 = epl.gather %x[%i] of [1] operand_dims [0, -1, -1] index_dims [0] : (tensor<9x4x2xf32>, tensor<9xi8>) -> tensor<9xf32>
  return %0 : tensor<9xf32>
}
