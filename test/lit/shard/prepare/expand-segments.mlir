// RUN: epl-opt %s -split-input-file -epl-expand-segments | FileCheck %s

#rows = affine_map<(m, n, k) -> (m, k)>
#weights = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
#each = affine_map<(m, n) -> (m, n)>
#columns = affine_map<(m, n) -> (n)>
#product = {indexing_maps = [#rows, #weights, #out], iterator_types = ["parallel", "parallel", "reduction"]}
#add_bias = {indexing_maps = [#each, #columns, #each], iterator_types = ["parallel", "parallel"]}
#sum_rows = {indexing_maps = [#each, #columns], iterator_types = ["reduction", "parallel"]}
#work = #epl.work<@tg0, forward>

epl.mesh @mesh axes ["data"=1, "model"=2]
epl.taskgraph @tg0 strategy(<split, 2>) on @mesh

// CHECK-DAG: #[[W:.*]] = affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>
// CHECK-DAG: #[[B:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>

// Three segments of one product: parameters have them as a dimension, slices take one each. What is pending
// of the gradient is a sum over rows, which has them too, and so has the state that it updates. The zeros are
// made in both shapes: who else reads them is not concerned.
// CHECK-LABEL: func.func @slices
// CHECK-SAME: %[[W0:.*]]: tensor<6x3x8xf32> {epl.caller_shape = array<i64: 6, 24>, epl.role = "state"}
// CHECK-SAME: %[[B0:.*]]: tensor<3x8xf32> {epl.caller_shape = array<i64: 24>, epl.role = "state"}
// CHECK-SAME: -> (tensor<6x3x8xf32> {epl.caller_shape = array<i64: 6, 24>, epl.updates = 0 : i64}, tensor<3x8xf32> {epl.caller_shape = array<i64: 24>, epl.updates = 1 : i64}
func.func @slices(%w: tensor<6x24xf32> {epl.role = "state"}, %b: tensor<24xf32> {epl.role = "state"},
                  %x: tensor<4x6xf32> {epl.role = "batch"})
    -> (tensor<6x24xf32> {epl.updates = 0 : i64}, tensor<24xf32> {epl.updates = 1 : i64}, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x24xf32>) {
  // CHECK: %[[Z:.*]] = arith.constant {epl.work = #epl.work<@tg0, forward>} dense<0.000000e+00> : tensor<4x24xf32>
  // CHECK: %[[ZS:.*]] = arith.constant {epl.work = #epl.work<@tg0, forward>} dense<0.000000e+00> : tensor<4x3x8xf32>
  %z = arith.constant {epl.work = #work} dense<0.0> : tensor<4x24xf32>
  %zb = arith.constant {epl.work = #work} dense<0.0> : tensor<24xf32>
  // CHECK: %[[Y:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%{{.*}}, %[[W0]] : tensor<4x6xf32>, tensor<6x3x8xf32>) outs(%[[ZS]] : tensor<4x3x8xf32>) attrs = {epl.work = #epl.work<@tg0, forward>}
  %y = linalg.generic #product ins(%x, %w : tensor<4x6xf32>, tensor<6x24xf32>) outs(%z : tensor<4x24xf32>) attrs = {epl.work = #work} {
  ^bb0(%p: f32, %q: f32, %c: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x24xf32>
  // CHECK: %[[H:.*]] = linalg.generic {{.*}} ins(%[[Y]], %[[B0]] : tensor<4x3x8xf32>, tensor<3x8xf32>)
  %h = linalg.generic #add_bias ins(%y, %b : tensor<4x24xf32>, tensor<24xf32>) outs(%z : tensor<4x24xf32>) attrs = {epl.work = #work} {
  ^bb0(%p: f32, %q: f32, %c: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<4x24xf32>
  // CHECK: tensor.extract_slice %[[H]][0, 0, 0] [4, 1, 8] [1, 1, 1] {epl.work = #epl.work<@tg0, forward>} : tensor<4x3x8xf32> to tensor<4x8xf32>
  // CHECK: tensor.extract_slice %[[H]][0, 1, 0] [4, 1, 8]
  // CHECK: tensor.extract_slice %[[H]][0, 2, 0] [4, 1, 8]
  %s0 = tensor.extract_slice %h[0, 0] [4, 8] [1, 1] {epl.work = #work} : tensor<4x24xf32> to tensor<4x8xf32>
  %s1 = tensor.extract_slice %h[0, 8] [4, 8] [1, 1] {epl.work = #work} : tensor<4x24xf32> to tensor<4x8xf32>
  %s2 = tensor.extract_slice %h[0, 16] [4, 8] [1, 1] {epl.work = #work} : tensor<4x24xf32> to tensor<4x8xf32>
  // CHECK: %[[G:.*]] = linalg.generic {{.*}} iterator_types = ["reduction", "parallel", "parallel"]} ins(%[[H]] : tensor<4x3x8xf32>) outs(%{{.*}} : tensor<3x8xf32>)
  %g = linalg.generic #sum_rows ins(%h : tensor<4x24xf32>) outs(%zb : tensor<24xf32>) attrs = {epl.work = #work} {
  ^bb0(%p: f32, %c: f32):
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<24xf32>
  // CHECK: return %[[W0]], %[[G]], {{.*}} %[[Z]]
  return %w, %g, %s0, %s1, %s2, %z : tensor<6x24xf32>, tensor<24xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x24xf32>
}

// What is made of segments, by padding, insertion or concatenation, is a stack of them. A result that is no
// state is one dimension for the caller.
// CHECK-LABEL: func.func @pieces(
// CHECK-SAME: %[[W0:.*]]: tensor<2x8x6xf32> {epl.caller_shape = array<i64: 16, 6>
func.func @pieces(%w: tensor<16x6xf32> {epl.role = "state"}, %a: tensor<4x8xf32>, %b: tensor<4x8xf32>)
    -> (tensor<16x6xf32> {epl.updates = 0 : i64}, tensor<4x6xf32>, tensor<4x16xf32>) {
  %zero = arith.constant {epl.work = #work} 0.0 : f32
  %z = arith.constant {epl.work = #work} dense<0.0> : tensor<4x16xf32>
  %zh = arith.constant {epl.work = #work} dense<0.0> : tensor<4x6xf32>
  // CHECK: %[[A1:.*]] = tensor.expand_shape %{{.*}} {{\[}}[0], [1, 2]] output_shape [4, 1, 8] {epl.work = #epl.work<@tg0, forward>} : tensor<4x8xf32> into tensor<4x1x8xf32>
  // CHECK: %[[P:.*]] = tensor.pad %[[A1]] low[0, 0, 0] high[0, 1, 0]
  // CHECK: ^bb0(%{{.*}}: index, %{{.*}}: index, %{{.*}}: index):
  // CHECK: {epl.work = #epl.work<@tg0, forward>} : tensor<4x1x8xf32> to tensor<4x2x8xf32>
  %p = tensor.pad %a low[0, 0] high[0, 8] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } {epl.work = #work} : tensor<4x8xf32> to tensor<4x16xf32>
  // CHECK: %[[I:.*]] = tensor.insert_slice %{{.*}} into %{{.*}}[0, 1, 0] [4, 1, 8] [1, 1, 1] {epl.work = #epl.work<@tg0, forward>} : tensor<4x8xf32> into tensor<4x2x8xf32>
  %i = tensor.insert_slice %b into %z[0, 8] [4, 8] [1, 1] {epl.work = #work} : tensor<4x8xf32> into tensor<4x16xf32>
  // CHECK: %[[C:.*]] = epl.concatenate %{{.*}}, %{{.*}} dim 1 {epl.work = #epl.work<@tg0, forward>} : (tensor<4x1x8xf32>, tensor<4x1x8xf32>) -> tensor<4x2x8xf32>
  %c = epl.concatenate %a, %b dim 1 {epl.work = #work} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>
  // CHECK: %[[H:.*]] = linalg.generic {{.*}} ins(%[[P]], %[[I]], %[[C]] :
  %h = linalg.generic {indexing_maps = [#each, #each, #each, #each], iterator_types = ["parallel", "parallel"]}
      ins(%p, %i, %c : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>) outs(%z : tensor<4x16xf32>) attrs = {epl.work = #work} {
  ^bb0(%0: f32, %1: f32, %2: f32, %o: f32):
    %s = arith.addf %0, %1 : f32
    %t = arith.addf %s, %2 : f32
    linalg.yield %t : f32
  } -> tensor<4x16xf32>
  // CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%[[H]], %[[W0]] :
  %y = linalg.generic #product ins(%h, %w : tensor<4x16xf32>, tensor<16x6xf32>) outs(%zh : tensor<4x6xf32>) attrs = {epl.work = #work} {
  ^bb0(%q: f32, %r: f32, %o: f32):
    %m = arith.mulf %q, %r : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x6xf32>
  // CHECK: %[[R:.*]] = tensor.collapse_shape %[[H]] {{\[}}[0], [1, 2]] {epl.work
  // CHECK: return %[[W0]], %{{.*}}, %[[R]]
  return %w, %y, %h : tensor<16x6xf32>, tensor<4x6xf32>, tensor<4x16xf32>
}

// Segments that a reshape makes a dimension of. Slices of that are as they were, what was flat is not any more.
// CHECK-LABEL: func.func @reshapes(
// CHECK-SAME: tensor<6x3x8xf32> {epl.caller_shape
func.func @reshapes(%w: tensor<6x24xf32> {epl.role = "state"}, %x: tensor<4x6xf32>) -> (tensor<4x2x4xf32>, tensor<4x2x4xf32>) {
  %z = arith.constant {epl.work = #work} dense<0.0> : tensor<4x24xf32>
  // CHECK: %[[Y:.*]] = linalg.generic
  %y = linalg.generic #product ins(%x, %w : tensor<4x6xf32>, tensor<6x24xf32>) outs(%z : tensor<4x24xf32>) attrs = {epl.work = #work} {
  ^bb0(%p: f32, %q: f32, %c: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x24xf32>
  // CHECK: %[[E:.*]] = tensor.expand_shape %[[Y]] {{\[}}[0], [1], [2, 3]] output_shape [4, 3, 2, 4] {epl.work = {{.*}}} : tensor<4x3x8xf32> into tensor<4x3x2x4xf32>
  %e = tensor.expand_shape %y [[0], [1, 2, 3]] output_shape [4, 3, 2, 4] {epl.work = #work} : tensor<4x24xf32> into tensor<4x3x2x4xf32>
  // CHECK: tensor.extract_slice %[[E]][0, 0, 0, 0] [4, 1, 2, 4] [1, 1, 1, 1] {epl.work = {{.*}}} : tensor<4x3x2x4xf32> to tensor<4x2x4xf32>
  %0 = tensor.extract_slice %e[0, 0, 0, 0] [4, 1, 2, 4] [1, 1, 1, 1] {epl.work = #work} : tensor<4x3x2x4xf32> to tensor<4x2x4xf32>
  %1 = tensor.extract_slice %e[0, 2, 0, 0] [4, 1, 2, 4] [1, 1, 1, 1] {epl.work = #work} : tensor<4x3x2x4xf32> to tensor<4x2x4xf32>
  return %0, %1 : tensor<4x2x4xf32>, tensor<4x2x4xf32>
}

// Through a loop: the parts of a stack of parameters, and what goes from one iteration to the next.
// CHECK-LABEL: func.func @iterations(
// CHECK-SAME: %[[W0:.*]]: tensor<5x2x8xf32> {epl.caller_shape = array<i64: 5, 16>
func.func @iterations(%w: tensor<5x16xf32> {epl.role = "state"}, %x: tensor<16xf32> {epl.role = "state"}) -> (tensor<8xf32>, tensor<8xf32>, tensor<5x16xf32> {epl.updates = 0 : i64}) {
  %z = arith.constant {epl.work = #work} dense<0.0> : tensor<16xf32>
  // CHECK: epl.loop_carry <0, trip_count = 5> 0 %{{.*}} : tensor<2x8xf32> -> tensor<2x8xf32>
  %c = epl.loop_carry <0, trip_count = 5> 0 %x {epl.work = #work} : tensor<16xf32> -> tensor<16xf32>
  // CHECK: epl.loop_slice <0, trip_count = 5> %[[W0]] {epl.work = {{.*}}} : tensor<5x2x8xf32> -> tensor<2x8xf32>
  %s = epl.loop_slice <0, trip_count = 5> %w {epl.work = #work} : tensor<5x16xf32> -> tensor<16xf32>
  %n = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%c, %s : tensor<16xf32>, tensor<16xf32>) outs(%z : tensor<16xf32>) attrs = {epl.work = #work} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    linalg.yield %m : f32
  } -> tensor<16xf32>
  // CHECK: epl.loop_stack <0, trip_count = 5> %{{.*}} : tensor<2x8xf32> -> tensor<5x2x8xf32>
  %t = epl.loop_stack <0, trip_count = 5> %n {epl.work = #work} : tensor<16xf32> -> tensor<5x16xf32>
  // CHECK: %[[L:.*]] = epl.loop_last <0, trip_count = 5> 0 %{{.*}} : tensor<2x8xf32>
  %l = epl.loop_last <0, trip_count = 5> 0 %n {epl.work = #work} : tensor<16xf32>
  // CHECK: tensor.extract_slice %[[L]][0, 0] [1, 8]
  %0 = tensor.extract_slice %l[0] [8] [1] {epl.work = #work} : tensor<16xf32> to tensor<8xf32>
  %1 = tensor.extract_slice %l[8] [8] [1] {epl.work = #work} : tensor<16xf32> to tensor<8xf32>
  return %0, %1, %t : tensor<8xf32>, tensor<8xf32>, tensor<5x16xf32>
}

// The position along a dimension of segments; a constant; an op that knows no segments; shardings by hand.
// CHECK-LABEL: func.func @positions(
// CHECK-SAME: %[[W0:.*]]: tensor<2x4xf32> {epl.caller_shape = array<i64: 8>, epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{}, {"model"}]>}
func.func @positions(%w: tensor<8xf32> {epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{"model"}]>},
                     %at: tensor<3xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<3xf32>) {
  // CHECK: arith.constant {{.*}} dense<{{\[\[}}0.000000e+00, 1.000000e+00, 2.000000e+00, 3.000000e+00], [4.000000e+00
  %c = arith.constant {epl.work = #work} dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> : tensor<8xf32>
  %e = tensor.empty() {epl.work = #work} : tensor<8xf32>
  // CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]}
  // CHECK: %[[I:.*]] = linalg.index 0
  // CHECK: %[[N:.*]] = arith.constant 4 : index
  // CHECK: %[[F:.*]] = arith.muli %[[I]], %[[N]]
  // CHECK: %[[J:.*]] = linalg.index 1
  // CHECK: %[[S:.*]] = arith.addi %[[F]], %[[J]]
  // CHECK: arith.index_cast %[[S]]
  %h = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%w, %c : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) attrs = {epl.work = #work} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i32
    %f = arith.sitofp %j : i32 to f32
    %s = arith.addf %p, %f : f32
    %t = arith.addf %s, %q : f32
    linalg.yield %t : f32
  } -> tensor<8xf32>
  // CHECK: %[[R:.*]] = epl.reshard %{{.*}} to <@mesh, [{}, {"model"}]> {{.*}} : tensor<2x4xf32>
  %r = epl.reshard %h to <@mesh, [{"model"}]> {epl.work = #work} : tensor<8xf32>
  // CHECK: %[[FLAT:.*]] = tensor.collapse_shape %[[R]] {{\[}}[0, 1]]
  // CHECK: epl.gather %[[FLAT]]
  %g = epl.gather %r[%at] of [0] operand_dims [-1] index_dims [0] {epl.work = #work} : (tensor<8xf32>, tensor<3xi32>) -> tensor<3xf32>
  %0 = tensor.extract_slice %r[0] [4] [1] {epl.work = #work} : tensor<8xf32> to tensor<4xf32>
  %1 = tensor.extract_slice %r[4] [4] [1] {epl.work = #work} : tensor<8xf32> to tensor<4xf32>
  return %0, %1, %g : tensor<4xf32>, tensor<4xf32>, tensor<3xf32>
}

// Not: one part alone, parts that two devices do not divide, parts in which no parameter has a part.
// CHECK-LABEL: func.func @other_parts(
// CHECK-NOT: caller_shape
// CHECK-NOT: _shape
// CHECK: return
func.func @other_parts(%a: tensor<12xf32> {epl.role = "state"}, %b: tensor<8xf32> {epl.role = "state"},
                       %c: tensor<6xf32> {epl.role = "state"}, %d: tensor<8xf32> {epl.role = "batch"})
    -> (tensor<7xf32>, tensor<5xf32>, tensor<4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = tensor.extract_slice %a[0] [7] [1] {epl.work = #work} : tensor<12xf32> to tensor<7xf32>
  %1 = tensor.extract_slice %a[7] [5] [1] {epl.work = #work} : tensor<12xf32> to tensor<5xf32>
  %2 = tensor.extract_slice %b[0] [4] [1] {epl.work = #work} : tensor<8xf32> to tensor<4xf32>
  %3 = tensor.extract_slice %c[0] [3] [1] {epl.work = #work} : tensor<6xf32> to tensor<3xf32>
  %4 = tensor.extract_slice %c[3] [3] [1] {epl.work = #work} : tensor<6xf32> to tensor<3xf32>
  %5 = tensor.extract_slice %d[0] [4] [1] {epl.work = #work} : tensor<8xf32> to tensor<4xf32>
  %6 = tensor.extract_slice %d[4] [4] [1] {epl.work = #work} : tensor<8xf32> to tensor<4xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<7xf32>, tensor<5xf32>, tensor<4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Nothing is split.
epl.mesh @mesh axes ["data"=2]
// CHECK-LABEL: func.func @no_model(
// CHECK-SAME: tensor<8xf32> {epl.role = "state"}
func.func @no_model(%a: tensor<8xf32> {epl.role = "state"}) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: tensor.extract_slice %{{.*}}[0] [4] [1]
  %0 = tensor.extract_slice %a[0] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %1 = tensor.extract_slice %a[4] [4] [1] : tensor<8xf32> to tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

#work = #epl.work<@tg0, forward>
epl.mesh @mesh axes ["data"=4, "model"=2]
epl.taskgraph @tg0 strategy(<split, 2>) on @mesh

// What is said of a whole dimension is said of each segment, unless the axes do not divide a segment.
// CHECK-LABEL: func.func @constraints(
// CHECK: epl.constrain %{{.*}} to <[{"data"}, {}, {"model"}]> {epl.work = {{.*}}} : tensor<4x2x12xf32>
// CHECK: %[[FLAT:.*]] = tensor.collapse_shape
// CHECK: epl.constrain %[[FLAT]] to <[{}, {"data", "model"}]> {epl.work = {{.*}}} : tensor<4x24xf32>
// CHECK: epl.constrain %{{.*}} to <[{}, {}, {}], whole = {"model"}> {epl.work = {{.*}}} : tensor<4x2x12xf32>
func.func @constraints(%w: tensor<4x24xf32> {epl.role = "state"}) -> (tensor<4x12xf32>, tensor<4x12xf32>) {
  %a = epl.constrain %w to <[{"data"}, {"model"}]> {epl.work = #work} : tensor<4x24xf32>
  %b = epl.constrain %a to <[{}, {"data", "model"}]> {epl.work = #work} : tensor<4x24xf32>
  %c = epl.constrain %b to <[{}, {}], whole = {"model"}> {epl.work = #work} : tensor<4x24xf32>
  %0 = tensor.extract_slice %c[0, 0] [4, 12] [1, 1] {epl.work = #work} : tensor<4x24xf32> to tensor<4x12xf32>
  %1 = tensor.extract_slice %c[0, 12] [4, 12] [1, 1] {epl.work = #work} : tensor<4x24xf32> to tensor<4x12xf32>
  return %0, %1 : tensor<4x12xf32>, tensor<4x12xf32>
}

// -----

// What another mesh sends keeps its shape, and becomes segments where it is read first: what is sent before may be
// what it is made of.
epl.mesh @mesh axes ["data"=1, "model"=2]
epl.taskgraph @tg0 strategy(<split, 2>) on @mesh

// CHECK-LABEL: func.func @received
// CHECK-SAME: %[[W:[^:]*]]: tensor<6x3x8xf32>
// CHECK-SAME: %[[C:[^:]*]]: tensor<4x24xf32> {epl.batch_dim = 0 : i64, epl.channel = 1 : i64}
func.func @received(%w: tensor<6x24xf32> {epl.role = "state"}, %x: tensor<4x6xf32> {epl.role = "batch"},
                    %c: tensor<4x24xf32> {epl.batch_dim = 0 : i64, epl.channel = 1 : i64})
    -> (tensor<6x24xf32> {epl.updates = 0 : i64}, tensor<4x6xf32> {epl.channel = 0 : i64}, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %z = arith.constant {epl.work = #epl.work<@tg0, forward>} dense<0.0> : tensor<4x24xf32>
  // CHECK: math.exp
  // CHECK: tensor.expand_shape %[[C]]
  %sent = math.exp %x {epl.work = #epl.work<@tg0, forward>} : tensor<4x6xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<4x6xf32>, tensor<6x24xf32>) outs(%z : tensor<4x24xf32>) attrs = {epl.work = #epl.work<@tg0, forward>} {
  ^bb0(%p: f32, %q: f32, %a: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %a, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x24xf32>
  %h = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%y, %c : tensor<4x24xf32>, tensor<4x24xf32>) outs(%z : tensor<4x24xf32>) attrs = {epl.work = #epl.work<@tg0, forward>} {
  ^bb0(%p: f32, %q: f32, %a: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<4x24xf32>
  %s0 = tensor.extract_slice %h[0, 0] [4, 8] [1, 1] {epl.work = #epl.work<@tg0, forward>} : tensor<4x24xf32> to tensor<4x8xf32>
  %s1 = tensor.extract_slice %h[0, 8] [4, 8] [1, 1] {epl.work = #epl.work<@tg0, forward>} : tensor<4x24xf32> to tensor<4x8xf32>
  %s2 = tensor.extract_slice %h[0, 16] [4, 8] [1, 1] {epl.work = #epl.work<@tg0, forward>} : tensor<4x24xf32> to tensor<4x8xf32>
  return %w, %sent, %s0, %s1, %s2 : tensor<6x24xf32>, tensor<4x6xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// What each iteration of micro-batches receives and sends has its own shape at the ends of its channels, by which these
// are told, and segments within the iteration.
epl.mesh @mesh axes ["data"=1, "model"=2]
epl.taskgraph @tg0 strategy(<split, 2>) on @mesh

// CHECK-LABEL: func.func @ends_of_channels
// CHECK-SAME: %[[C:[^:]*]]: tensor<2x4x24xf32> {epl.batch_dim = 1 : i64, epl.channel = 0 : i64, epl.messages}
func.func @ends_of_channels(%w: tensor<6x24xf32> {epl.role = "state"},
                            %x: tensor<2x4x6xf32> {epl.batch_dim = 1 : i64, epl.role = "batch"},
                            %c: tensor<2x4x24xf32> {epl.batch_dim = 1 : i64, epl.channel = 0 : i64, epl.messages})
    -> (tensor<6x24xf32> {epl.updates = 0 : i64}, tensor<2x4x24xf32> {epl.channel = 1 : i64, epl.messages}, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) {
  %z = arith.constant {epl.work = #epl.work<@tg0, forward>} dense<0.0> : tensor<4x24xf32>
  %own = epl.loop_slice <0, trip_count = 2, micro_batches = true> %x : tensor<2x4x6xf32> -> tensor<4x6xf32>
  // CHECK: %[[RECEIVED:.*]] = epl.loop_slice <0, {{.*}}> %[[C]] : tensor<2x4x24xf32> -> tensor<4x24xf32>
  // CHECK: tensor.expand_shape %[[RECEIVED]]
  %received = epl.loop_slice <0, trip_count = 2, micro_batches = true> %c : tensor<2x4x24xf32> -> tensor<4x24xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%own, %w : tensor<4x6xf32>, tensor<6x24xf32>) outs(%z : tensor<4x24xf32>) attrs = {epl.work = #epl.work<@tg0, forward>} {
  ^bb0(%p: f32, %q: f32, %a: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %a, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x24xf32>
  %h = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%y, %received : tensor<4x24xf32>, tensor<4x24xf32>) outs(%z : tensor<4x24xf32>) attrs = {epl.work = #epl.work<@tg0, forward>} {
  ^bb0(%p: f32, %q: f32, %a: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<4x24xf32>
  %s0 = tensor.extract_slice %h[0, 0] [4, 8] [1, 1] {epl.work = #epl.work<@tg0, forward>} : tensor<4x24xf32> to tensor<4x8xf32>
  %s1 = tensor.extract_slice %h[0, 8] [4, 8] [1, 1] {epl.work = #epl.work<@tg0, forward>} : tensor<4x24xf32> to tensor<4x8xf32>
  %s2 = tensor.extract_slice %h[0, 16] [4, 8] [1, 1] {epl.work = #epl.work<@tg0, forward>} : tensor<4x24xf32> to tensor<4x8xf32>
  // CHECK: %[[SENT:.*]] = epl.loop_stack <0, {{.*}}> %{{.*}} : tensor<4x24xf32> -> tensor<2x4x24xf32>
  %sent = epl.loop_stack <0, trip_count = 2, micro_batches = true> %h : tensor<4x24xf32> -> tensor<2x4x24xf32>
  %0 = epl.loop_stack <0, trip_count = 2, micro_batches = true> %s0 : tensor<4x8xf32> -> tensor<2x4x8xf32>
  %1 = epl.loop_stack <0, trip_count = 2, micro_batches = true> %s1 : tensor<4x8xf32> -> tensor<2x4x8xf32>
  %2 = epl.loop_stack <0, trip_count = 2, micro_batches = true> %s2 : tensor<4x8xf32> -> tensor<2x4x8xf32>
  // CHECK: return %{{.*}}, %[[SENT]],
  return %w, %sent, %0, %1, %2 : tensor<6x24xf32>, tensor<2x4x24xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>
}
