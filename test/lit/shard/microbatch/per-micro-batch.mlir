// RUN: epl-opt %s --split-input-file --epl-form-micro-batches=count=4 | FileCheck %s
// RUN: epl-opt %s --split-input-file --epl-form-micro-batches=count=1 | FileCheck %s --check-prefix=ONE

// A mean in `epl.per_micro_batch` is that of the micro-batch: four times its own sum, of four. A state that it
// updates is carried. What is returned is the mean of all. One micro-batch is the whole batch.

#fwd = #epl.work<@tg0, forward>
#id = affine_map<(n) -> (n)>
#none = affine_map<(n) -> ()>
epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// CHECK-LABEL: func.func public @statistic
// CHECK: %[[STATE:.*]] = epl.loop_carry <0, trip_count = 4, micro_batches = true> 0 %arg0
// CHECK: %[[X:.*]] = epl.loop_slice <0, trip_count = 4, micro_batches = true> %arg1
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}}iterator_types = ["reduction"]{{.*}} ins(%[[X]] : tensor<2xf32>)
// CHECK: %[[ESTIMATE:.*]] = linalg.generic {{.*}} ins(%[[SUM]] : tensor<f32>)
// CHECK: %[[FOUR:.*]] = arith.constant 4.000000e+00 : f32
// CHECK: arith.mulf %{{.*}}, %[[FOUR]]
// CHECK: %[[NEXT:.*]] = arith.maximumf %[[STATE]], %[[ESTIMATE]]
// CHECK: %[[SCALE:.*]] = math.sqrt %[[ESTIMATE]]
// CHECK: linalg.generic {{.*}} ins(%[[X]], %[[SCALE]] : tensor<2xf32>, tensor<f32>)
// CHECK: %[[C:.*]] = epl.loop_carry <0, trip_count = 4, micro_batches = true> 1
// CHECK: %[[ALL:.*]] = linalg.generic {{.*}} ins(%[[C]], %[[SCALE]] : tensor<f32>, tensor<f32>)
// CHECK: %[[LAST:.*]] = epl.loop_last <0, trip_count = 4, micro_batches = true> 1 %[[ALL]]
// CHECK: %[[MEAN:.*]] = linalg.generic {{.*}} ins(%[[LAST]] : tensor<f32>)
// CHECK: arith.divf
// CHECK: %[[LEFT:.*]] = epl.loop_last <0, trip_count = 4, micro_batches = true> 0 %[[NEXT]]
// CHECK-NOT: epl.per_micro_batch
// CHECK: return %[[LEFT]], %{{.*}}, %[[MEAN]]

// ONE-LABEL: func.func public @statistic
// ONE-NOT: epl.per_micro_batch
// ONE-NOT: epl.loop
// ONE: return
func.func public @statistic(%state: tensor<f32> {epl.role = "state"},
                            %x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<f32> {epl.updates = 0 : i64}, tensor<8xf32>, tensor<f32>) {
  %zero = arith.constant {epl.work = #fwd} dense<0.0> : tensor<f32>
  %sum = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"], epl.work = #fwd, epl.per_micro_batch}
      ins(%x : tensor<8xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %r = arith.addf %acc, %a : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %next = arith.maximumf %state, %sum {epl.work = #fwd, epl.per_micro_batch} : tensor<f32>
  %scale = math.sqrt %sum {epl.work = #fwd, epl.per_micro_batch} : tensor<f32>
  %0 = tensor.empty() {epl.work = #fwd} : tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel"], epl.work = #fwd}
      ins(%x, %scale : tensor<8xf32>, tensor<f32>) outs(%0 : tensor<8xf32>) {
  ^bb0(%a: f32, %c: f32, %out: f32):
    %r = arith.mulf %a, %c : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %next, %1, %scale : tensor<f32>, tensor<8xf32>, tensor<f32>
}

// -----

// Of a maximum the micro-batch's own is taken; what is done once reads that of all samples. What stands on the
// way from a statistic to samples is of each micro-batch, though it stands in no scope.

#fwd = #epl.work<@tg0, forward>
#id = affine_map<(n) -> (n)>
#none = affine_map<(n) -> ()>
epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// CHECK-LABEL: func.func public @maximum
// CHECK: %[[TOP:.*]] = linalg.generic {{.*}}iterator_types = ["reduction"]
// CHECK-NOT: arith.mulf
// CHECK: %[[EXP:.*]] = math.exp %[[TOP]]
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[EXP]] : tensor<2xf32>, tensor<f32>)
// CHECK: %[[LAST:.*]] = epl.loop_last <0, trip_count = 4, micro_batches = true> 0
// CHECK: return %{{.*}}, %[[LAST]]
func.func public @maximum(%x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> (tensor<8xf32>, tensor<f32>) {
  %least = arith.constant {epl.work = #fwd} dense<0xFF800000> : tensor<f32>
  %top = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"], epl.work = #fwd, epl.per_micro_batch}
      ins(%x : tensor<8xf32>) outs(%least : tensor<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %r = arith.maximumf %acc, %a : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %exp = math.exp %top {epl.work = #fwd} : tensor<f32>
  %0 = tensor.empty() {epl.work = #fwd} : tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel"], epl.work = #fwd}
      ins(%x, %exp : tensor<8xf32>, tensor<f32>) outs(%0 : tensor<8xf32>) {
  ^bb0(%a: f32, %c: f32, %out: f32):
    %r = arith.divf %a, %c : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %1, %top : tensor<8xf32>, tensor<f32>
}
