// RUN: epl-opt %s -epl-seed-batch -epl-seed-zero=level=v1 -verify-diagnostics | FileCheck %s --check-prefixes=CHECK,V1
// RUN: epl-opt %s -epl-seed-batch -epl-seed-zero=level=v2 2>/dev/null | FileCheck %s --check-prefixes=CHECK,V2
// RUN: epl-opt %s -epl-seed-batch -epl-seed-zero=level=v3 2>/dev/null | FileCheck %s --check-prefixes=CHECK,V3
// RUN: epl-opt %s -epl-seed-batch -epl-seed-zero | FileCheck %s --check-prefix=OFF
// RUN: epl-opt %s -epl-seed-batch -epl-seed-zero=level=v1 -epl-propagate -epl-place -epl-verify-sharded 2>/dev/null | FileCheck %s --check-prefix=PLACED1
// RUN: epl-opt %s -epl-seed-batch -epl-seed-zero=level=v2 -epl-propagate -epl-place -epl-verify-sharded 2>/dev/null | FileCheck %s --check-prefix=PLACED2
// RUN: epl-opt %s -epl-seed-batch -epl-seed-zero=level=v3 -epl-propagate -epl-place -epl-verify-sharded 2>/dev/null | FileCheck %s --check-prefix=PLACED3

// A layer, its gradient, momentum, and the gradient's norm. A state that no axis divides stays whole, with a
// remark; the counter is no float, the scale has no dimension. @whole is passed through, in parts.

#forward = #epl.work<@tg0, forward>
#backward = #epl.work<@tg0, backward>
#apply = #epl.work<@tg0, apply>
#rows = affine_map<(m, n, k) -> (k, m)>
#columns = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>

epl.mesh @mesh axes ["data"=4]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// OFF-LABEL: func.func @step
// OFF-NOT: epl.reshard
// OFF-NOT: epl.sharding = #epl.sharding<@mesh, [{"data"}, {}]>}, %arg1
// CHECK-LABEL: func.func @step
// V1-SAME: "w", epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{}, {}]>
// V2-SAME: "w", epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{}, {}]>
// V3-SAME: "w", epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{}, {"data"}]>
// CHECK-SAME: "momentum", epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{}, {"data"}]>
// CHECK-SAME: "odd", epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{}]>
// CHECK-SAME: "other", epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{"data"}, {}]>
// CHECK-SAME: "count", epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{}]>
// CHECK-SAME: "scale", epl.role = "state", epl.sharding = #epl.sharding<@mesh, []>
// expected-remark@+2 {{every device keeps all of 1 states of 12 bytes: no dimension is left that axis "data" of size 4 divides}}
// expected-note@+1 {{argument "odd" of 'tensor<3xf32>'}}
func.func @step(%w: tensor<6x4xf32> {epl.role = "state", epl.name = "w"},
                %momentum: tensor<6x4xf32> {epl.role = "state", epl.name = "momentum"},
                %odd: tensor<3xf32> {epl.role = "state", epl.name = "odd"},
                %other: tensor<8x4xf32> {epl.role = "state", epl.name = "other"},
                %count: tensor<4xi32> {epl.role = "state", epl.name = "count"},
                %scale: tensor<f32> {epl.role = "state", epl.name = "scale"},
                %x: tensor<16x6xf32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<6x4xf32> {epl.updates = 0 : i64}, tensor<6x4xf32> {epl.updates = 1 : i64},
        tensor<8x4xf32> {epl.updates = 3 : i64}, tensor<f32>) {
  %z0 = arith.constant {epl.work = #forward} dense<0.0> : tensor<16x4xf32>
  // V1-NOT: epl.reshard
  // V2-NOT: epl.reshard
  // V3: %[[W0:.*]] = epl.reshard %arg0 to <@mesh, [{}, {}]> {{[{].*}}epl.work = #epl.work<@tg0, forward>}
  // V3-NEXT: linalg.matmul {{.*}}%[[W0]]
  // PLACED3: %[[W0:.*]] = epl.reshard %arg0 to <@mesh, [{}, {}]> {{[{].*}}epl.work = #epl.work<@tg0, forward>}
  // PLACED3: linalg.matmul {{.*}}%[[W0]]
  %y = linalg.matmul {epl.work = #forward} ins(%x, %w : tensor<16x6xf32>, tensor<6x4xf32>) outs(%z0 : tensor<16x4xf32>) -> tensor<16x4xf32>
  %z1 = arith.constant {epl.work = #backward} dense<0.0> : tensor<16x4xf32>
  // V3: %[[W1:.*]] = epl.reshard %arg0 to <@mesh, [{}, {}]> {{[{].*}}epl.work = #epl.work<@tg0, backward>}
  // V3-NEXT: linalg.matmul {{.*}}%[[W1]]
  // PLACED3: %[[W1:.*]] = epl.reshard %arg0 to <@mesh, [{}, {}]> {{[{].*}}epl.work = #epl.work<@tg0, backward>}
  // PLACED3: linalg.matmul {{.*}}%[[W1]]
  %d = linalg.matmul {epl.work = #backward} ins(%x, %w : tensor<16x6xf32>, tensor<6x4xf32>) outs(%z1 : tensor<16x4xf32>) -> tensor<16x4xf32>
  %t = arith.mulf %y, %d {epl.work = #backward} : tensor<16x4xf32>
  %z2 = arith.constant {epl.work = #backward} dense<0.0> : tensor<6x4xf32>
  %half = arith.constant {epl.work = #backward} dense<0.5> : tensor<6x4xf32>
  // CHECK: %[[SUM:.*]] = linalg.matmul indexing_maps{{.*}}ins(%arg6
  // V1-NOT: epl.reshard
  // V2-NEXT: %[[G:.*]] = epl.reshard %[[SUM]] to <@mesh, [{}, {"data"}]> {{[{].*}}epl.work = #epl.work<@tg0, backward>}
  // V2-NEXT: arith.mulf %[[G]]
  // V3-NEXT: %[[G:.*]] = epl.reshard %[[SUM]] to <@mesh, [{}, {"data"}]> {{[{].*}}epl.work = #epl.work<@tg0, backward>}
  // V3-NEXT: arith.mulf %[[G]]
  // The norm reads the gradient: at v1 every device sums all of it.
  // PLACED1: %[[SUM:.*]] = linalg.matmul indexing_maps{{.*}} partial = sum{"data"}>
  // PLACED1: %[[G:.*]] = arith.mulf %[[SUM]]
  // PLACED1-NEXT: %[[WHOLE:.*]] = epl.reshard %[[G]] to <@mesh, [{}, {}]>
  // PLACED2: %[[SUM:.*]] = linalg.matmul indexing_maps{{.*}} partial = sum{"data"}>
  // PLACED2-NEXT: %[[PART:.*]] = epl.reshard %[[SUM]] to <@mesh, [{}, {"data"}]>
  // PLACED2-NEXT: arith.mulf %[[PART]], {{.*}}epl.sharding<@mesh, [{}, {"data"}]>
  // PLACED3: %[[SUM:.*]] = linalg.matmul indexing_maps{{.*}} partial = sum{"data"}>
  // PLACED3-NEXT: epl.reshard %[[SUM]] to <@mesh, [{}, {"data"}]>
  %sum = linalg.matmul indexing_maps = [#rows, #columns, #out] {epl.work = #backward} ins(%x, %t : tensor<16x6xf32>, tensor<16x4xf32>) outs(%z2 : tensor<6x4xf32>) -> tensor<6x4xf32>
  %g = arith.mulf %sum, %half {epl.work = #backward} : tensor<6x4xf32>
  %0 = arith.addf %momentum, %g {epl.work = #apply} : tensor<6x4xf32>
  // PLACED1: %[[NEW:.*]] = arith.subf {{.*}}epl.sharding<@mesh, [{}, {"data"}]>
  // PLACED1-NEXT: %[[ALL:.*]] = epl.reshard %[[NEW]] to <@mesh, [{}, {}]>
  // PLACED2: %[[NEW:.*]] = arith.subf {{.*}}epl.sharding<@mesh, [{}, {"data"}]>
  // PLACED2-NEXT: epl.reshard %[[NEW]] to <@mesh, [{}, {}]>
  // PLACED3: arith.subf {{.*}}epl.sharding<@mesh, [{}, {"data"}]>
  // PLACED3-NEXT: math.absf
  %1 = arith.subf %w, %0 {epl.work = #apply} : tensor<6x4xf32>
  %2 = math.absf %g {epl.work = #apply} : tensor<6x4xf32>
  %z3 = arith.constant {epl.work = #apply} dense<0.0> : tensor<f32>
  // PLACED1: linalg.reduce {{.*}}epl.sharding<@mesh, []>
  // PLACED1-NOT: epl.reshard
  // PLACED2: %[[NORM:.*]] = linalg.reduce {{.*}} partial = sum{"data"}>
  // PLACED2: epl.reshard %[[NORM]] to <@mesh, []>
  %norm = linalg.reduce { arith.addf } ins(%2 : tensor<6x4xf32>) outs(%z3 : tensor<f32>) dimensions = [0, 1] {epl.work = #apply}
  return %1, %0, %other, %norm : tensor<6x4xf32>, tensor<6x4xf32>, tensor<8x4xf32>, tensor<f32>
}
