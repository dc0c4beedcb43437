// RUN: epl-opt %s -epl-seed-batch -epl-seed-zero=level=v3 -epl-propagate -epl-place -epl-verify-sharded 2>/dev/null | FileCheck %s

// A parameter that is rounded to 16 bits is gathered behind the rounding, once for each work that reads it: half as
// much moves. One that is made larger is gathered as it is.

#forward = #epl.work<@tg0, forward>
#backward = #epl.work<@tg0, backward>


epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// CHECK-LABEL: func.func @step
// CHECK: %[[R:.*]] = arith.truncf %arg0 {{.*}}epl.sharding<@mesh, [{"data"}, {}]>{{.*}} : tensor<6x4xf32> to tensor<6x4xbf16>
// CHECK: %[[F:.*]] = epl.reshard %[[R]] to <@mesh, [{}, {}]> {{.*}}epl.work = #epl.work<@tg0, forward>
// CHECK: linalg.matmul {{.*}}ins(%arg2, %[[F]] :
// CHECK: %[[B:.*]] = epl.reshard %[[R]] to <@mesh, [{}, {}]> {{.*}}epl.work = #epl.work<@tg0, backward>
// CHECK: linalg.matmul {{.*}}ins(%arg2, %[[B]] :
// CHECK: %[[W:.*]] = epl.reshard %arg1 to <@mesh, [{}, {}]>
// CHECK: %[[L:.*]] = arith.extf %[[W]]
// CHECK: linalg.matmul {{.*}}ins(%arg2, %[[L]] :
func.func @step(%w: tensor<6x4xf32> {epl.role = "state"}, %v: tensor<6x4xbf16> {epl.role = "state"},
                %x: tensor<8x6xbf16> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) {
  %z = arith.constant {epl.work = #forward} dense<0.0> : tensor<8x4xf32>
  %r = arith.truncf %w {epl.work = #forward} : tensor<6x4xf32> to tensor<6x4xbf16>
  %0 = linalg.matmul {epl.work = #forward} ins(%x, %r : tensor<8x6xbf16>, tensor<6x4xbf16>) outs(%z : tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = linalg.matmul {epl.work = #backward} ins(%x, %r : tensor<8x6xbf16>, tensor<6x4xbf16>) outs(%z : tensor<8x4xf32>) -> tensor<8x4xf32>
  %l = arith.extf %v {epl.work = #forward} : tensor<6x4xbf16> to tensor<6x4xf32>
  %2 = linalg.matmul {epl.work = #forward} ins(%x, %l : tensor<8x6xbf16>, tensor<6x4xf32>) outs(%z : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0, %1, %2 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}
