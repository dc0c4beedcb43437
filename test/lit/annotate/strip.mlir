// RUN: epl-opt %s --epl-strip | FileCheck %s
// RUN: epl-opt %s --epl-strip --epl-verify-input | FileCheck %s

// Annotations go; what says what the step is stays.

// CHECK-NOT: epl.mesh
epl.mesh @mesh axes ["data"=2]
// CHECK: func.func @main(%[[X:.*]]: tensor<4xf32> {epl.batch_dim = 0 : i64, epl.name = "x", epl.role = "batch"}) -> (tensor<4xf32> {epl.name = "y"}) {
// CHECK-NEXT: %[[A:.*]] = math.tanh %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[B:.*]] = math.sin %[[A]] : tensor<4xf32>
// CHECK-NEXT: return %[[B]] : tensor<4xf32>
func.func @main(%x: tensor<4xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "x", epl.sharding = #epl.sharding<@mesh, [{"data"}]>})
    -> (tensor<4xf32> {epl.name = "y"})
    attributes {epl.default_strategy = #epl.strategy<replicate, 1>, epl.scopes = {s0 = #epl.scope<split, 2, "">}} {
  %0 = epl.replicate name("a") -> tensor<4xf32> {
    %1 = math.tanh %x {epl.per_micro_batch} : tensor<4xf32>
    epl.checkpoint %1 : tensor<4xf32>
    %2 = epl.constrain %1 to <[{"data"}]> : tensor<4xf32>
    epl.yield %2 : tensor<4xf32>
  }
  %3 = epl.split devices(2) -> tensor<4xf32> {
    %4 = math.sin %0 {epl.checkpoint, epl.sharding = [#epl.sharding<@mesh, [{"data"}]>]} : tensor<4xf32>
    epl.yield %4 : tensor<4xf32>
  }
  return %3 : tensor<4xf32>
}
