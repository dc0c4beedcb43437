// RUN: epl-opt %s -epl-seed-batch -epl-seed-zero=level=v3 -verify-diagnostics | FileCheck %s
// RUN: epl-opt %s -epl-seed-batch -epl-seed-zero=level=v3 -epl-propagate -epl-place -epl-verify-sharded 2>/dev/null | FileCheck %s --check-prefix=PLACED

// Two loops over stacked layers, one that stays a loop, one that is unrolled. What is stacked is shared along
// another dimension, through transposes and the optimizer; a number for each layer has no other one, and is
// gathered before the loop. Where the update multiplies a layer's matrices, layers are shared after all.

#forward = #epl.work<@tg0, forward>
#apply = #epl.work<@tg0, apply>

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// CHECK-LABEL: func.func @kept
// CHECK-SAME: "w", epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{}, {"data"}]>
// CHECK-SAME: "b", epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{"data"}]>
// CHECK-SAME: "odd", epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{}]>
// CHECK: epl.reshard %arg1 to <@mesh, [{}]>
// CHECK: epl.reshard %arg0 to <@mesh, [{}, {}]>
// PLACED-LABEL: func.func @kept
// PLACED: %[[B:.*]] = epl.reshard %arg1 to <@mesh, [{}]>
// PLACED: epl.loop_slice {{.*}} %[[B]]
// PLACED: %[[S:.*]] = epl.loop_stack {{.*}} partial = sum{"data"}
// PLACED: epl.reshard %[[S]] to <@mesh, [{}, {"data"}]>
// expected-remark@+2 {{every device keeps all of 1 states of 12 bytes: no dimension is left that axis "data" of size 2 divides}}
// expected-note@+1 {{argument "odd" of 'tensor<3xf32>'}}
func.func @kept(%w: tensor<4x8xf32> {epl.role = "state", epl.name = "w"},
                %b: tensor<4xf32> {epl.role = "state", epl.name = "b"},
                %odd: tensor<3xf32> {epl.role = "state", epl.name = "odd"},
                %x: tensor<6x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<4x8xf32> {epl.updates = 0 : i64}, tensor<4xf32> {epl.updates = 1 : i64}, tensor<3xf32> {epl.updates = 2 : i64}, tensor<6x8xf32>) {
  %zero = arith.constant {epl.work = #forward} dense<0.0> : tensor<8xf32>
  %0 = epl.loop_carry <0, trip_count = 4> 0 %x {epl.work = #forward} : tensor<6x8xf32> -> tensor<6x8xf32>
  %1 = epl.loop_slice <0, trip_count = 4> %b {epl.work = #forward} : tensor<4xf32> -> tensor<f32>
  %2 = epl.loop_slice <0, trip_count = 4> %w {epl.work = #forward} : tensor<4x8xf32> -> tensor<8xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> ()>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%0, %2, %1 : tensor<6x8xf32>, tensor<8xf32>, tensor<f32>) outs(%x : tensor<6x8xf32>) attrs = {epl.work = #forward} {
  ^bb0(%a: f32, %s: f32, %c: f32, %o: f32):
    %p = arith.mulf %a, %s : f32
    %q = arith.addf %p, %c : f32
    linalg.yield %q : f32
  } -> tensor<6x8xf32>
  %4 = linalg.reduce { arith.addf } ins(%3 : tensor<6x8xf32>) outs(%zero : tensor<8xf32>) dimensions = [0] {epl.work = #forward}
  %5 = epl.loop_last <0, trip_count = 4> 0 %3 {epl.work = #forward} : tensor<6x8xf32>
  %6 = epl.loop_stack <0, trip_count = 4> %4 {epl.work = #forward} : tensor<8xf32> -> tensor<4x8xf32>
  %7 = arith.addf %w, %6 {epl.work = #apply} : tensor<4x8xf32>
  return %7, %b, %odd, %5 : tensor<4x8xf32>, tensor<4xf32>, tensor<3xf32>, tensor<6x8xf32>
}

// Sums of single layers are no parameter's gradient; what is made of all of them is.

// CHECK-LABEL: func.func @unrolled
// CHECK-SAME: "w", epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{}, {"data"}]>
// CHECK-SAME: "m", epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{"data"}, {}]>
// CHECK: linalg.reduce
// CHECK-NEXT: %[[ROW:.*]] = tensor.expand_shape
// CHECK-NEXT: %[[G:.*]] = epl.concatenate %[[ROW]]
// CHECK-NEXT: epl.reshard %[[G]] to <@mesh, [{}, {"data"}]>
func.func @unrolled(%w: tensor<2x8xf32> {epl.role = "state", epl.name = "w"},
                    %m: tensor<8x2xf32> {epl.role = "state", epl.name = "m"},
                    %x: tensor<6x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<2x8xf32> {epl.updates = 0 : i64}, tensor<8x2xf32> {epl.updates = 1 : i64}) {
  %zero = arith.constant {epl.work = #forward} dense<0.0> : tensor<8xf32>
  %one = arith.constant {epl.work = #forward} dense<1.0> : tensor<1x8xf32>
  %0 = tensor.extract_slice %w[1, 0] [1, 8] [1, 1] {epl.work = #forward} : tensor<2x8xf32> to tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %0 : tensor<6x8xf32>, tensor<8xf32>) outs(%x : tensor<6x8xf32>) attrs = {epl.work = #forward} {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %p = arith.mulf %a, %s : f32
    linalg.yield %p : f32
  } -> tensor<6x8xf32>
  %2 = linalg.reduce { arith.addf } ins(%1 : tensor<6x8xf32>) outs(%zero : tensor<8xf32>) dimensions = [0] {epl.work = #forward}
  %3 = tensor.expand_shape %2 [[0, 1]] output_shape [1, 8] {epl.work = #forward} : tensor<8xf32> into tensor<1x8xf32>
  %4 = epl.concatenate %3, %3 dim 0 {epl.work = #forward} : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<2x8xf32>
  %5 = arith.addf %w, %4 {epl.work = #apply} : tensor<2x8xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(m, n) -> (n, m)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%4 : tensor<2x8xf32>) outs(%m : tensor<8x2xf32>) attrs = {epl.work = #apply} {
  ^bb0(%a: f32, %o: f32):
    %p = arith.addf %a, %o : f32
    linalg.yield %p : f32
  } -> tensor<8x2xf32>
  return %5, %6 : tensor<2x8xf32>, tensor<8x2xf32>
}

// CHECK-LABEL: func.func @multiplied
// CHECK-SAME: "m", epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{"data"}, {}, {}]>
func.func @multiplied(%m: tensor<4x8x8xf32> {epl.role = "state", epl.name = "m"},
                      %x: tensor<6x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<4x8x8xf32> {epl.updates = 0 : i64}, tensor<6x8xf32>) {
  %zero = arith.constant {epl.work = #apply} dense<0.0> : tensor<4x8x8xf32>
  %0 = epl.loop_carry <0, trip_count = 4> 0 %x {epl.work = #forward} : tensor<6x8xf32> -> tensor<6x8xf32>
  %1 = epl.loop_slice <0, trip_count = 4> %m {epl.work = #forward} : tensor<4x8x8xf32> -> tensor<8x8xf32>
  %2 = linalg.matmul {epl.work = #forward} ins(%0, %1 : tensor<6x8xf32>, tensor<8x8xf32>) outs(%0 : tensor<6x8xf32>) -> tensor<6x8xf32>
  %3 = epl.loop_last <0, trip_count = 4> 0 %2 {epl.work = #forward} : tensor<6x8xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(l, i, j, k) -> (l, i, k)>, affine_map<(l, i, j, k) -> (l, j, k)>, affine_map<(l, i, j, k) -> (l, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%m, %m : tensor<4x8x8xf32>, tensor<4x8x8xf32>) outs(%zero : tensor<4x8x8xf32>) attrs = {epl.work = #apply} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %p, %o : f32
    linalg.yield %q : f32
  } -> tensor<4x8x8xf32>
  return %4, %3 : tensor<4x8x8xf32>, tensor<6x8xf32>
}
