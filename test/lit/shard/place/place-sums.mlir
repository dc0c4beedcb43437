// RUN: epl-opt %s -epl-propagate -epl-place -epl-verify-sharded | FileCheck %s

// Where a pending sum is completed: where it moves the fewest bytes with the fewest sums; if that is equal, at the
// end of the work that makes it.

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

!x = tensor<8x4xf32>
!v = tensor<4xf32>
#batch = #epl.sharding<@mesh, [{"data"}, {}]>
#whole = #epl.sharding<@mesh, [{}, {}]>
#v = #epl.sharding<@mesh, [{}]>
#forward = #epl.work<@tg0, forward>
#backward = #epl.work<@tg0, backward>
#apply = #epl.work<@tg0, apply>

// SGD: what the backward work makes of the gradient is made of parts, the rest of the sum.
// CHECK-LABEL: func.func @learning_rate
func.func @learning_rate(%w: !v {epl.sharding = #v}, %x: !x {epl.sharding = #batch}, %lr: !v {epl.sharding = #v})
    -> (!v {epl.updates = 0 : i64}) {
  %z = arith.constant {epl.work = #backward} dense<0.0> : !v
  // CHECK: linalg.reduce {{.*}} partial = sum{"data"}>
  %0 = linalg.reduce { arith.addf } ins(%x : !x) outs(%z : !v) dimensions = [0] {epl.work = #backward}
  // CHECK-NEXT: %[[P:.*]] = arith.negf {{.*}} partial = sum{"data"}>
  %1 = arith.negf %0 {epl.work = #backward} : !v
  // CHECK-NEXT: %[[G:.*]] = epl.reshard %[[P]] to <@mesh, [{}]> {{[{].*}}epl.work = #epl.work<@tg0, backward>}
  // CHECK-NEXT: arith.mulf %[[G]], %{{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]
  %2 = arith.mulf %1, %lr {epl.work = #apply} : !v
  // CHECK-NEXT: arith.addf
  %3 = arith.addf %w, %2 {epl.work = #apply} : !v
  // CHECK-NEXT: return
  return %3 : !v
}

// A scatter of zeros into a pending sum, and one of it into zeros: what it writes and what it keeps are no addends of
// their own.
// CHECK-LABEL: func.func @zeros
func.func @zeros(%x: !x {epl.sharding = #batch}, %i: tensor<i32>) -> !v {
  %z = arith.constant {epl.work = #forward} dense<0.0> : !v
  %none = arith.constant {epl.work = #forward} dense<0.0> : tensor<2xf32>
  // CHECK: %[[P:.*]] = linalg.reduce {{.*}} partial = sum{"data"}>
  %p = linalg.reduce { arith.addf } ins(%x : !x) outs(%z : !v) dimensions = [0] {epl.work = #forward}
  // CHECK-NEXT: %[[A:.*]] = epl.scatter add {{.*}} into %[[P]]{{.*}} partial = sum{"data"}>
  %0 = epl.scatter add %none into %p[%i] of [0] operand_dims [0] index_dims [] {epl.work = #forward} : (tensor<2xf32>, !v, tensor<i32>) -> !v
  // CHECK-NEXT: %[[B:.*]] = epl.scatter add %[[A]] into {{.*}} partial = sum{"data"}>
  %1 = epl.scatter add %0 into %z[%i] of [0] operand_dims [0] index_dims [] {epl.work = #forward} : (!v, !v, tensor<i32>) -> !v
  // CHECK-NEXT: epl.reshard %[[B]] to <@mesh, [{}]>
  return %1 : !v
}

// A mean is one kernel with its sum.
// CHECK-LABEL: func.func @mean
func.func @mean(%x: !x {epl.sharding = #batch}, %n: tensor<f32>) -> tensor<f32> {
  %z = arith.constant {epl.work = #forward} dense<0.0> : tensor<f32>
  // CHECK: linalg.reduce
  // CHECK-NEXT: %[[MEAN:.*]] = arith.divf
  // CHECK-NEXT: epl.reshard %[[MEAN]]
  %0 = linalg.reduce { arith.addf } ins(%x : !x) outs(%z : tensor<f32>) dimensions = [0, 1] {epl.work = #forward}
  %1 = arith.divf %0, %n {epl.work = #forward} : tensor<f32>
  return %1 : tensor<f32>
}

// Before a cast, in whatever work: half the bytes.
// CHECK-LABEL: func.func @widened
func.func @widened(%x: tensor<8x4xbf16> {epl.sharding = #batch}) -> !v {
  %z = arith.constant {epl.work = #backward} dense<0.0> : tensor<4xbf16>
  // CHECK: %[[P:.*]] = linalg.reduce
  // CHECK-NEXT: %[[G:.*]] = epl.reshard %[[P]] {{.*}} : tensor<4xbf16>
  // CHECK-NEXT: arith.extf %[[G]]
  // CHECK-NEXT: return
  %0 = linalg.reduce { arith.addf } ins(%x : tensor<8x4xbf16>) outs(%z : tensor<4xbf16>) dimensions = [0] {epl.work = #backward}
  %1 = arith.extf %0 {epl.work = #backward} : tensor<4xbf16> to !v
  return %1 : !v
}

// Before a broadcast.
// CHECK-LABEL: func.func @broadcast
func.func @broadcast(%x: !x {epl.sharding = #batch}, %e: !x {epl.sharding = #whole}) -> !x {
  %z = arith.constant {epl.work = #forward} dense<0.0> : !v
  // CHECK: %[[P:.*]] = linalg.reduce
  // CHECK-NEXT: %[[S:.*]] = epl.reshard %[[P]]
  // CHECK: linalg.broadcast ins(%[[S]]
  %0 = linalg.reduce { arith.addf } ins(%x : !x) outs(%z : !v) dimensions = [0] {epl.work = #forward}
  %1 = linalg.broadcast ins(%0 : !v) outs(%e : !x) dimensions = [0] {epl.work = #forward}
  return %1 : !x
}

// Layout is the work of who makes the value: transposes and reshapes stay with the product.
// CHECK-LABEL: func.func @layout
func.func @layout(%x: !x {epl.sharding = #batch}, %y: tensor<8x2xf32> {epl.sharding = #batch}, %lr: tensor<8xf32>) -> tensor<8xf32> {
  %z = arith.constant {epl.work = #backward} dense<0.0> : tensor<2x4xf32>
  %e = tensor.empty() {epl.work = #backward} : tensor<4x2xf32>
  // CHECK: linalg.generic
  %0 = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]} ins(%y, %x : tensor<8x2xf32>, !x) outs(%z : tensor<2x4xf32>)
      attrs = {epl.work = #backward} {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<2x4xf32>
  // CHECK-NOT: epl.reshard
  // CHECK: linalg.transpose
  %1 = linalg.transpose ins(%0 : tensor<2x4xf32>) outs(%e : tensor<4x2xf32>) permutation = [1, 0] {epl.work = #backward}
  // CHECK-NOT: epl.reshard
  // CHECK: %[[P:.*]] = tensor.collapse_shape
  // CHECK-NEXT: %[[G:.*]] = epl.reshard %[[P]]
  // CHECK-NEXT: arith.mulf %[[G]]
  %2 = tensor.collapse_shape %1 [[0, 1]] {epl.work = #backward} : tensor<4x2xf32> into tensor<8xf32>
  %3 = arith.mulf %2, %lr {epl.work = #apply} : tensor<8xf32>
  return %3 : tensor<8xf32>
}

// What a later work makes smaller is summed there.
// CHECK-LABEL: func.func @reduced_later
func.func @reduced_later(%x: !x {epl.sharding = #batch}) -> tensor<f32> {
  %z = arith.constant {epl.work = #backward} dense<0.0> : !v
  %z0 = arith.constant {epl.work = #apply} dense<0.0> : tensor<f32>
  // CHECK: linalg.reduce
  // CHECK-NEXT: %[[P:.*]] = linalg.reduce
  // CHECK-NEXT: epl.reshard %[[P]]
  %0 = linalg.reduce { arith.addf } ins(%x : !x) outs(%z : !v) dimensions = [0] {epl.work = #backward}
  %1 = linalg.reduce { arith.addf } ins(%0 : !v) outs(%z0 : tensor<f32>) dimensions = [0] {epl.work = #apply}
  return %1 : tensor<f32>
}

// Two sums that are added later are one, from whatever works they come.
// CHECK-LABEL: func.func @added_later
func.func @added_later(%x: !x {epl.sharding = #batch}, %lr: !v {epl.sharding = #v}) -> !v {
  %z = arith.constant {epl.work = #forward} dense<0.0> : !v
  %y = math.absf %x {epl.work = #forward} : !x
  // CHECK-NOT: epl.reshard
  // CHECK: %[[P:.*]] = arith.addf
  // CHECK-NEXT: %[[S:.*]] = epl.reshard %[[P]] {{.*}} backward
  // CHECK-NEXT: arith.mulf %[[S]]
  %0 = linalg.reduce { arith.addf } ins(%x : !x) outs(%z : !v) dimensions = [0] {epl.work = #forward}
  %1 = linalg.reduce { arith.addf } ins(%y : !x) outs(%z : !v) dimensions = [0] {epl.work = #backward}
  %2 = arith.addf %0, %1 {epl.work = #backward} : !v
  %3 = arith.mulf %2, %lr {epl.work = #apply} : !v
  return %3 : !v
}

// A value of which several linear ops make results is summed once, before them.
// CHECK-LABEL: func.func @several_users
func.func @several_users(%x: !x {epl.sharding = #batch}, %lr: !v {epl.sharding = #v}) -> (!v, !v) {
  %z = arith.constant {epl.work = #backward} dense<0.0> : !v
  // CHECK: %[[P:.*]] = linalg.reduce
  // CHECK-NEXT: %[[G:.*]] = epl.reshard %[[P]]
  // CHECK-NEXT: arith.mulf %[[G]]
  // CHECK-NEXT: arith.negf %[[G]]
  // CHECK-NEXT: return
  %0 = linalg.reduce { arith.addf } ins(%x : !x) outs(%z : !v) dimensions = [0] {epl.work = #backward}
  %1 = arith.mulf %0, %lr {epl.work = #backward} : !v
  %2 = arith.negf %0 {epl.work = #backward} : !v
  return %1, %2 : !v, !v
}

// Values that are concatenated, in whatever work, are one sum; slices of one value are one sum of it, unless they
// leave most of it out.
// CHECK-LABEL: func.func @pieces
func.func @pieces(%x: !x {epl.sharding = #batch}) -> (tensor<8xf32>, tensor<2xf32>, tensor<2xf32>, tensor<1xf32>) {
  %z = arith.constant {epl.work = #backward} dense<0.0> : !v
  %y = math.absf %x {epl.work = #backward} : !x
  %u = math.exp %x {epl.work = #backward} : !x
  // CHECK: linalg.reduce
  // CHECK-NEXT: linalg.reduce
  // CHECK-NEXT: %[[ALL:.*]] = epl.concatenate
  // CHECK-NEXT: epl.reshard %[[ALL]]
  %0 = linalg.reduce { arith.addf } ins(%x : !x) outs(%z : !v) dimensions = [0] {epl.work = #backward}
  %1 = linalg.reduce { arith.addf } ins(%y : !x) outs(%z : !v) dimensions = [0] {epl.work = #backward}
  %2 = epl.concatenate %0, %1 dim 0 {epl.work = #apply} : (!v, !v) -> tensor<8xf32>
  // CHECK: %[[P3:.*]] = linalg.reduce
  // CHECK-NEXT: %[[S3:.*]] = epl.reshard %[[P3]]
  // CHECK-NEXT: tensor.extract_slice %[[S3]]
  // CHECK-NEXT: tensor.extract_slice %[[S3]]
  %3 = linalg.reduce { arith.addf } ins(%y : !x) outs(%z : !v) dimensions = [0] {epl.work = #backward}
  %4 = tensor.extract_slice %3[0] [2] [1] {epl.work = #backward} : !v to tensor<2xf32>
  %5 = tensor.extract_slice %3[2] [2] [1] {epl.work = #backward} : !v to tensor<2xf32>
  // CHECK: linalg.reduce
  // CHECK-NEXT: %[[SLICE:.*]] = tensor.extract_slice
  // CHECK-NEXT: epl.reshard %[[SLICE]]
  %6 = linalg.reduce { arith.addf } ins(%u : !x) outs(%z : !v) dimensions = [0] {epl.work = #backward}
  %7 = tensor.extract_slice %6[1] [1] [1] {epl.work = #apply} : !v to tensor<1xf32>
  return %2, %4, %5, %7 : tensor<8xf32>, tensor<2xf32>, tensor<2xf32>, tensor<1xf32>
}

// Clipping by a norm: the gradient is summed once, for the norm and for the update.
// CHECK-LABEL: func.func @clipped
func.func @clipped(%x: !x {epl.sharding = #batch}) -> !v {
  %z = arith.constant {epl.work = #backward} dense<0.0> : !v
  %z0 = arith.constant {epl.work = #apply} dense<0.0> : tensor<f32>
  %e = tensor.empty() {epl.work = #apply} : !v
  // CHECK: %[[P:.*]] = linalg.reduce
  // CHECK-NEXT: %[[G:.*]] = epl.reshard %[[P]]
  // CHECK-NEXT: arith.mulf %[[G]], %[[G]]
  // CHECK-NOT: epl.reshard
  // CHECK: return
  %0 = linalg.reduce { arith.addf } ins(%x : !x) outs(%z : !v) dimensions = [0] {epl.work = #backward}
  %1 = arith.mulf %0, %0 {epl.work = #apply} : !v
  %2 = linalg.reduce { arith.addf } ins(%1 : !v) outs(%z0 : tensor<f32>) dimensions = [0] {epl.work = #apply}
  %3 = linalg.broadcast ins(%2 : tensor<f32>) outs(%e : !v) dimensions = [0] {epl.work = #apply}
  %4 = arith.divf %0, %3 {epl.work = #apply} : !v
  return %4 : !v
}

// A sum that is wanted in parts goes there directly: whole, it would move twice as much.
// CHECK-LABEL: func.func @in_parts
func.func @in_parts(%w: tensor<8xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}]>}, %x: tensor<8x8xf32> {epl.sharding = #batch})
    -> (tensor<8xf32> {epl.updates = 0 : i64}) {
  %z = arith.constant {epl.work = #backward} dense<0.0> : tensor<8xf32>
  // CHECK: linalg.reduce
  // CHECK-NEXT: %[[P:.*]] = arith.negf {{.*}} partial = sum{"data"}>
  // CHECK-NEXT: %[[PART:.*]] = epl.reshard %[[P]] to <@mesh, [{"data"}]>
  // CHECK-NEXT: arith.addf %{{.*}}, %[[PART]]
  %0 = linalg.reduce { arith.addf } ins(%x : tensor<8x8xf32>) outs(%z : tensor<8xf32>) dimensions = [0] {epl.work = #backward}
  %1 = arith.negf %0 {epl.work = #apply} : tensor<8xf32>
  %2 = arith.addf %w, %1 {epl.work = #apply} : tensor<8xf32>
  return %2 : tensor<8xf32>
}

// What is complete is added to pending sums by one member where that saves a sum: the square of a norm over sharded and
// replicated gradients is completed once.
// CHECK-LABEL: func.func @norm
// CHECK-SAME: %[[X:[^:]*]]: {{.*}}, %[[Y:[^:]*]]: {{.*}}, %[[N:[^:]*]]: tensor<f32>
func.func @norm(%x: !x {epl.sharding = #batch}, %y: !x {epl.sharding = #batch}, %n: tensor<f32>) -> tensor<f32> {
  // CHECK: %[[ONCE:.*]] = epl.reshard %[[N]] to <@mesh, [], partial = sum{"data"}>
  %z = arith.constant {epl.work = #apply} dense<0.0> : tensor<f32>
  // CHECK: %[[A:.*]] = linalg.reduce {{.*}} ins(%[[X]]
  %0 = linalg.reduce { arith.addf } ins(%x : !x) outs(%z : tensor<f32>) dimensions = [0, 1] {epl.work = #apply}
  // CHECK: %[[B:.*]] = arith.addf %[[A]], %[[ONCE]] {{.*}} partial = sum{"data"}>
  %1 = arith.addf %0, %n {epl.work = #apply} : tensor<f32>
  // CHECK: %[[C:.*]] = linalg.reduce {{.*}} ins(%[[Y]]
  %2 = linalg.reduce { arith.addf } ins(%y : !x) outs(%z : tensor<f32>) dimensions = [0, 1] {epl.work = #apply}
  // CHECK: %[[D:.*]] = arith.addf %[[B]], %[[C]] {{.*}} partial = sum{"data"}>
  %3 = arith.addf %1, %2 {epl.work = #apply} : tensor<f32>
  // CHECK: %[[E:.*]] = epl.reshard %[[D]] to <@mesh, []>
  // CHECK: math.sqrt %[[E]]
  %4 = math.sqrt %3 {epl.work = #apply} : tensor<f32>
  return %4 : tensor<f32>
}

// A sum alone is completed before.
// CHECK-LABEL: func.func @decay
// CHECK: %[[S:.*]] = linalg.reduce
// CHECK-NEXT: %[[G:.*]] = epl.reshard %[[S]] to <@mesh, [{}]>
// CHECK-NEXT: arith.addf %[[G]], %{{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]
func.func @decay(%x: !x {epl.sharding = #batch}, %w: !v {epl.sharding = #v}) -> !v {
  %z = arith.constant {epl.work = #apply} dense<0.0> : !v
  %0 = linalg.reduce { arith.addf } ins(%x : !x) outs(%z : !v) dimensions = [0] {epl.work = #apply}
  %1 = arith.addf %0, %w {epl.work = #apply} : !v
  %2 = math.exp %1 {epl.work = #apply} : !v
  return %2 : !v
}
