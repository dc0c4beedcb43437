// RUN: epl-opt %s --epl-generalize-ops --epl-flatten-scopes --epl-form-taskgraphs=colocate --epl-assign-meshes=devices=6 \
// RUN:   --epl-verify-global --epl-shard | FileCheck %s
// RUN: epl-opt %s --epl-generalize-ops --epl-flatten-scopes --epl-form-taskgraphs=colocate --epl-assign-meshes=devices=6 \
// RUN:   --epl-verify-global --epl-shard --epl-kernel | FileCheck %s --check-prefix=KERNEL

// A body that is replicated and a head that is split, side by side: two replicas of three devices. What the head gets
// is sharded as the samples of its replicas are; only it sums over "model", and what it sends is complete.

// CHECK: func.func @main.mesh0(
// CHECK-SAME: !epl.dist<tensor<6x8xf32>, <@mesh0, [{}, {}]>> {epl.name = "up", epl.position = 0 : i64
// CHECK-SAME: !epl.dist<tensor<8x6xf32>, <@mesh0, [{"data"}, {}]>>
// CHECK-SAME: !epl.dist<tensor<8x4xf32>, <@mesh0, [{"data"}, {}]>> {epl.batch_dim = 0 : i64, epl.channel = 1 : i64}
// CHECK-SAME: -> (!epl.dist<tensor<6x8xf32>, <@mesh0, [{}, {}]>> {epl.position = 0 : i64, epl.updates = 0 : i64}
// CHECK-SAME: !epl.dist<tensor<8x4xf32>, <@mesh0, [{"data"}, {}]>> {epl.position = 3 : i64}
// CHECK-SAME: !epl.dist<tensor<8x8xf32>, <@mesh0, [{"data"}, {}]>> {epl.channel = 0 : i64}
// CHECK-NOT: epl.all_
// What it makes of channel 1 may depend on what it sends by channel 0, so that one task does not do both.
// CHECK: %[[SENT:.*]] = epl.task <@tg0, forward>
// CHECK: %[[LAST:.*]] = epl.task <@tg0, forward>
// CHECK: return %{{.*}}, %[[LAST]], %[[SENT]]
// CHECK: func.func @main.mesh1(
// CHECK-SAME: !epl.dist<tensor<8x8xf32>, <@mesh1, [{}, {"model"}]>> {epl.name = "mid", epl.position = 1 : i64
// CHECK-SAME: !epl.dist<tensor<8x4xf32>, <@mesh1, [{"model"}, {}]>> {epl.name = "down", epl.position = 2 : i64
// CHECK-SAME: !epl.dist<tensor<8x8xf32>, <@mesh1, [{"data"}, {}]>> {epl.batch_dim = 0 : i64, epl.channel = 0 : i64}
// CHECK-SAME: !epl.dist<tensor<8x4xf32>, <@mesh1, [{"data"}, {}]>> {epl.channel = 1 : i64}
// CHECK-COUNT-1: epl.all_reduce {{.*}} partial = sum{"model"}
// CHECK-NOT: epl.all_

// Kernels are those of the whole module.
// KERNEL-COUNT-2: func.func @main.mesh
// KERNEL: epl.kernel @k0_matmul
// KERNEL: epl.kernel @k1_tanh
// KERNEL: epl.kernel @k2_sin
// KERNEL: epl.kernel @k3_matmul
func.func @main(%up: tensor<6x8xf32> {epl.role = "state", epl.name = "up"},
                %mid: tensor<8x8xf32> {epl.role = "state", epl.name = "mid"},
                %down: tensor<8x4xf32> {epl.role = "state", epl.name = "down"},
                %x: tensor<8x6xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "x"})
    -> (tensor<6x8xf32> {epl.updates = 0 : i64}, tensor<8x8xf32> {epl.updates = 1 : i64},
        tensor<8x4xf32> {epl.updates = 2 : i64}, tensor<8x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %features = epl.replicate -> tensor<8x8xf32> {
    %e0 = tensor.empty() : tensor<8x8xf32>
    %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<8x8xf32>) -> tensor<8x8xf32>
    %h = linalg.matmul ins(%x, %up : tensor<8x6xf32>, tensor<6x8xf32>) outs(%z0 : tensor<8x8xf32>) -> tensor<8x8xf32>
    %t = math.tanh %h : tensor<8x8xf32>
    epl.yield %t : tensor<8x8xf32>
  }
  %y = epl.split devices(2) -> tensor<8x4xf32> {
    %e1 = tensor.empty() : tensor<8x8xf32>
    %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8x8xf32>) -> tensor<8x8xf32>
    %m = linalg.matmul ins(%features, %mid : tensor<8x8xf32>, tensor<8x8xf32>) outs(%z1 : tensor<8x8xf32>) -> tensor<8x8xf32>
    %t = math.tanh %m : tensor<8x8xf32>
    %e2 = tensor.empty() : tensor<8x4xf32>
    %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<8x4xf32>) -> tensor<8x4xf32>
    %o = linalg.matmul ins(%t, %down : tensor<8x8xf32>, tensor<8x4xf32>) outs(%z2 : tensor<8x4xf32>) -> tensor<8x4xf32>
    epl.yield %o : tensor<8x4xf32>
  }
  %z = epl.replicate -> tensor<8x4xf32> {
    %s = math.sin %y : tensor<8x4xf32>
    epl.yield %s : tensor<8x4xf32>
  }
  return %up, %mid, %down, %z : tensor<6x8xf32>, tensor<8x8xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}
