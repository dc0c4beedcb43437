// RUN: epl-opt %s -split-input-file -epl-seed-batch -epl-seed-sequence -verify-diagnostics | FileCheck %s
// RUN: epl-opt %s -split-input-file -epl-seed-batch -epl-seed-sequence -epl-propagate -epl-place -epl-verify-sharded 2>/dev/null | FileCheck %s --check-prefix=PLACED

#forward = #epl.work<@tg0, forward>
#backward = #epl.work<@tg0, backward>
#apply = #epl.work<@tg0, apply>
#id = affine_map<(m, n) -> (m, n)>
#columns = affine_map<(m, n) -> (n)>
#map = {indexing_maps = [#id, #columns, #id], iterator_types = ["parallel", "parallel"], epl.work = #forward}

epl.taskgraph @tg0 strategy(<split, 4>) on @mesh
epl.mesh @mesh axes ["data"=2, "model"=4]

// Two perceptrons, each round a residual, with a gain before the second: the sum of the first enters the
// region, rows are shared, and what the second product reads is gathered. The gain's gradient sums over rows,
// that of the second product's operand is scattered like what it is multiplied by. "data" shards rows, too.
// CHECK-LABEL: func.func @residuals
// CHECK: %[[SUM:.*]] = linalg.matmul {{.*}}ins(%{{.*}}, %arg1
// CHECK-NEXT: %[[PART:.*]] = epl.constrain %[[SUM]] to <[{"model"}, {}]> {epl.work = #epl.work<@tg0, forward>}
// CHECK: arith.addf %{{.*}}, %[[PART]]
// CHECK-NEXT: %[[X:.*]] = math.tanh
// CHECK: %[[SCALED:.*]] = linalg.generic {{.*}}ins(%[[X]], %arg2
// CHECK: %[[WHOLE:.*]] = epl.constrain %[[SCALED]] to <[{}, {}], whole = {"model"}>
// CHECK: linalg.matmul {{.*}}ins(%[[WHOLE]], %arg3
// CHECK: %[[DSUM:.*]] = linalg.matmul {{.*}}ins(%{{.*}}, %{{.*}} : tensor<16x8xf32>, tensor<8x4xf32>)
// CHECK-NEXT: %[[D:.*]] = epl.constrain %[[DSUM]] to <[{"model"}, {}]> {epl.work = #epl.work<@tg0, backward>}
// CHECK: arith.mulf %[[X]], %[[D]]
// CHECK-NOT: epl.constrain
// PLACED-LABEL: func.func @residuals
// PLACED: %[[SUM:.*]] = linalg.matmul {{.*}}partial = sum{"model"}{{.*}}ins(%{{.*}}, %arg1
// PLACED: epl.reshard %[[SUM]] to <@mesh, [{"data", "model"}, {}]>
// PLACED: %[[SCALED:.*]] = linalg.generic {{.*}}ins(%{{.*}}, %arg2
// PLACED: epl.reshard %[[SCALED]] to <@mesh, [{"data"}, {}]>
// PLACED: %[[DSUM:.*]] = linalg.matmul {{.*}}partial = sum{"model"}
// PLACED: epl.reshard %[[DSUM]] to <@mesh, [{"data", "model"}, {}]>
// PLACED: %[[DGAIN:.*]] = linalg.reduce {{.*}}partial = sum{"data", "model"}
// PLACED: epl.reshard %[[DGAIN]] to <@mesh, [{}]>
// PLACED-NOT: epl.constrain
func.func @residuals(%w0: tensor<4x8xf32> {epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{}, {"model"}]>},
                     %w1: tensor<8x4xf32> {epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{"model"}, {}]>},
                     %gain: tensor<4xf32> {epl.role = "state"},
                     %w2: tensor<4x8xf32> {epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{}, {"model"}]>},
                     %x: tensor<16x4xf32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<16x8xf32>, tensor<4xf32> {epl.updates = 2 : i64}) {
  %z8 = arith.constant {epl.work = #forward} dense<0.0> : tensor<16x8xf32>
  %z4 = arith.constant {epl.work = #forward} dense<0.0> : tensor<16x4xf32>
  %h = linalg.matmul {epl.work = #forward} ins(%x, %w0 : tensor<16x4xf32>, tensor<4x8xf32>) outs(%z8 : tensor<16x8xf32>) -> tensor<16x8xf32>
  %y = linalg.matmul {epl.work = #forward} ins(%h, %w1 : tensor<16x8xf32>, tensor<8x4xf32>) outs(%z4 : tensor<16x4xf32>) -> tensor<16x4xf32>
  %r = arith.addf %x, %y {epl.work = #forward} : tensor<16x4xf32>
  %x1 = math.tanh %r {epl.work = #forward} : tensor<16x4xf32>
  %s = linalg.generic #map ins(%x1, %gain : tensor<16x4xf32>, tensor<4xf32>) outs(%z4 : tensor<16x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<16x4xf32>
  %o = linalg.matmul {epl.work = #forward} ins(%s, %w2 : tensor<16x4xf32>, tensor<4x8xf32>) outs(%z8 : tensor<16x8xf32>) -> tensor<16x8xf32>
  %zt = arith.constant {epl.work = #backward} dense<0.0> : tensor<8x4xf32>
  %t = linalg.transpose ins(%w2 : tensor<4x8xf32>) outs(%zt : tensor<8x4xf32>) permutation = [1, 0] {epl.work = #backward}
  %zd = arith.constant {epl.work = #backward} dense<0.0> : tensor<16x4xf32>
  %ds = linalg.matmul {epl.work = #backward} ins(%o, %t : tensor<16x8xf32>, tensor<8x4xf32>) outs(%zd : tensor<16x4xf32>) -> tensor<16x4xf32>
  %e = arith.mulf %x1, %ds {epl.work = #backward} : tensor<16x4xf32>
  %f = math.tanh %e {epl.work = #backward} : tensor<16x4xf32>
  %zg = arith.constant {epl.work = #backward} dense<0.0> : tensor<4xf32>
  %dgain = linalg.reduce { arith.addf } ins(%f : tensor<16x4xf32>) outs(%zg : tensor<4xf32>) dimensions = [0] {epl.work = #backward}
  %g = arith.addf %gain, %dgain {epl.work = #apply} : tensor<4xf32>
  return %o, %g : tensor<16x8xf32>, tensor<4xf32>
}

// -----

epl.taskgraph @tg0 strategy(<split, 4>) on @mesh
epl.mesh @mesh axes ["model"=4]

// Nothing has an extent that four devices divide.
// CHECK-LABEL: func.func @odd
// CHECK-NOT: epl.constrain
// expected-remark@below {{every device gets all of 1 sums: no dimension is there that axis "model" of size 4 divides}}
func.func @odd(%w0: tensor<3x8xf32> {epl.sharding = #epl.sharding<@mesh, [{}, {"model"}]>},
               %w1: tensor<8x3xf32> {epl.sharding = #epl.sharding<@mesh, [{"model"}, {}]>},
               %x: tensor<6x3xf32>) -> tensor<6x8xf32> {
  %z8 = arith.constant dense<0.0> : tensor<6x8xf32>
  %z3 = arith.constant dense<0.0> : tensor<6x3xf32>
  %h = linalg.matmul ins(%x, %w0 : tensor<6x3xf32>, tensor<3x8xf32>) outs(%z8 : tensor<6x8xf32>) -> tensor<6x8xf32>
  // expected-note@+1 {{'tensor<6x3xf32>'}}
  %y = linalg.matmul ins(%h, %w1 : tensor<6x8xf32>, tensor<8x3xf32>) outs(%z3 : tensor<6x3xf32>) -> tensor<6x3xf32>
  %r = math.tanh %y : tensor<6x3xf32>
  %o = linalg.matmul ins(%r, %w0 : tensor<6x3xf32>, tensor<3x8xf32>) outs(%z8 : tensor<6x8xf32>) -> tensor<6x8xf32>
  return %o : tensor<6x8xf32>
}

// -----

epl.taskgraph @tg0 strategy(<split, 4>) on @mesh
epl.mesh @mesh axes ["model"=4]

// Rows don't divide, columns do, but a mean is taken over them: devices would exchange more.
// CHECK-LABEL: func.func @means
// CHECK-NOT: epl.constrain
func.func @means(%w0: tensor<4x8xf32> {epl.sharding = #epl.sharding<@mesh, [{}, {"model"}]>},
                 %w1: tensor<8x4xf32> {epl.sharding = #epl.sharding<@mesh, [{"model"}, {}]>},
                 %x: tensor<6x4xf32>) -> tensor<6x8xf32> {
  %z8 = arith.constant dense<0.0> : tensor<6x8xf32>
  %z4 = arith.constant dense<0.0> : tensor<6x4xf32>
  %z1 = arith.constant dense<0.0> : tensor<6xf32>
  %h = linalg.matmul ins(%x, %w0 : tensor<6x4xf32>, tensor<4x8xf32>) outs(%z8 : tensor<6x8xf32>) -> tensor<6x8xf32>
  %y = linalg.matmul ins(%h, %w1 : tensor<6x8xf32>, tensor<8x4xf32>) outs(%z4 : tensor<6x4xf32>) -> tensor<6x4xf32>
  %r = math.tanh %y : tensor<6x4xf32>
  %m = linalg.reduce { arith.addf } ins(%r : tensor<6x4xf32>) outs(%z1 : tensor<6xf32>) dimensions = [1]
  %b = linalg.broadcast ins(%m : tensor<6xf32>) outs(%z4 : tensor<6x4xf32>) dimensions = [1]
  %n = arith.subf %r, %b : tensor<6x4xf32>
  %o = linalg.matmul ins(%n, %w0 : tensor<6x4xf32>, tensor<4x8xf32>) outs(%z8 : tensor<6x8xf32>) -> tensor<6x8xf32>
  return %o : tensor<6x8xf32>
}
