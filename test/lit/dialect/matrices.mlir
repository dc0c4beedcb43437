// RUN: epl-opt %s | epl-opt | FileCheck %s
// RUN: epl-opt %s --mlir-print-op-generic | epl-opt | FileCheck %s

// CHECK-LABEL: func.func @factorize
func.func @factorize(%square: tensor<4x8x8xf32>, %tall: tensor<6x4xf64>, %factors: tensor<3xf64>) {
  // CHECK: epl.factorize cholesky %{{.*}} : (tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %0 = epl.factorize cholesky %square : (tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  // CHECK: epl.factorize lu %{{.*}} : (tensor<6x4xf64>) -> (tensor<6x4xf64>, tensor<4xi32>, tensor<6xi32>)
  %1:3 = epl.factorize lu %tall : (tensor<6x4xf64>) -> (tensor<6x4xf64>, tensor<4xi32>, tensor<6xi32>)
  // CHECK: epl.factorize qr %{{.*}} : (tensor<6x4xf64>) -> (tensor<6x4xf64>, tensor<4xf64>)
  %2:2 = epl.factorize qr %tall : (tensor<6x4xf64>) -> (tensor<6x4xf64>, tensor<4xf64>)
  // CHECK: epl.factorize orthogonal %{{.*}}, %{{.*}} : (tensor<6x4xf64>, tensor<3xf64>) -> tensor<6x4xf64>
  %3 = epl.factorize orthogonal %tall, %factors : (tensor<6x4xf64>, tensor<3xf64>) -> tensor<6x4xf64>
  // CHECK: epl.factorize eigh %{{.*}} {epl.work = #epl.work<@tg0, forward>} : (tensor<4x8x8xf32>) -> (tensor<4x8x8xf32>, tensor<4x8xf32>)
  %4:2 = epl.factorize eigh %square {epl.work = #epl.work<@tg0, forward>} : (tensor<4x8x8xf32>) -> (tensor<4x8x8xf32>, tensor<4x8xf32>)
  // CHECK: epl.factorize svd %{{.*}} : (tensor<6x4xf64>) -> tensor<4xf64>
  %5 = epl.factorize svd %tall : (tensor<6x4xf64>) -> tensor<4xf64>
  // CHECK: epl.factorize svd %{{.*}} : (tensor<6x4xf64>) -> (tensor<4xf64>, tensor<6x4xf64>, tensor<4x4xf64>)
  %6:3 = epl.factorize svd %tall : (tensor<6x4xf64>) -> (tensor<4xf64>, tensor<6x4xf64>, tensor<4x4xf64>)
  // CHECK: epl.factorize svd %{{.*}} : (tensor<6x4xf64>) -> (tensor<4xf64>, tensor<6x6xf64>, tensor<4x4xf64>)
  %7:3 = epl.factorize svd %tall : (tensor<6x4xf64>) -> (tensor<4xf64>, tensor<6x6xf64>, tensor<4x4xf64>)
  return
}

// CHECK-LABEL: func.func @triangular_solve
func.func @triangular_solve(%a: tensor<2x4x4xf32>, %b: tensor<2x4x3xf32>, %c: tensor<2x3x4xf32>) {
  // CHECK: epl.triangular_solve %{{.*}}, %{{.*}} left lower : tensor<2x4x4xf32>, tensor<2x4x3xf32>
  %0 = epl.triangular_solve %a, %b left lower : tensor<2x4x4xf32>, tensor<2x4x3xf32>
  // CHECK: epl.triangular_solve %{{.*}}, %{{.*}} transpose unit_diagonal : tensor<2x4x4xf32>, tensor<2x3x4xf32>
  %1 = epl.triangular_solve %a, %c transpose unit_diagonal : tensor<2x4x4xf32>, tensor<2x3x4xf32>
  return
}

epl.taskgraph @tg0 strategy(<replicate, 1>)
