// RUN: epl-compile %s --devices=cpu:3 -o %t.eplan && epl-plan dump %t.eplan | FileCheck %s

// A scope that only constrains a value hands it on: it sends what it received, and not before that.

// CHECK: part 1
// CHECK: #[[RECEIVE:[0-9]+]] "receive" receive [[BUFFER:b[0-9]+]] from channel 0
// CHECK: "send" send [[BUFFER]] to channel 1 {{.*}}after #[[RECEIVE]]
// CHECK: part 2

func.func @main(%x: tensor<8x4xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<8x4xf32> {
  %0 = epl.replicate name("a") -> tensor<8x4xf32> {
    %1 = math.exp %x : tensor<8x4xf32>
    epl.yield %1 : tensor<8x4xf32>
  }
  %2 = epl.replicate name("b") -> tensor<8x4xf32> {
    %3 = epl.constrain %0 to <[{"data"}, {}]> : tensor<8x4xf32>
    epl.yield %3 : tensor<8x4xf32>
  }
  %4 = epl.replicate name("c") -> tensor<8x4xf32> {
    %5 = math.sin %2 : tensor<8x4xf32>
    epl.yield %5 : tensor<8x4xf32>
  }
  return %4 : tensor<8x4xf32>
}
