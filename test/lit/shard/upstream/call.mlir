// RUN: not epl-compile %s --devices=cpu:2 -o %t.eplan 2>&1 | FileCheck %s

// Front ends inline calls; one that is left is named. MLIR's shard dialect stops with "sharding interface is not
// implemented".

func.func private @double(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = arith.addf %x, %x : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

func.func @main(%x: tensor<8x4xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<8x4xf32> {
  // CHECK: call.mlir:[[#@LINE+1]]:8: error: call of "double": calls must be inlined
  %0 = func.call @double(%x) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
