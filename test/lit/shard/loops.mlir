// RUN: epl-opt %s -split-input-file -epl-propagate -epl-place -epl-verify-sharded | FileCheck %s

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

!x = tensor<8x4xf32>
!xs = tensor<3x8x4xf32>
!v = tensor<4xf32>
#batch = #epl.sharding<@mesh, [{"data"}, {}]>
#stack = #epl.sharding<@mesh, [{}, {"data"}, {}]>
#whole = #epl.sharding<@mesh, [{}, {}]>
#v = #epl.sharding<@mesh, [{}]>
#work = #epl.work<@tg0, forward>

// What enters sharded goes round and leaves so. Dimensions of a stack are those of its parts.
// CHECK-LABEL: func.func @batch
func.func @batch(%x: !x {epl.sharding = #batch}, %xs: !xs {epl.sharding = #stack}) -> (!x, !xs) {
  // CHECK-NOT: epl.reshard
  // CHECK: epl.loop_carry <0, trip_count = 3> 0 %{{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{"data"}, {}]>]
  %h = epl.loop_carry <0, trip_count = 3> 0 %x {epl.work = #work} : !x -> !x
  // CHECK: epl.loop_slice <0, trip_count = 3> %{{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{"data"}, {}]>]
  %s = epl.loop_slice <0, trip_count = 3> %xs {epl.work = #work} : !xs -> !x
  %n = arith.addf %h, %s {epl.work = #work} : !x
  // CHECK: epl.loop_last <0, trip_count = 3> 0 %{{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{"data"}, {}]>]
  %y = epl.loop_last <0, trip_count = 3> 0 %n {epl.work = #work} : !x
  // CHECK: epl.loop_stack <0, trip_count = 3> %{{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}, {"data"}, {}]>]
  %ys = epl.loop_stack <0, trip_count = 3> %n {epl.work = #work} : !x -> !xs
  return %y, %ys : !x, !xs
}

// A sum that every iteration adds to is completed once, behind the loop.
// CHECK-LABEL: func.func @accumulator
func.func @accumulator(%xs: !xs {epl.sharding = #stack}) -> !v {
  %z = arith.constant {epl.work = #work} dense<0.0> : !v
  // CHECK: %[[G:.*]] = epl.loop_carry {{.*}} partial = sum{"data"}>
  %g = epl.loop_carry <0, trip_count = 3> 0 %z {epl.work = #work} : !v -> !v
  %s = epl.loop_slice <0, trip_count = 3> %xs {epl.work = #work} : !xs -> !x
  %d = linalg.reduce { arith.addf } ins(%s : !x) outs(%z : !v) dimensions = [0] {epl.work = #work}
  // CHECK-NOT: epl.reshard
  // CHECK: %[[N:.*]] = arith.addf %[[G]], %{{.*}} partial = sum{"data"}>
  %n = arith.addf %g, %d {epl.work = #work} : !v
  // CHECK: %[[L:.*]] = epl.loop_last <0, trip_count = 3> 0 %[[N]] {{.*}} partial = sum{"data"}>
  // CHECK: epl.reshard %[[L]] to <@mesh, [{}]>
  %y = epl.loop_last <0, trip_count = 3> 0 %n {epl.work = #work} : !v
  return %y : !v
}

// An iteration that reads the sum needs it complete: it is completed in every iteration, and is so between them.
// CHECK-LABEL: func.func @read_in_iterations
func.func @read_in_iterations(%xs: !xs {epl.sharding = #stack}) -> !v {
  %z = arith.constant {epl.work = #work} dense<0.0> : !v
  // CHECK: %[[G:.*]] = epl.loop_carry {{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]
  %g = epl.loop_carry <0, trip_count = 3> 0 %z {epl.work = #work} : !v -> !v
  %s = epl.loop_slice <0, trip_count = 3> %xs {epl.work = #work} : !xs -> !x
  // CHECK: %[[D:.*]] = linalg.reduce {{.*}} partial = sum{"data"}>
  // CHECK-NEXT: %[[R:.*]] = epl.reshard %[[D]] to <@mesh, [{}]>
  %d = linalg.reduce { arith.addf } ins(%s : !x) outs(%z : !v) dimensions = [0] {epl.work = #work}
  %e = math.exp %g {epl.work = #work} : !v
  // CHECK: arith.addf %{{.*}}, %[[R]]
  %n = arith.addf %e, %d {epl.work = #work} : !v
  // CHECK-NOT: epl.reshard
  %y = epl.loop_last <0, trip_count = 3> 0 %n {epl.work = #work} : !v
  return %y : !v
}

// So is an accumulator whose addend something else needs complete: the two agree that the sum is complete.
// CHECK-LABEL: func.func @addend_read_elsewhere
func.func @addend_read_elsewhere(%xs: !xs {epl.sharding = #stack}) -> (!v, tensor<3x4xf32>) {
  %z = arith.constant {epl.work = #work} dense<0.0> : !v
  // CHECK: epl.loop_carry {{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]
  %g = epl.loop_carry <0, trip_count = 3> 0 %z {epl.work = #work} : !v -> !v
  %s = epl.loop_slice <0, trip_count = 3> %xs {epl.work = #work} : !xs -> !x
  // CHECK: %[[D:.*]] = linalg.reduce {{.*}} partial = sum{"data"}>
  // CHECK-NEXT: epl.reshard %[[D]] to <@mesh, [{}]>
  %d = linalg.reduce { arith.addf } ins(%s : !x) outs(%z : !v) dimensions = [0] {epl.work = #work}
  %n = arith.addf %g, %d {epl.work = #work} : !v
  %e = math.exp %d {epl.work = #work} : !v
  // CHECK-NOT: epl.reshard
  %y = epl.loop_last <0, trip_count = 3> 0 %n {epl.work = #work} : !v
  %es = epl.loop_stack <0, trip_count = 3> %e {epl.work = #work} : !v -> tensor<3x4xf32>
  return %y, %es : !v, tensor<3x4xf32>
}

// Such a sum is complete behind the loop, too: what is added to it there and pending is completed before.
// CHECK-LABEL: func.func @pending_beside_demoted
func.func @pending_beside_demoted(%xs: !xs {epl.sharding = #stack}, %x: !x {epl.sharding = #batch})
    -> (!v, tensor<3x4xf32>) {
  %z = arith.constant {epl.work = #work} dense<0.0> : !v
  %g = epl.loop_carry <0, trip_count = 3> 0 %z {epl.work = #work} : !v -> !v
  %s = epl.loop_slice <0, trip_count = 3> %xs {epl.work = #work} : !xs -> !x
  %d = linalg.reduce { arith.addf } ins(%s : !x) outs(%z : !v) dimensions = [0] {epl.work = #work}
  %n = arith.addf %g, %d {epl.work = #work} : !v
  %e = math.exp %d {epl.work = #work} : !v
  // CHECK: %[[Y:.*]] = epl.loop_last {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]
  %y = epl.loop_last <0, trip_count = 3> 0 %n {epl.work = #work} : !v
  %es = epl.loop_stack <0, trip_count = 3> %e {epl.work = #work} : !v -> tensor<3x4xf32>
  // CHECK: %[[W:.*]] = linalg.reduce {{.*}} partial = sum{"data"}>
  // CHECK-NEXT: %[[R:.*]] = epl.reshard %[[W]] to <@mesh, [{}]>
  %w = linalg.reduce { arith.addf } ins(%x : !x) outs(%z : !v) dimensions = [0] {epl.work = #work}
  // CHECK-NEXT: arith.addf %[[Y]], %[[R]] {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]
  %r = arith.addf %y, %w {epl.work = #work} : !v
  return %r, %es : !v, tensor<3x4xf32>
}

// What the iterations shard begins as a part, too.
// CHECK-LABEL: func.func @begins_whole
func.func @begins_whole(%x: !x {epl.sharding = #whole}, %b: !x {epl.sharding = #batch}) -> !x {
  // CHECK: %[[P:.*]] = epl.reshard %arg0 to <@mesh, [{"data"}, {}]>
  // CHECK: epl.loop_carry <0, trip_count = 3> 0 %[[P]] {{.*}}epl.sharding = [#epl.sharding<@mesh, [{"data"}, {}]>]
  %h = epl.loop_carry <0, trip_count = 3> 0 %x {epl.work = #work} : !x -> !x
  %n = arith.addf %h, %b {epl.work = #work} : !x
  %y = epl.loop_last <0, trip_count = 3> 0 %n {epl.work = #work} : !x
  return %y : !x
}

// A carried value and what becomes of it agree.
// CHECK-LABEL: func.func @ends_whole
func.func @ends_whole(%x: !x {epl.sharding = #batch}, %w: !x {epl.sharding = #whole}) -> !x {
  // CHECK: %[[P:.*]] = epl.reshard %arg1 to <@mesh, [{"data"}, {}]>
  // CHECK: epl.loop_carry {{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{"data"}, {}]>]
  %h = epl.loop_carry <0, trip_count = 3> 0 %x {epl.work = #work} : !x -> !x
  %e = math.exp %h {epl.work = #work} : !x
  // CHECK: epl.loop_last <0, trip_count = 3> 0 %[[P]]
  %y = epl.loop_last <0, trip_count = 3> 0 %w {epl.work = #work} : !x
  return %y : !x
}
