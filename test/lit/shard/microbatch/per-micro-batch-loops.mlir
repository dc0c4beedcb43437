// RUN: epl-opt %s --split-input-file --epl-form-micro-batches=count=4 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t

// Statistics in the iterations of a loop are of each micro-batch, which does the loop as a whole. Its slices of a stack
// of running means are those that the micro-batch before has left. A stack of statistics that is read once is the mean.

#fwd = #epl.work<@tg0, forward>
#id = affine_map<(n, d) -> (n, d)>
#row = affine_map<(n, d) -> (d)>
epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// CHECK-LABEL: func.func public @layers
// CHECK: %[[STATE:.*]] = epl.loop_carry <1, trip_count = 4, micro_batches = true> 0 %arg0 {{.*}} : tensor<3x4xf32>
// CHECK: %[[X:.*]] = epl.loop_slice <1, trip_count = 4, micro_batches = true> %arg1
// CHECK: %[[H:.*]] = epl.loop_carry <2, trip_count = 3 in <1, trip_count = 4, micro_batches = true>> 0 %[[X]]
// CHECK: %[[MEAN:.*]] = epl.loop_slice <2, trip_count = 3 in <1, trip_count = 4, micro_batches = true>> %[[STATE]]
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[H]] : tensor<2x4xf32>)
// CHECK: %[[ESTIMATE:.*]] = linalg.generic {{.*}} ins(%[[SUM]] : tensor<4xf32>)
// CHECK: %[[FOUR:.*]] = arith.constant 4.000000e+00 : f32
// CHECK: arith.mulf %{{.*}}, %[[FOUR]]
// CHECK: %[[NEXT:.*]] = arith.maximumf %[[MEAN]], %[[ESTIMATE]]
// CHECK: %[[N:.*]] = linalg.generic {{.*}} ins(%[[H]], %[[ESTIMATE]] :
// CHECK: %[[Y:.*]] = epl.loop_last <2, trip_count = 3 in <1, trip_count = 4, micro_batches = true>> 0 %[[N]]
// CHECK: %[[MEANS:.*]] = epl.loop_stack <2, trip_count = 3 in <1, trip_count = 4, micro_batches = true>> %[[NEXT]]
// CHECK: %[[SUMS:.*]] = epl.loop_stack <2, trip_count = 3 in <1, trip_count = 4, micro_batches = true>> %[[ESTIMATE]]
// CHECK: %[[C:.*]] = epl.loop_carry <1, trip_count = 4, micro_batches = true> 1
// CHECK: %[[ALL:.*]] = linalg.generic {{.*}} ins(%[[C]], %[[SUMS]] :
// CHECK: %[[LAST:.*]] = epl.loop_last <1, trip_count = 4, micro_batches = true> 1 %[[ALL]]
// CHECK: %[[R2:.*]] = linalg.generic {{.*}} ins(%[[LAST]] : tensor<3x4xf32>)
// CHECK: arith.divf
// CHECK: %[[R0:.*]] = epl.loop_last <1, trip_count = 4, micro_batches = true> 0 %[[MEANS]]
// CHECK: return %[[R0]], %{{.*}}, %[[R2]]
func.func public @layers(%means: tensor<3x4xf32> {epl.role = "state"},
                         %x: tensor<8x4xf32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<3x4xf32> {epl.updates = 0 : i64}, tensor<8x4xf32>, tensor<3x4xf32>) {
  %zero = arith.constant {epl.work = #fwd} dense<0.0> : tensor<4xf32>
  %e = tensor.empty() {epl.work = #fwd} : tensor<8x4xf32>
  %h = epl.loop_carry <0, trip_count = 3> 0 %x {epl.work = #fwd} : tensor<8x4xf32> -> tensor<8x4xf32>
  %mean = epl.loop_slice <0, trip_count = 3> %means {epl.work = #fwd} : tensor<3x4xf32> -> tensor<4xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["reduction", "parallel"], epl.work = #fwd, epl.per_micro_batch}
      ins(%h : tensor<8x4xf32>) outs(%zero : tensor<4xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %r = arith.addf %acc, %a : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  %next = arith.maximumf %mean, %sum {epl.work = #fwd, epl.per_micro_batch} : tensor<4xf32>
  %n = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"], epl.work = #fwd}
      ins(%h, %sum : tensor<8x4xf32>, tensor<4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.divf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<8x4xf32>
  %y = epl.loop_last <0, trip_count = 3> 0 %n {epl.work = #fwd} : tensor<8x4xf32>
  %nexts = epl.loop_stack <0, trip_count = 3> %next {epl.work = #fwd} : tensor<4xf32> -> tensor<3x4xf32>
  %sums = epl.loop_stack <0, trip_count = 3> %sum {epl.work = #fwd} : tensor<4xf32> -> tensor<3x4xf32>
  return %nexts, %y, %sums : tensor<3x4xf32>, tensor<8x4xf32>, tensor<3x4xf32>
}

// -----

// A loop without samples that makes of a statistic what samples are computed of is done by each micro-batch; one that
// nothing in iterations reads is done once, of the mean of all.

#fwd = #epl.work<@tg0, forward>
#id = affine_map<(n) -> (n)>
#none = affine_map<(n) -> ()>
epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// CHECK-LABEL: func.func public @root
// CHECK: epl.loop_carry <3, trip_count = 3 in <2, trip_count = 4, micro_batches = true>> 0
// CHECK: epl.loop_last <3, trip_count = 3 in <2, trip_count = 4, micro_batches = true>> 0
// CHECK: %[[MEAN:.*]] = linalg.generic
// CHECK: arith.divf
// CHECK: epl.loop_carry <1, trip_count = 5> 0
// CHECK: math.cos
// CHECK: epl.loop_last <1, trip_count = 5> 0
func.func public @root(%x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> (tensor<8xf32>, tensor<f32>) {
  %zero = arith.constant {epl.work = #fwd} dense<0.0> : tensor<f32>
  %e = tensor.empty() {epl.work = #fwd} : tensor<8xf32>
  %sum = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"], epl.work = #fwd, epl.per_micro_batch}
      ins(%x : tensor<8xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %r = arith.addf %acc, %a : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %one = math.sqrt %sum {epl.work = #fwd, epl.per_micro_batch} : tensor<f32>
  %c = epl.loop_carry <0, trip_count = 3> 0 %one {epl.work = #fwd} : tensor<f32> -> tensor<f32>
  %next = math.sin %c {epl.work = #fwd} : tensor<f32>
  %last = epl.loop_last <0, trip_count = 3> 0 %next {epl.work = #fwd} : tensor<f32>
  %d = epl.loop_carry <1, trip_count = 5> 0 %one {epl.work = #fwd} : tensor<f32> -> tensor<f32>
  %other = math.cos %d {epl.work = #fwd} : tensor<f32>
  %read = epl.loop_last <1, trip_count = 5> 0 %other {epl.work = #fwd} : tensor<f32>
  %y = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel"], epl.work = #fwd}
      ins(%x, %last : tensor<8xf32>, tensor<f32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.mulf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return %y, %read : tensor<8xf32>, tensor<f32>
}

// -----

// What no scope has, nor samples are computed of, is done once of the means of all: not in a loop of each micro-batch.
// REMARK: remark: the loop of 2 iterations is part of a step in micro-batches and makes, in no `epl.per_micro_batch()`, one value of the statistics of all, so it is unrolled
// REMARK: note: that is here

#fwd = #epl.work<@tg0, forward>
#id = affine_map<(n) -> (n)>
#none = affine_map<(n) -> ()>
epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// CHECK-LABEL: func.func public @no_scope
// CHECK-NOT: trip_count = 2
// CHECK-COUNT-2: epl.loop_last <0, trip_count = 4, micro_batches = true>
// CHECK-COUNT-2: math.sin %{{.*}} : tensor<f32>
func.func public @no_scope(%x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> (tensor<8xf32>, tensor<2xf32>) {
  %zero = arith.constant {epl.work = #fwd} dense<0.0> : tensor<f32>
  %e = tensor.empty() {epl.work = #fwd} : tensor<8xf32>
  %h = epl.loop_carry <0, trip_count = 2> 0 %x {epl.work = #fwd} : tensor<8xf32> -> tensor<8xf32>
  %sum = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"], epl.work = #fwd, epl.per_micro_batch}
      ins(%h : tensor<8xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %r = arith.addf %acc, %a : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %sin = math.sin %sum {epl.work = #fwd} : tensor<f32>
  %n = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel"], epl.work = #fwd}
      ins(%h, %sum : tensor<8xf32>, tensor<f32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.divf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %y = epl.loop_last <0, trip_count = 2> 0 %n {epl.work = #fwd} : tensor<8xf32>
  %sins = epl.loop_stack <0, trip_count = 2> %sin {epl.work = #fwd} : tensor<f32> -> tensor<2xf32>
  return %y, %sins : tensor<8xf32>, tensor<2xf32>
}

// -----

// A loop of gradients in the scope begins with a sum over samples, that of each micro-batch.

#fwd = #epl.work<@tg0, forward>
#bwd = #epl.work<@tg0, backward>
#id = affine_map<(n) -> (n)>
#none = affine_map<(n) -> ()>
epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// CHECK-LABEL: func.func public @gradients
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}}iterator_types = ["reduction"]
// CHECK: %[[ESTIMATE:.*]] = linalg.generic {{.*}} ins(%[[SUM]] : tensor<f32>)
// CHECK: arith.mulf
// CHECK: epl.loop_carry <2, trip_count = 2 in <1, trip_count = 4, micro_batches = true>> 0 %[[ESTIMATE]]
func.func public @gradients(%w: tensor<f32> {epl.role = "state"}, %x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<8xf32> {
  %zero = arith.constant {epl.work = #bwd} dense<0.0> : tensor<f32>
  %e = tensor.empty() {epl.work = #bwd} : tensor<8xf32>
  %sum = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"], epl.work = #bwd}
      ins(%x : tensor<8xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %r = arith.addf %acc, %a : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %c = epl.loop_carry <0, trip_count = 2> 0 %sum {epl.work = #bwd} : tensor<f32> -> tensor<f32>
  %next = arith.mulf %c, %w {epl.work = #bwd, epl.per_micro_batch} : tensor<f32>
  %last = epl.loop_last <0, trip_count = 2> 0 %next {epl.work = #bwd} : tensor<f32>
  %y = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel"], epl.work = #bwd}
      ins(%x, %last : tensor<8xf32>, tensor<f32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.mulf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// A state that is put together of values of each micro-batch, in no scope, is carried, too.

#fwd = #epl.work<@tg0, forward>
#id = affine_map<(n) -> (n)>
#none = affine_map<(n) -> ()>
epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// CHECK-LABEL: func.func public @together
// CHECK: %[[STATE:.*]] = epl.loop_carry <0, trip_count = 4, micro_batches = true> 0 %arg0
// CHECK: %[[REST:.*]] = tensor.extract_slice %[[STATE]][1] [1] [1]
// CHECK: %[[NEXT:.*]] = epl.concatenate %{{.*}}, %[[REST]]
// CHECK: %[[LAST:.*]] = epl.loop_last <0, trip_count = 4, micro_batches = true> 0 %[[NEXT]]
// CHECK: return %[[LAST]]
func.func public @together(%state: tensor<2xf32> {epl.role = "state"}, %x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<2xf32> {epl.updates = 0 : i64}) {
  %zero = arith.constant {epl.work = #fwd} dense<0.0> : tensor<f32>
  %sum = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"], epl.work = #fwd, epl.per_micro_batch}
      ins(%x : tensor<8xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %r = arith.addf %acc, %a : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %root = math.sqrt %sum {epl.work = #fwd, epl.per_micro_batch} : tensor<f32>
  %row = tensor.expand_shape %root [] output_shape [1] {epl.work = #fwd} : tensor<f32> into tensor<1xf32>
  %rest = tensor.extract_slice %state[1] [1] [1] {epl.work = #fwd} : tensor<2xf32> to tensor<1xf32>
  %next = epl.concatenate %row, %rest dim 0 {epl.work = #fwd} : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
  return %next : tensor<2xf32>
}
