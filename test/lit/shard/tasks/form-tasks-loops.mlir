// RUN: epl-opt %s --epl-annotate="devices=2" --epl-shard 2>/dev/null | FileCheck %s

// What one carried value becomes is made before the loop, in a task that work behind the loop must not join: that
// reads what another one ends as, and a loop stands in one piece.

// CHECK-LABEL: func.func @main
// CHECK: epl.task
// CHECK: math.sin
// CHECK: epl.loop_carry
// CHECK: math.cos
// CHECK: epl.loop_last
// CHECK: epl.loop_stack
// CHECK: epl.task
// CHECK-NOT: math.sin
// CHECK: math.exp
func.func @main(%x: tensor<4xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}, %w: tensor<3xf32> {epl.role = "constant"}) -> (tensor<4xf32>, tensor<2x3xf32>) {
  %0 = epl.loop_carry <0, trip_count = 2> 0 %x : tensor<4xf32> -> tensor<4xf32>
  %1 = epl.loop_carry <0, trip_count = 2> 1 %w : tensor<3xf32> -> tensor<3xf32>
  %2 = math.sin %w : tensor<3xf32>
  %3 = math.cos %0 : tensor<4xf32>
  %4 = epl.loop_last <0, trip_count = 2> 0 %3 : tensor<4xf32>
  %5 = epl.loop_last <0, trip_count = 2> 1 %2 : tensor<3xf32>
  %6 = epl.loop_stack <0, trip_count = 2> %1 : tensor<3xf32> -> tensor<2x3xf32>
  %7 = math.exp %4 : tensor<4xf32>
  return %7, %6 : tensor<4xf32>, tensor<2x3xf32>
}
