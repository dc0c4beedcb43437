// RUN: %compare(2) --rtol=0 --atol=0
// RUN: epl-compile %s --devices=cpu:2 --emit=local | FileCheck %s

// A mean is a sum and a division by the whole batch. MLIR's average of an all-reduce becomes MPI's null operation.

// CHECK: epl.all_reduce %{{.*}} partial = sum{"data"}

func.func @main(%x: tensor<8x4xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<4xf32> {
  %z = arith.constant dense<0.0> : tensor<4xf32>
  %eighth = arith.constant dense<0.125> : tensor<4xf32>
  %0 = linalg.reduce { arith.addf } ins(%x : tensor<8x4xf32>) outs(%z : tensor<4xf32>) dimensions = [0]
  %1 = arith.mulf %0, %eighth : tensor<4xf32>
  return %1 : tensor<4xf32>
}
