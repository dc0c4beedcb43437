// RUN: epl-opt %s --split-input-file --epl-form-micro-batches=count=4 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t

// A loop of which an op has samples is in that over micro-batches as a whole, also what is the same for all of them,
// such as a count of steps: what is done once reads that of the last. Sums that its iterations stack are carried as a
// stack. The slices of a table are taken in it, the table is made once.

#fwd = #epl.work<@tg0, forward>
#id = affine_map<(n, d) -> (n, d)>
#row = affine_map<(n, d) -> (d)>
#none = affine_map<(n, d) -> ()>
epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// CHECK-LABEL: func.func public @layers
// CHECK: %[[TABLE:.*]] = math.sin %arg0
// CHECK: %[[X:.*]] = epl.loop_slice <1, trip_count = 4, micro_batches = true> %arg1
// CHECK: %[[H:.*]] = epl.loop_carry <2, trip_count = 3 in <1, trip_count = 4, micro_batches = true>> 0 %[[X]] {{.*}} : tensor<2x4xf32> -> tensor<2x4xf32>
// CHECK: %[[C:.*]] = epl.loop_carry <2, trip_count = 3 in <1, trip_count = 4, micro_batches = true>> 1
// CHECK: %[[P:.*]] = epl.loop_slice <2, trip_count = 3 in <1, trip_count = 4, micro_batches = true>> %[[TABLE]]
// CHECK: %[[N:.*]] = linalg.generic {{.*}} ins(%[[H]], %[[P]], %[[C]] :
// CHECK: %[[NEXT:.*]] = arith.addf %[[C]]
// CHECK: %[[Y:.*]] = epl.loop_last <2, trip_count = 3 in <1, trip_count = 4, micro_batches = true>> 0 %[[N]]
// CHECK: %[[COUNT:.*]] = epl.loop_last <2, trip_count = 3 in <1, trip_count = 4, micro_batches = true>> 1 %[[NEXT]]
// CHECK: %[[SUMS:.*]] = epl.loop_stack <2, trip_count = 3 in <1, trip_count = 4, micro_batches = true>> {{.*}} : tensor<4xf32> -> tensor<3x4xf32>
// CHECK: %[[CARRY:.*]] = epl.loop_carry <1, trip_count = 4, micro_batches = true> 0 {{.*}} : tensor<3x4xf32> -> tensor<3x4xf32>
// CHECK: %[[ALL:.*]] = linalg.generic {{.*}} ins(%[[CARRY]], %[[SUMS]] :
// CHECK: %[[R2:.*]] = epl.loop_last <1, trip_count = 4, micro_batches = true> 0 %[[ALL]]
// CHECK: %[[R1:.*]] = epl.loop_last <1, trip_count = 4, micro_batches = true> 1 %[[COUNT]]
// CHECK: %[[R0:.*]] = epl.loop_stack <1, trip_count = 4, micro_batches = true> %[[Y]]
// CHECK: return %[[R0]], %[[R1]], %[[R2]]
func.func public @layers(%w: tensor<3x4xf32> {epl.role = "state"},
                         %x: tensor<8x4xf32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<8x4xf32>, tensor<f32>, tensor<3x4xf32>) {
  %table = math.sin %w {epl.work = #fwd} : tensor<3x4xf32>
  %one = arith.constant {epl.work = #fwd} dense<1.0> : tensor<f32>
  %zero = arith.constant {epl.work = #fwd} dense<0.0> : tensor<4xf32>
  %e = tensor.empty() {epl.work = #fwd} : tensor<8x4xf32>
  %h = epl.loop_carry <0, trip_count = 3> 0 %x {epl.work = #fwd} : tensor<8x4xf32> -> tensor<8x4xf32>
  %c = epl.loop_carry <0, trip_count = 3> 1 %one {epl.work = #fwd} : tensor<f32> -> tensor<f32>
  %p = epl.loop_slice <0, trip_count = 3> %table {epl.work = #fwd} : tensor<3x4xf32> -> tensor<4xf32>
  %n = linalg.generic {indexing_maps = [#id, #row, #none, #id], iterator_types = ["parallel", "parallel"], epl.work = #fwd}
      ins(%h, %p, %c : tensor<8x4xf32>, tensor<4xf32>, tensor<f32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%a: f32, %b: f32, %d: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %m, %d : f32
    linalg.yield %s : f32
  } -> tensor<8x4xf32>
  %next = arith.addf %c, %one {epl.work = #fwd} : tensor<f32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["reduction", "parallel"], epl.work = #fwd}
      ins(%n : tensor<8x4xf32>) outs(%zero : tensor<4xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %r = arith.addf %acc, %a : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  %y = epl.loop_last <0, trip_count = 3> 0 %n {epl.work = #fwd} : tensor<8x4xf32>
  %count = epl.loop_last <0, trip_count = 3> 1 %next {epl.work = #fwd} : tensor<f32>
  %sums = epl.loop_stack <0, trip_count = 3> %sum {epl.work = #fwd} : tensor<4xf32> -> tensor<3x4xf32>
  return %y, %count, %sums : tensor<8x4xf32>, tensor<f32>, tensor<3x4xf32>
}

// -----

// A loop without samples is done once, and keeps its number.

#fwd = #epl.work<@tg0, forward>
epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// CHECK-LABEL: func.func public @once
// CHECK: epl.loop_slice <2, trip_count = 3> %arg0
// CHECK: %[[T:.*]] = epl.loop_stack <2, trip_count = 3>
// CHECK: epl.loop_slice <3, trip_count = 4, micro_batches = true> %arg2
// CHECK: %[[Y:.*]] = epl.loop_stack <3, trip_count = 4, micro_batches = true>
// CHECK: return %[[Y]], %[[T]]
func.func public @once(%w: tensor<3x4xf32> {epl.role = "state"}, %v: tensor<8x4xf32> {epl.role = "state"},
                       %x: tensor<8x4xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> (tensor<8x4xf32>, tensor<3x4xf32>) {
  %p = epl.loop_slice <2, trip_count = 3> %w {epl.work = #fwd} : tensor<3x4xf32> -> tensor<4xf32>
  %s = math.sin %p {epl.work = #fwd} : tensor<4xf32>
  %t = epl.loop_stack <2, trip_count = 3> %s {epl.work = #fwd} : tensor<4xf32> -> tensor<3x4xf32>
  %y = math.exp %x {epl.work = #fwd} : tensor<8x4xf32>
  return %y, %t : tensor<8x4xf32>, tensor<3x4xf32>
}

// -----

// What samples are computed of, made of a count that the loop leaves behind, is made in iterations, too.

#fwd = #epl.work<@tg0, forward>
#id = affine_map<(n) -> (n)>
#none = affine_map<(n) -> ()>
epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// CHECK-LABEL: func.func public @reads_the_count
// CHECK: %[[Y:.*]] = epl.loop_last <2, trip_count = 3 in <1, trip_count = 4, micro_batches = true>> 0
// CHECK: %[[COUNT:.*]] = epl.loop_last <2, trip_count = 3 in <1, trip_count = 4, micro_batches = true>> 1
// CHECK: %[[ROOT:.*]] = math.sqrt %[[COUNT]]
// CHECK: linalg.generic {{.*}} ins(%[[Y]], %[[ROOT]] :
// CHECK-NOT: epl.loop_last
// CHECK: epl.loop_stack <1, trip_count = 4, micro_batches = true>
func.func public @reads_the_count(%x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<8xf32> {
  %one = arith.constant {epl.work = #fwd} dense<1.0> : tensor<f32>
  %e = tensor.empty() {epl.work = #fwd} : tensor<8xf32>
  %h = epl.loop_carry <0, trip_count = 3> 0 %x {epl.work = #fwd} : tensor<8xf32> -> tensor<8xf32>
  %c = epl.loop_carry <0, trip_count = 3> 1 %one {epl.work = #fwd} : tensor<f32> -> tensor<f32>
  %n = math.sin %h {epl.work = #fwd} : tensor<8xf32>
  %next = arith.addf %c, %one {epl.work = #fwd} : tensor<f32>
  %y = epl.loop_last <0, trip_count = 3> 0 %n {epl.work = #fwd} : tensor<8xf32>
  %count = epl.loop_last <0, trip_count = 3> 1 %next {epl.work = #fwd} : tensor<f32>
  %root = math.sqrt %count {epl.work = #fwd} : tensor<f32>
  %z = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel"], epl.work = #fwd}
      ins(%y, %root : tensor<8xf32>, tensor<f32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.mulf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return %z : tensor<8xf32>
}

// -----

// Iterations that complete a maximum over all samples are unrolled.
// REMARK: remark: the loop of 2 iterations is part of a step in micro-batches and completes a sum over all samples in each, or joins them, so it is unrolled
// REMARK: note: that is here

#fwd = #epl.work<@tg0, forward>
#id = affine_map<(n) -> (n)>
#none = affine_map<(n) -> ()>
epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// CHECK-LABEL: func.func public @largest
// CHECK-NOT: trip_count = 2
// CHECK-COUNT-2: epl.loop_last <0, trip_count = 4, micro_batches = true>
func.func public @largest(%x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<f32> {
  %least = arith.constant {epl.work = #fwd} dense<0xFF800000> : tensor<f32>
  %h = epl.loop_carry <0, trip_count = 2> 0 %x {epl.work = #fwd} : tensor<8xf32> -> tensor<8xf32>
  %c = epl.loop_carry <0, trip_count = 2> 1 %least {epl.work = #fwd} : tensor<f32> -> tensor<f32>
  %n = math.sin %h {epl.work = #fwd} : tensor<8xf32>
  %most = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"], epl.work = #fwd}
      ins(%n : tensor<8xf32>) outs(%least : tensor<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %r = arith.maximumf %acc, %a : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %next = arith.maximumf %c, %most {epl.work = #fwd} : tensor<f32>
  %root = math.sqrt %next {epl.work = #fwd} : tensor<f32>
  %y = epl.loop_last <0, trip_count = 2> 0 %n {epl.work = #fwd} : tensor<8xf32>
  %last = epl.loop_last <0, trip_count = 2> 1 %root {epl.work = #fwd} : tensor<f32>
  return %last : tensor<f32>
}
