// RUN: epl-opt %s --split-input-file --epl-split-meshes | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#none = affine_map<(d0, d1) -> ()>
#lhs = affine_map<(d0, d1, d2) -> (d0, d2)>
#rhs = affine_map<(d0, d1, d2) -> (d2, d1)>
#rhsT = affine_map<(d0, d1, d2) -> (d1, d2)>
#out = affine_map<(d0, d1, d2) -> (d0, d1)>
#lhsT = affine_map<(d0, d1, d2) -> (d2, d0)>
#fwd0 = #epl.work<@tg0, forward>
#fwd1 = #epl.work<@tg1, forward>
#bwd0 = #epl.work<@tg0, backward>
#bwd1 = #epl.work<@tg1, backward>
#apply1 = #epl.work<@tg1, apply>

epl.mesh @mesh0 axes ["data"=2] first 0 strides [2]
epl.mesh @mesh1 axes ["data"=2] first 1 strides [2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh0
epl.taskgraph @tg1 strategy(<replicate, 1>) on @mesh1

// Activations go forward by channel 0, their gradients back by channel 1; they count samples, and arguments say so.
// The update of a state is done where the state is read, whatever its work says: that of @w0 by @tg0. The momentum of
// @w1 is decayed where it is updated. The rate is of no batch and is read there most that the largest ops read it;
// the other one receives it, not what is made of it in the shape of a parameter. Each makes its own zeros.
//
// CHECK-LABEL: func.func @step.mesh0
// CHECK-SAME: %[[W0:.*]]: tensor<16x8xf32> {epl.position = 0 : i64, epl.role = "state"}
// CHECK-SAME: %[[RATE:.*]]: tensor<f32> {epl.name = "rate", epl.position = 3 : i64, epl.role = "constant"}
// CHECK-SAME: %[[X:.*]]: tensor<32x16xf32> {epl.batch_dim = 0 : i64, epl.position = 4 : i64, epl.role = "batch"}
// CHECK-SAME: %[[UNREAD:.*]]: tensor<32xi32> {epl.batch_dim = 0 : i64, epl.position = 5 : i64, epl.role = "batch"}
// CHECK-SAME: %[[DH:.*]]: tensor<32x8xf32> {epl.batch_dim = 0 : i64, epl.channel = 2 : i64}
// CHECK-SAME: -> (tensor<16x8xf32> {epl.position = 0 : i64, epl.updates = 0 : i64}
// CHECK-SAME: tensor<f32> {epl.channel = 0 : i64}, tensor<32x8xf32> {epl.channel = 1 : i64})
// CHECK-SAME: attributes {epl.mesh = @mesh0}
// CHECK-DAG: arith.constant
// CHECK: %[[H:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[W0]] : {{.*}}<@tg0, forward>
// CHECK: %[[DW0:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[DH]] : {{.*}}<@tg0, backward>
// CHECK: linalg.generic {{.*}} ins(%[[RATE]] : tensor<f32>) outs({{.*}} : tensor<16x8xf32>) {{.*}}<@tg0, apply>
// CHECK: %[[NEW:.*]] = linalg.generic {{.*}} ins(%[[W0]], %[[DW0]], {{.*}}<@tg0, apply>
// CHECK: return %[[NEW]], %[[RATE]], %[[H]]
//
// CHECK-LABEL: func.func @step.mesh1
// CHECK-SAME: %[[W1:.*]]: tensor<8x4xf32> {epl.position = 1 : i64, epl.role = "state"}
// CHECK-SAME: %[[M1:.*]]: tensor<8x4xf32> {epl.position = 2 : i64, epl.role = "state"}
// CHECK-SAME: %[[RATE:.*]]: tensor<f32> {epl.channel = 0 : i64}
// CHECK-SAME: %[[H:.*]]: tensor<32x8xf32> {epl.batch_dim = 0 : i64, epl.channel = 1 : i64}
// CHECK-SAME: -> (tensor<8x4xf32> {epl.position = 1 : i64, epl.updates = 0 : i64}
// CHECK-SAME: tensor<8x4xf32> {epl.position = 2 : i64, epl.updates = 1 : i64}
// CHECK-SAME: tensor<32x4xf32> {epl.name = "out", epl.position = 3 : i64}
// CHECK-SAME: tensor<32x8xf32> {epl.channel = 2 : i64})
// CHECK-SAME: attributes {epl.mesh = @mesh1}
// CHECK-DAG: arith.constant
// CHECK: %[[Y:.*]] = linalg.generic {{.*}} ins(%[[H]], %[[W1]] : {{.*}}<@tg1, forward>
// CHECK: %[[DH:.*]] = linalg.generic {{.*}} ins(%[[Y]], %[[W1]] : {{.*}}<@tg1, backward>
// CHECK: %[[DW1:.*]] = linalg.generic {{.*}} ins(%[[H]], %[[Y]] : {{.*}}<@tg1, backward>
// CHECK: linalg.generic {{.*}} ins(%[[M1]] : {{.*}}<@tg1, forward>
// CHECK: linalg.generic {{.*}} ins(%[[RATE]] : tensor<f32>) outs({{.*}} : tensor<8x4xf32>) {{.*}}<@tg1, apply>
// CHECK: return {{.*}}, {{.*}}, %[[Y]], %[[DH]]
// CHECK-NOT: func.func
func.func public @step(%w0: tensor<16x8xf32> {epl.role = "state"}, %w1: tensor<8x4xf32> {epl.role = "state"},
                       %m1: tensor<8x4xf32> {epl.role = "state"},
                       %rate: tensor<f32> {epl.role = "constant", epl.name = "rate"},
                       %x: tensor<32x16xf32> {epl.role = "batch", epl.batch_dim = 0 : i64},
                       %unread: tensor<32xi32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<16x8xf32> {epl.updates = 0 : i64}, tensor<8x4xf32> {epl.updates = 1 : i64},
        tensor<8x4xf32> {epl.updates = 2 : i64}, tensor<32x4xf32> {epl.name = "out"}) {
  %zero8 = arith.constant {epl.work = #fwd0} dense<0.0> : tensor<32x8xf32>
  %zero4 = arith.constant {epl.work = #fwd0} dense<0.0> : tensor<32x4xf32>
  %zero168 = arith.constant {epl.work = #fwd0} dense<0.0> : tensor<16x8xf32>
  %zero84 = arith.constant {epl.work = #fwd0} dense<0.0> : tensor<8x4xf32>
  %h = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w0 : tensor<32x16xf32>, tensor<16x8xf32>) outs(%zero8 : tensor<32x8xf32>) attrs = {epl.work = #fwd0} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    linalg.yield %1 : f32
  } -> tensor<32x8xf32>
  %y = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%h, %w1 : tensor<32x8xf32>, tensor<8x4xf32>) outs(%zero4 : tensor<32x4xf32>) attrs = {epl.work = #fwd1} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    linalg.yield %1 : f32
  } -> tensor<32x4xf32>
  %dh = linalg.generic {indexing_maps = [#lhs, #rhsT, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%y, %w1 : tensor<32x4xf32>, tensor<8x4xf32>) outs(%zero8 : tensor<32x8xf32>) attrs = {epl.work = #bwd1} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    linalg.yield %1 : f32
  } -> tensor<32x8xf32>
  %dw1 = linalg.generic {indexing_maps = [#lhsT, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%h, %y : tensor<32x8xf32>, tensor<32x4xf32>) outs(%zero84 : tensor<8x4xf32>) attrs = {epl.work = #bwd1} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    linalg.yield %1 : f32
  } -> tensor<8x4xf32>
  %dw0 = linalg.generic {indexing_maps = [#lhsT, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %dh : tensor<32x16xf32>, tensor<32x8xf32>) outs(%zero168 : tensor<16x8xf32>) attrs = {epl.work = #bwd0} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    linalg.yield %1 : f32
  } -> tensor<16x8xf32>
  %decayed = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m1 : tensor<8x4xf32>) outs(%zero84 : tensor<8x4xf32>) attrs = {epl.work = #fwd0} {
  ^bb0(%a: f32, %c: f32):
    %0 = arith.addf %a, %a : f32
    linalg.yield %0 : f32
  } -> tensor<8x4xf32>
  %rate168 = linalg.generic {indexing_maps = [#none, #id], iterator_types = ["parallel", "parallel"]}
      ins(%rate : tensor<f32>) outs(%zero168 : tensor<16x8xf32>) attrs = {epl.work = #apply1} {
  ^bb0(%a: f32, %c: f32):
    linalg.yield %a : f32
  } -> tensor<16x8xf32>
  %rate84 = linalg.generic {indexing_maps = [#none, #id], iterator_types = ["parallel", "parallel"]}
      ins(%rate : tensor<f32>) outs(%zero84 : tensor<8x4xf32>) attrs = {epl.work = #apply1} {
  ^bb0(%a: f32, %c: f32):
    linalg.yield %a : f32
  } -> tensor<8x4xf32>
  %new0 = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w0, %dw0, %rate168 : tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>)
      outs(%zero168 : tensor<16x8xf32>) attrs = {epl.work = #apply1} {
  ^bb0(%a: f32, %b: f32, %r: f32, %c: f32):
    %0 = arith.mulf %b, %r : f32
    %1 = arith.subf %a, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<16x8xf32>
  %newm1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%decayed, %dw1 : tensor<8x4xf32>, tensor<8x4xf32>)
      outs(%zero84 : tensor<8x4xf32>) attrs = {epl.work = #apply1} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<8x4xf32>
  %new1 = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w1, %newm1, %rate84 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>)
      outs(%zero84 : tensor<8x4xf32>) attrs = {epl.work = #apply1} {
  ^bb0(%a: f32, %b: f32, %r: f32, %c: f32):
    %0 = arith.mulf %b, %r : f32
    %1 = arith.subf %a, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<8x4xf32>
  return %new0, %new1, %newm1, %y : tensor<16x8xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<32x4xf32>
}

// -----

#v = affine_map<(d0) -> (d0)>
#fwd0 = #epl.work<@tg0, forward>
#fwd1 = #epl.work<@tg1, forward>
#apply0 = #epl.work<@tg0, apply>
#bwd1 = #epl.work<@tg1, backward>

epl.mesh @mesh0 axes ["data"=2] first 0 strides [2]
epl.mesh @mesh1 axes ["data"=2] first 1 strides [2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh0
epl.taskgraph @tg1 strategy(<replicate, 1>) on @mesh1

// A state that both read is where it is updated; the other receives it, and sends its part of the gradient. A state that
// is returned as it is stays, an update by another state is received, one value may be returned twice, a constant is made
// where its state is, and both read the batch.
//
// CHECK-LABEL: func.func @tied.mesh0
// CHECK-SAME: %[[KEPT:.*]]: tensor<8xf32> {epl.position = 1 : i64, epl.role = "state"}
// CHECK-SAME: %[[RESET:.*]]: tensor<8xf32> {epl.position = 3 : i64, epl.role = "state"}
// CHECK-SAME: %[[X:.*]]: tensor<8xf32> {epl.batch_dim = 0 : i64, epl.position = 4 : i64, epl.role = "batch"}
// CHECK-SAME: %[[E:.*]]: tensor<8xf32> {epl.channel = 0 : i64}
// CHECK-SAME: -> (tensor<8xf32> {epl.position = 1 : i64, epl.updates = 0 : i64}
// CHECK-SAME: tensor<8xf32> {epl.position = 3 : i64, epl.updates = 1 : i64}
// CHECK-SAME: tensor<8xf32> {epl.position = 4 : i64}, tensor<8xf32> {epl.position = 5 : i64}, tensor<8xf32> {epl.position = 6 : i64}
// CHECK-SAME: tensor<8xf32> {epl.channel = 1 : i64}, tensor<8xf32> {epl.channel = 2 : i64})
// CHECK: %[[ZERO:.*]] = arith.constant
// CHECK: %[[H:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[E]]
// CHECK: return %[[KEPT]], %[[ZERO]], %[[H]], %[[H]], %[[X]], %[[KEPT]], %[[H]]
//
// CHECK-LABEL: func.func @tied.mesh1
// CHECK-SAME: %[[E:.*]]: tensor<8xf32> {epl.position = 0 : i64, epl.role = "state"}
// CHECK-SAME: %[[COPY:.*]]: tensor<8xf32> {epl.position = 2 : i64, epl.role = "state"}
// CHECK-SAME: %[[X:.*]]: tensor<8xf32> {epl.batch_dim = 0 : i64, epl.position = 4 : i64, epl.role = "batch"}
// CHECK-SAME: %[[KEPT:.*]]: tensor<8xf32> {epl.channel = 1 : i64}
// CHECK-SAME: %[[H:.*]]: tensor<8xf32> {epl.batch_dim = 0 : i64, epl.channel = 2 : i64}
// CHECK-SAME: -> (tensor<8xf32> {epl.position = 0 : i64, epl.updates = 0 : i64}
// CHECK-SAME: tensor<8xf32> {epl.position = 2 : i64, epl.updates = 1 : i64}, tensor<8xf32> {epl.channel = 0 : i64})
// CHECK: linalg.generic {{.*}} ins(%[[H]], %[[E]], %[[COPY]] : {{.*}}<@tg1, forward>
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[X]] : {{.*}}<@tg1, backward>
// CHECK: %[[NEW:.*]] = linalg.generic {{.*}}<@tg1, apply>
// CHECK: return %[[NEW]], %[[KEPT]], %[[E]]
func.func public @tied(%e: tensor<8xf32> {epl.role = "state"}, %kept: tensor<8xf32> {epl.role = "state"},
                       %copy: tensor<8xf32> {epl.role = "state"}, %reset: tensor<8xf32> {epl.role = "state"},
                       %x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<8xf32> {epl.updates = 0 : i64}, tensor<8xf32> {epl.updates = 1 : i64},
        tensor<8xf32> {epl.updates = 2 : i64}, tensor<8xf32> {epl.updates = 3 : i64},
        tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %zero = arith.constant {epl.work = #fwd1} dense<0.0> : tensor<8xf32>
  %h = linalg.generic {indexing_maps = [#v, #v, #v], iterator_types = ["parallel"]}
      ins(%x, %e : tensor<8xf32>, tensor<8xf32>) outs(%zero : tensor<8xf32>) attrs = {epl.work = #fwd0} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#v, #v, #v, #v], iterator_types = ["parallel"]}
      ins(%h, %e, %copy : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) outs(%zero : tensor<8xf32>) attrs = {epl.work = #fwd1} {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  %d = linalg.generic {indexing_maps = [#v, #v, #v], iterator_types = ["parallel"]}
      ins(%y, %x : tensor<8xf32>, tensor<8xf32>) outs(%zero : tensor<8xf32>) attrs = {epl.work = #bwd1} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %new = linalg.generic {indexing_maps = [#v, #v, #v, #v], iterator_types = ["parallel"]}
      ins(%d, %y, %e : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) outs(%zero : tensor<8xf32>) attrs = {epl.work = #apply0} {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  return %new, %kept, %kept, %zero, %h, %h, %x
      : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

#v = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
#fwd0 = #epl.work<@tg0, forward>
#fwd1 = #epl.work<@tg1, forward>

epl.mesh @mesh0 axes ["data"=1] first 0 strides [2]
epl.mesh @mesh1 axes ["data"=1] first 1 strides [2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh0
epl.taskgraph @tg1 strategy(<replicate, 1>) on @mesh1

// A number cannot be sent: the tensor is of which it is an element.
//
// CHECK-LABEL: func.func @scalar.mesh0
// CHECK-SAME: -> (tensor<1xf32> {epl.channel = 0 : i64})
// CHECK-NOT: tensor.extract
// CHECK-LABEL: func.func @scalar.mesh1
// CHECK-SAME: %[[SCALE:arg1]]: tensor<1xf32> {epl.channel = 0 : i64}
// CHECK: %[[NUMBER:.*]] = tensor.extract %[[SCALE]]
// CHECK: ins(%{{.*}}, %[[NUMBER]] : tensor<8xf32>, f32)
func.func public @scalar(%x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64},
                         %s: tensor<1xf32> {epl.role = "constant"}) -> tensor<8xf32> {
  %e0 = tensor.empty() {epl.work = #fwd0} : tensor<1xf32>
  %scale = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]}
      ins(%s : tensor<1xf32>) outs(%e0 : tensor<1xf32>) attrs = {epl.work = #fwd0} {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  } -> tensor<1xf32>
  %i = arith.constant {epl.work = #fwd0} 0 : index
  %number = tensor.extract %scale[%i] {epl.work = #fwd0} : tensor<1xf32>
  %e1 = tensor.empty() {epl.work = #fwd1} : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#v, #none, #v], iterator_types = ["parallel"]}
      ins(%x, %number : tensor<8xf32>, f32) outs(%e1 : tensor<8xf32>) attrs = {epl.work = #fwd1} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

#v = affine_map<(d0) -> (d0)>
#fwd1 = #epl.work<@tg1, forward>

epl.mesh @mesh0 axes ["data"=1] first 0 strides [2]
epl.mesh @mesh1 axes ["data"=1] first 1 strides [2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh0
epl.taskgraph @tg1 strategy(<replicate, 1>) on @mesh1

// A batch that is kept as a state is an argument of the mesh of the state, whoever else reads it.
//
// CHECK-LABEL: func.func @kept.mesh0
// CHECK-SAME: %[[LAST:arg0]]: tensor<8xf32> {epl.position = 0 : i64, epl.role = "state"}
// CHECK-SAME: %[[X:arg1]]: tensor<8xf32> {epl.batch_dim = 0 : i64, epl.position = 1 : i64, epl.role = "batch"}
// CHECK-SAME: -> (tensor<8xf32> {epl.position = 0 : i64, epl.updates = 0 : i64})
// CHECK: return %[[X]]
// CHECK-LABEL: func.func @kept.mesh1
// CHECK-SAME: %[[X:arg0]]: tensor<8xf32> {epl.batch_dim = 0 : i64, epl.position = 1 : i64, epl.role = "batch"}
// CHECK: ins(%[[X]] : tensor<8xf32>)
func.func public @kept(%last: tensor<8xf32> {epl.role = "state"},
                       %x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<8xf32> {epl.updates = 0 : i64}, tensor<8xf32>) {
  %e = tensor.empty() {epl.work = #fwd1} : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) attrs = {epl.work = #fwd1} {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %x, %y : tensor<8xf32>, tensor<8xf32>
}

// -----

epl.mesh @mesh0 axes ["data"=1] first 0 strides [2]
epl.mesh @mesh1 axes ["data"=1] first 1 strides [2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh0
epl.taskgraph @tg1 strategy(<replicate, 1>) on @mesh1

// What iterations over micro-batches read of each other goes in messages; what is stacked and read as a whole goes once.
//
// CHECK-LABEL: func.func @stacked.mesh0
// CHECK-SAME: tensor<2x8xf32> {epl.channel = 0 : i64, epl.messages}, tensor<2x8xf32> {epl.channel = 1 : i64})
// CHECK-LABEL: func.func @stacked.mesh1
// CHECK-SAME: %[[EACH:.*]]: tensor<2x8xf32> {{{.*}}epl.channel = 0 : i64, epl.messages}
// CHECK-SAME: %[[WHOLE:.*]]: tensor<2x8xf32> {{{.*}}epl.channel = 1 : i64})
// CHECK: epl.loop_slice {{.*}} %[[EACH]]
// CHECK: math.exp %[[WHOLE]]
func.func @stacked(%x: tensor<2x8xf32> {epl.batch_dim = 1 : i64, epl.role = "batch"}) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %0 = epl.loop_slice <0, trip_count = 2, micro_batches = true> %x : tensor<2x8xf32> -> tensor<8xf32>
  %1 = math.sin %0 {epl.work = #epl.work<@tg0, forward>} : tensor<8xf32>
  %2 = math.cos %1 {epl.work = #epl.work<@tg1, forward>} : tensor<8xf32>
  %3 = epl.loop_stack <0, trip_count = 2, micro_batches = true> %1 : tensor<8xf32> -> tensor<2x8xf32>
  %4 = epl.loop_stack <0, trip_count = 2, micro_batches = true> %2 : tensor<8xf32> -> tensor<2x8xf32>
  %5 = math.exp %3 {epl.work = #epl.work<@tg1, forward>} : tensor<2x8xf32>
  return %4, %5 : tensor<2x8xf32>, tensor<2x8xf32>
}

// -----

// Two stages on a mesh each make for themselves what iterations make of batches alone: a schedule says which comes
// first. What another mesh makes so is work of the stage that reads it.

// CHECK-LABEL: func.func @turns.mesh0
// CHECK: %[[X0:.*]] = epl.loop_slice {{.*}} %[[X:arg0]] {epl.work = #epl.work<@tg0, forward>}
// CHECK: math.exp %[[X0]] {epl.work = #epl.work<@tg0, forward>}
// CHECK: %[[X2:.*]] = epl.loop_slice {{.*}} %[[X]] {epl.work = #epl.work<@tg2, forward>}
// CHECK: %[[NEG:.*]] = linalg.generic {{.*}} ins(%[[X2]] : {{.*}}<@tg2, backward>
// CHECK: arith.mulf %{{.*}}, %[[NEG]] {epl.work = #epl.work<@tg2, backward>}

// CHECK-LABEL: func.func @turns.mesh1
// CHECK-NOT: linalg.generic

epl.mesh @mesh0 axes ["data"=1] first 0 strides [2]
epl.mesh @mesh1 axes ["data"=1] first 1 strides [2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh0
epl.taskgraph @tg1 strategy(<replicate, 1>) on @mesh1
epl.taskgraph @tg2 strategy(<replicate, 1>) on @mesh0
func.func @turns(%x: tensor<2x8xf32> {epl.role = "batch", epl.batch_dim = 1 : i64}) -> tensor<2x8xf32> {
  %0 = epl.loop_slice <0, trip_count = 2, micro_batches = true> %x {epl.work = #epl.work<@tg0, forward>} : tensor<2x8xf32> -> tensor<8xf32>
  %1 = math.exp %0 {epl.work = #epl.work<@tg0, forward>} : tensor<8xf32>
  %2 = math.tanh %1 {epl.work = #epl.work<@tg1, forward>} : tensor<8xf32>
  %e = tensor.empty() {epl.work = #epl.work<@tg1, backward>} : tensor<8xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (d)>], iterator_types = ["parallel"]}
      ins(%0 : tensor<8xf32>) outs(%e : tensor<8xf32>) attrs = {epl.work = #epl.work<@tg1, backward>} {
  ^bb0(%a: f32, %o: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  } -> tensor<8xf32>
  %4 = arith.mulf %2, %3 {epl.work = #epl.work<@tg2, backward>} : tensor<8xf32>
  %5 = epl.loop_stack <0, trip_count = 2, micro_batches = true> %4 {epl.work = #epl.work<@tg2, backward>} : tensor<8xf32> -> tensor<2x8xf32>
  return %5 : tensor<2x8xf32>
}

// -----

#fwd0 = #epl.work<@tg0, forward>
#bwd0 = #epl.work<@tg0, backward>
#fwd1 = #epl.work<@tg1, forward>
#apply0 = #epl.work<@tg0, apply>

epl.mesh @mesh0 axes ["data"=1]
epl.mesh @mesh1 axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh0
epl.taskgraph @tg1 strategy(<replicate, 1>) on @mesh1

// What states alone make is where the parameter is that it reads, whatever its work says: the sum of @w1's elements, of
// which a number goes to the other mesh, and an average of @w1 that is a state of its own.

// CHECK-LABEL: func.func @of_states.mesh0
// CHECK-SAME: %[[W0:[^:]+]]: tensor<8xf32> {epl.position = 0 : i64
// CHECK-SAME: %[[X:[^:]+]]: tensor<8xf32> {epl.batch_dim = 0 : i64
// CHECK-SAME: %[[SUM:[^:]+]]: tensor<f32> {epl.channel = 1 : i64})
// CHECK-SAME: -> (tensor<8xf32> {epl.position = 0 : i64, epl.updates = 0 : i64}, tensor<8xf32> {epl.channel = 0 : i64})
// CHECK-LABEL: func.func @of_states.mesh1
// CHECK-SAME: %[[W1:[^:]+]]: tensor<8xf32> {epl.position = 1 : i64
// CHECK-SAME: %[[AVERAGE:[^:]+]]: tensor<8xf32> {epl.position = 2 : i64
// CHECK-SAME: %{{[^:]+}}: tensor<8xf32> {epl.batch_dim = 0 : i64, epl.channel = 0 : i64})
// CHECK-SAME: -> (tensor<8xf32> {epl.position = 1 : i64, epl.updates = 0 : i64}, tensor<8xf32> {epl.position = 2 : i64, epl.updates = 1 : i64}, tensor<8xf32> {epl.position = 3 : i64}, tensor<f32> {epl.channel = 1 : i64})
// CHECK-DAG: linalg.generic {{.*}} ins(%[[W1]] : tensor<8xf32>)
// CHECK-DAG: %[[OLD:.*]] = arith.mulf %[[AVERAGE]]
// CHECK: %[[OWN:.*]] = arith.mulf %[[W1]]
// CHECK: arith.addf %[[OLD]], %[[OWN]]
func.func public @of_states(%w0: tensor<8xf32> {epl.role = "state"}, %w1: tensor<8xf32> {epl.role = "state"},
                            %average: tensor<8xf32> {epl.role = "state"},
                            %x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<8xf32> {epl.updates = 0 : i64}, tensor<8xf32> {epl.updates = 1 : i64},
        tensor<8xf32> {epl.updates = 2 : i64}, tensor<8xf32>) {
  %h = arith.mulf %x, %w0 {epl.work = #fwd0} : tensor<8xf32>
  %y = arith.mulf %h, %w1 {epl.work = #fwd1} : tensor<8xf32>
  %dw0 = arith.mulf %x, %h {epl.work = #bwd0} : tensor<8xf32>
  %zero = arith.constant {epl.work = #fwd0} dense<0.0> : tensor<f32>
  %sum = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%w1 : tensor<8xf32>) outs(%zero : tensor<f32>) attrs = {epl.work = #fwd0} {
  ^bb0(%e: f32, %so_far: f32):
    %0 = arith.addf %so_far, %e : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  %new0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%dw0, %sum : tensor<8xf32>, tensor<f32>) outs(%w0 : tensor<8xf32>) attrs = {epl.work = #apply0} {
  ^bb0(%g: f32, %s: f32, %w: f32):
    %0 = arith.mulf %g, %s : f32
    %1 = arith.subf %w, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  %half = arith.constant {epl.work = #fwd0} dense<0.5> : tensor<8xf32>
  %old = arith.mulf %average, %half {epl.work = #fwd0} : tensor<8xf32>
  %own = arith.mulf %w1, %half {epl.work = #fwd0} : tensor<8xf32>
  %newAverage = arith.addf %old, %own {epl.work = #fwd0} : tensor<8xf32>
  return %new0, %w1, %newAverage, %y : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
