// RUN: epl-opt %s --split-input-file --epl-seed-results | FileCheck %s

// Two results of one counter are wanted in two shardings: each gets a counter of its own, whose parts are made.
// What else reads a value that is wanted in parts, the mean of its squares here, reads these.
#work = #epl.work<@tg0, forward>
#id = affine_map<(d0, d1) -> (d0, d1)>
#none = affine_map<(d0, d1) -> ()>
epl.mesh @mesh axes ["data"=2, "model"=4]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
// CHECK-LABEL: @counters
// CHECK-NOT: epl.wanted
// CHECK: linalg.index 0
// CHECK: %[[ROWS:.*]] = epl.constrain %{{.*}} to <[{"model"}, {}]>
// CHECK: %[[SCALED:.*]] = linalg.generic {{.*}} ins(%[[ROWS]], %arg0
// CHECK: linalg.index 0
// CHECK: %[[COLUMNS:.*]] = epl.constrain %{{.*}} to <[{}, {"model"}]>
// CHECK: linalg.generic {{.*}} ins(%[[COLUMNS]], %arg1
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "reduction"]} ins(%[[SCALED]]
// CHECK-DAG: epl.constrain %[[SCALED]] to <[{"model"}, {}], whole = {"data"}>
// CHECK-DAG: epl.constrain %{{.*}} to <[{}, {"model"}], whole = {"data"}>
func.func @counters(%a: tensor<f32> {epl.role = "constant", epl.sharding = #epl.sharding<@mesh, []>},
                    %b: tensor<f32> {epl.role = "constant", epl.sharding = #epl.sharding<@mesh, []>})
    -> (tensor<8x8xf32> {epl.wanted = #epl.sharding<@mesh, [{"model"}, {} ]>},
        tensor<8x8xf32> {epl.wanted = #epl.sharding<@mesh, [{}, {"model"} ]>},
        tensor<f32> {epl.wanted = #epl.sharding<@mesh, []>}) {
  %e = tensor.empty() {epl.work = #work} : tensor<8x8xf32>
  %i = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"], epl.work = #work} outs(%e : tensor<8x8xf32>) {
  ^bb0(%o: f32):
    %0 = linalg.index 0 : index
    %1 = arith.index_cast %0 : index to i32
    %2 = arith.sitofp %1 : i32 to f32
    linalg.yield %2 : f32
  } -> tensor<8x8xf32>
  %x = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel", "parallel"], epl.work = #work} ins(%i, %a : tensor<8x8xf32>, tensor<f32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<8x8xf32>
  %y = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel", "parallel"], epl.work = #work} ins(%i, %b : tensor<8x8xf32>, tensor<f32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<8x8xf32>
  %zero = arith.constant {epl.work = #work} dense<0.0> : tensor<f32>
  %s = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction", "reduction"], epl.work = #work} ins(%x : tensor<8x8xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%p: f32, %o: f32):
    %0 = arith.mulf %p, %p : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  return %x, %y, %s : tensor<8x8xf32>, tensor<8x8xf32>, tensor<f32>
}

// -----

// A value of which two shardings are wanted is made in both, and what no other step wants stays as it is. Of one
// device along an axis nothing is said.
#work = #epl.work<@tg0, forward>
#id = affine_map<(d0) -> (d0)>
epl.mesh @mesh axes ["data"=2, "model"=2, "model2"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
// CHECK-LABEL: @both
// CHECK: %[[OTHER:.*]] = linalg.generic {{.*}} ins(%arg0
// CHECK: math.sin
// CHECK: %[[OTHER_CUT:.*]] = epl.constrain %[[OTHER]] to <[{"model"}]>
// CHECK: %[[ONE:.*]] = linalg.generic {{.*}} ins(%arg0
// CHECK: math.sin
// CHECK: %[[ONE_CUT:.*]] = epl.constrain %[[ONE]] to <[{"data"}]>
// CHECK: %[[FREE:.*]] = linalg.generic
// CHECK-DAG: %[[A:.*]] = epl.constrain %[[ONE_CUT]] to <[{"data"}], whole = {"model"}>
// CHECK-DAG: %[[B:.*]] = epl.constrain %[[OTHER_CUT]] to <[{"model"}], whole = {"data"}>
// CHECK: return %[[A]], %[[B]], %[[FREE]]
func.func @both(%a: tensor<8xf32> {epl.role = "constant", epl.sharding = #epl.sharding<@mesh, [{}]>})
    -> (tensor<8xf32> {epl.wanted = #epl.sharding<@mesh, [{"data"}]>},
        tensor<8xf32> {epl.wanted = #epl.sharding<@mesh, [{"model", "model2"}]>},
        tensor<8xf32>) {
  %e = tensor.empty() {epl.work = #work} : tensor<8xf32>
  %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"], epl.work = #work} ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %0 = math.sin %p : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"], epl.work = #work} ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %0 = math.cos %p : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %x, %x, %y : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
