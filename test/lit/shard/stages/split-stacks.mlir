// RUN: epl-opt %s --split-input-file --epl-split-stacks | FileCheck %s
// RUN: epl-opt %s --split-input-file --epl-split-stacks | epl-opt --split-input-file --epl-split-meshes > /dev/null

// Two layers on each of two meshes. The gradient is a concatenation, of which each mesh has its own; so are what is
// kept of it and the next values. The norm over all rows is the sum of two.

// CHECK-LABEL: func.func @concatenated
// CHECK-SAME: (%[[W0:[^:]+]]: tensor<2x8xf32> {epl.caller_rows = array<i64: 0, 4>, epl.position = 0 : i64, epl.role = "state"},
// CHECK-SAME:  %[[W1:[^:]+]]: tensor<2x8xf32> {epl.caller_rows = array<i64: 2, 4>, epl.position = 0 : i64, epl.role = "state"},
// CHECK-SAME:  %[[M0:[^:]+]]: tensor<2x8xf32> {epl.caller_rows = array<i64: 0, 4>, epl.position = 1
// CHECK-SAME:  %[[M1:[^:]+]]: tensor<2x8xf32> {epl.caller_rows = array<i64: 2, 4>, epl.position = 1
// CHECK-SAME:  %{{[^:]+}}: tensor<8xf32> {epl.batch_dim = 0 : i64, epl.position = 2
// CHECK-SAME: -> (tensor<2x8xf32> {epl.caller_rows = array<i64: 0, 4>, epl.position = 0 : i64, epl.updates = 0 : i64},
// CHECK-SAME:     tensor<2x8xf32> {epl.caller_rows = array<i64: 2, 4>, epl.position = 0 : i64, epl.updates = 1 : i64},
// CHECK-SAME:     tensor<2x8xf32> {epl.caller_rows = array<i64: 0, 4>, epl.position = 1 : i64, epl.updates = 2 : i64},
// CHECK-SAME:     tensor<2x8xf32> {epl.caller_rows = array<i64: 2, 4>, epl.position = 1 : i64, epl.updates = 3 : i64}
// CHECK: tensor.extract_slice %[[W0]][0, 0] [1, 8]
// CHECK: tensor.extract_slice %[[W0]][1, 0] [1, 8]
// CHECK: tensor.extract_slice %[[W1]][0, 0] [1, 8] [1, 1] {epl.work = #epl.work<@b, forward>}
// CHECK: tensor.extract_slice %[[W1]][1, 0] [1, 8]
// CHECK: %[[G0:.*]] = epl.concatenate {{.*}} dim 0 {{.*}}<@a, backward>} : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<2x8xf32>
// CHECK: %[[G1:.*]] = epl.concatenate {{.*}} dim 0 {{.*}}<@b, backward>} : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<2x8xf32>
// CHECK: %[[N0:.*]] = linalg.generic {{.*}} ins(%[[G0]] {{.*}}<@a, apply>
// CHECK: %[[N1:.*]] = linalg.generic {{.*}} ins(%[[G1]] {{.*}}<@b, apply>
// CHECK: linalg.generic {{.*}} ins(%[[N0]], %[[N1]] : tensor<f32>, tensor<f32>)
// CHECK: arith.addf %[[M0]], %[[G0]] {{.*}}<@a, apply>} : tensor<2x8xf32>
// CHECK: arith.addf %[[M1]], %[[G1]] {{.*}}<@b, apply>} : tensor<2x8xf32>
// CHECK-NOT: tensor<4x8xf32>

epl.mesh @mesh0 axes ["data"=1]
epl.mesh @mesh1 axes ["data"=1]
epl.taskgraph @a strategy(<replicate, 1>) on @mesh0
epl.taskgraph @b strategy(<replicate, 1>) on @mesh1
func.func @concatenated(%w: tensor<4x8xf32> {epl.role = "state"}, %m: tensor<4x8xf32> {epl.role = "state"},
                        %x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<4x8xf32> {epl.updates = 0 : i64}, tensor<4x8xf32> {epl.updates = 1 : i64}, tensor<f32>) {
  %0 = tensor.extract_slice %w[0, 0] [1, 8] [1, 1] {epl.work = #epl.work<@a, forward>} : tensor<4x8xf32> to tensor<8xf32>
  %h0 = arith.mulf %0, %x {epl.work = #epl.work<@a, forward>} : tensor<8xf32>
  %1 = tensor.extract_slice %w[1, 0] [1, 8] [1, 1] {epl.work = #epl.work<@a, forward>} : tensor<4x8xf32> to tensor<8xf32>
  %h1 = arith.mulf %1, %h0 {epl.work = #epl.work<@a, forward>} : tensor<8xf32>
  %2 = tensor.extract_slice %w[2, 0] [1, 8] [1, 1] {epl.work = #epl.work<@a, forward>} : tensor<4x8xf32> to tensor<8xf32>
  %h2 = arith.mulf %2, %h1 {epl.work = #epl.work<@b, forward>} : tensor<8xf32>
  %3 = tensor.extract_slice %w[3, 0] [1, 8] [1, 1] {epl.work = #epl.work<@b, forward>} : tensor<4x8xf32> to tensor<8xf32>
  %h3 = arith.mulf %3, %h2 {epl.work = #epl.work<@b, forward>} : tensor<8xf32>
  %d3 = tensor.expand_shape %h2 [[0, 1]] output_shape [1, 8] {epl.work = #epl.work<@b, backward>} : tensor<8xf32> into tensor<1x8xf32>
  %d2 = tensor.expand_shape %h3 [[0, 1]] output_shape [1, 8] {epl.work = #epl.work<@b, backward>} : tensor<8xf32> into tensor<1x8xf32>
  %d1 = tensor.expand_shape %h0 [[0, 1]] output_shape [1, 8] {epl.work = #epl.work<@a, backward>} : tensor<8xf32> into tensor<1x8xf32>
  %d0 = tensor.expand_shape %h1 [[0, 1]] output_shape [1, 8] {epl.work = #epl.work<@a, backward>} : tensor<8xf32> into tensor<1x8xf32>
  %g = epl.concatenate %d0, %d1, %d2, %d3 dim 0 {epl.work = #epl.work<@a, backward>} : (tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
  %zero = arith.constant {epl.work = #epl.work<@a, apply>} dense<0.0> : tensor<f32>
  %norm = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%g : tensor<4x8xf32>) outs(%zero : tensor<f32>) attrs = {epl.work = #epl.work<@a, apply>} {
  ^bb0(%e: f32, %sum: f32):
    %4 = arith.mulf %e, %e : f32
    %5 = arith.addf %sum, %4 : f32
    linalg.yield %5 : f32
  } -> tensor<f32>
  %moment = arith.addf %m, %g {epl.work = #epl.work<@a, apply>} : tensor<4x8xf32>
  %next = arith.subf %w, %moment {epl.work = #epl.work<@a, apply>} : tensor<4x8xf32>
  return %next, %moment, %norm : tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>
}

// -----

// Rows are padded with zeros and added up: where one mesh has zeros there is nothing to add. Three rows on two meshes
// are an argument each.

// CHECK-LABEL: func.func @padded
// CHECK-SAME: epl.caller_rows = array<i64: 0, 3>
// CHECK-SAME: epl.caller_rows = array<i64: 1, 3>
// CHECK-SAME: epl.caller_rows = array<i64: 2, 3>
// CHECK: %[[D0:.*]] = tensor.expand_shape
// CHECK: %[[D1:.*]] = tensor.expand_shape
// CHECK: %[[D2:.*]] = tensor.expand_shape
// CHECK-NOT: tensor.pad
// CHECK: arith.subf %arg0, %[[D0]] {{.*}}<@a, apply>}
// CHECK: arith.subf %arg1, %[[D1]] {{.*}}<@b, apply>}
// CHECK: arith.subf %arg2, %[[D2]] {{.*}}<@b, apply>}

epl.mesh @mesh0 axes ["data"=1]
epl.mesh @mesh1 axes ["data"=1]
epl.taskgraph @a strategy(<replicate, 1>) on @mesh0
epl.taskgraph @b strategy(<replicate, 1>) on @mesh1
#same = affine_map<(i, j) -> (i, j)>
func.func @padded(%w: tensor<3x8xf32> {epl.role = "state"}, %x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<3x8xf32> {epl.updates = 0 : i64}) {
  %zero = arith.constant {epl.work = #epl.work<@a, backward>} 0.0 : f32
  %empty = tensor.empty() {epl.work = #epl.work<@a, backward>} : tensor<3x8xf32>
  %0 = tensor.extract_slice %w[0, 0] [1, 8] [1, 1] {epl.work = #epl.work<@a, forward>} : tensor<3x8xf32> to tensor<8xf32>
  %h0 = arith.mulf %0, %x {epl.work = #epl.work<@a, forward>} : tensor<8xf32>
  %1 = tensor.extract_slice %w[1, 0] [1, 8] [1, 1] {epl.work = #epl.work<@b, forward>} : tensor<3x8xf32> to tensor<8xf32>
  %h1 = arith.mulf %1, %h0 {epl.work = #epl.work<@b, forward>} : tensor<8xf32>
  %2 = tensor.extract_slice %w[2, 0] [1, 8] [1, 1] {epl.work = #epl.work<@b, forward>} : tensor<3x8xf32> to tensor<8xf32>
  %h2 = arith.mulf %2, %h1 {epl.work = #epl.work<@b, forward>} : tensor<8xf32>
  %d0 = tensor.expand_shape %h0 [[0, 1]] output_shape [1, 8] {epl.work = #epl.work<@a, backward>} : tensor<8xf32> into tensor<1x8xf32>
  %p0 = tensor.pad %d0 low[0, 0] high[2, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } {epl.work = #epl.work<@a, backward>} : tensor<1x8xf32> to tensor<3x8xf32>
  %d1 = tensor.expand_shape %h1 [[0, 1]] output_shape [1, 8] {epl.work = #epl.work<@b, backward>} : tensor<8xf32> into tensor<1x8xf32>
  %p1 = tensor.pad %d1 low[1, 0] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } {epl.work = #epl.work<@b, backward>} : tensor<1x8xf32> to tensor<3x8xf32>
  %d2 = tensor.expand_shape %h2 [[0, 1]] output_shape [1, 8] {epl.work = #epl.work<@b, backward>} : tensor<8xf32> into tensor<1x8xf32>
  %p2 = tensor.pad %d2 low[2, 0] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } {epl.work = #epl.work<@b, backward>} : tensor<1x8xf32> to tensor<3x8xf32>
  %s1 = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%p2, %p1 : tensor<3x8xf32>, tensor<3x8xf32>) outs(%empty : tensor<3x8xf32>) attrs = {epl.work = #epl.work<@b, backward>} {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %3 = arith.addf %a, %b : f32
    linalg.yield %3 : f32
  } -> tensor<3x8xf32>
  %g = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%s1, %p0 : tensor<3x8xf32>, tensor<3x8xf32>) outs(%empty : tensor<3x8xf32>) attrs = {epl.work = #epl.work<@a, backward>} {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %3 = arith.addf %a, %b : f32
    linalg.yield %3 : f32
  } -> tensor<3x8xf32>
  %next = arith.subf %w, %g {epl.work = #epl.work<@a, apply>} : tensor<3x8xf32>
  return %next : tensor<3x8xf32>
}

// -----

// An op that adds up one of its inputs twice is none that leaves the other one's rows as they are, though that is zero.

// CHECK-LABEL: func.func @doubled
// CHECK-COUNT-2: arith.addf %[[IN:.*]], %[[IN]] : f32
// CHECK: arith.subf %arg0
// CHECK: arith.subf %arg1

epl.mesh @mesh0 axes ["data"=1]
epl.mesh @mesh1 axes ["data"=1]
epl.taskgraph @a strategy(<replicate, 1>) on @mesh0
epl.taskgraph @b strategy(<replicate, 1>) on @mesh1
#same = affine_map<(i, j) -> (i, j)>
func.func @doubled(%w: tensor<2x8xf32> {epl.role = "state"}, %x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<2x8xf32> {epl.updates = 0 : i64}) {
  %zero = arith.constant {epl.work = #epl.work<@a, backward>} 0.0 : f32
  %empty = tensor.empty() {epl.work = #epl.work<@a, backward>} : tensor<2x8xf32>
  %0 = tensor.extract_slice %w[0, 0] [1, 8] [1, 1] {epl.work = #epl.work<@a, forward>} : tensor<2x8xf32> to tensor<8xf32>
  %h0 = arith.mulf %0, %x {epl.work = #epl.work<@a, forward>} : tensor<8xf32>
  %1 = tensor.extract_slice %w[1, 0] [1, 8] [1, 1] {epl.work = #epl.work<@b, forward>} : tensor<2x8xf32> to tensor<8xf32>
  %h1 = arith.mulf %1, %h0 {epl.work = #epl.work<@b, forward>} : tensor<8xf32>
  %d0 = tensor.expand_shape %h0 [[0, 1]] output_shape [1, 8] {epl.work = #epl.work<@a, backward>} : tensor<8xf32> into tensor<1x8xf32>
  %p0 = tensor.pad %d0 low[0, 0] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } {epl.work = #epl.work<@a, backward>} : tensor<1x8xf32> to tensor<2x8xf32>
  %d1 = tensor.expand_shape %h1 [[0, 1]] output_shape [1, 8] {epl.work = #epl.work<@b, backward>} : tensor<8xf32> into tensor<1x8xf32>
  %p1 = tensor.pad %d1 low[1, 0] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } {epl.work = #epl.work<@b, backward>} : tensor<1x8xf32> to tensor<2x8xf32>
  %g = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%p0, %p1 : tensor<2x8xf32>, tensor<2x8xf32>) outs(%empty : tensor<2x8xf32>) attrs = {epl.work = #epl.work<@a, backward>} {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %2 = arith.addf %a, %a : f32
    linalg.yield %2 : f32
  } -> tensor<2x8xf32>
  %next = arith.subf %w, %g {epl.work = #epl.work<@a, apply>} : tensor<2x8xf32>
  return %next : tensor<2x8xf32>
}

// -----

// What reads all rows in one op that cannot be cut reads a concatenation of those of the meshes; rows whose narrower
// form is read are rows, too. Positions along rows count from where those of a mesh begin.

// CHECK-LABEL: func.func @whole
// CHECK: %[[N0:.*]] = arith.truncf %arg0 {{.*}}<@a, forward>} : tensor<1x8xf32> to tensor<1x8xbf16>
// CHECK: %[[N1:.*]] = arith.truncf %arg1 {{.*}}<@b, forward>} : tensor<1x8xf32> to tensor<1x8xbf16>
// CHECK: tensor.extract_slice %[[N0]][0, 0]
// CHECK: tensor.extract_slice %[[N1]][0, 0]
// CHECK: %[[ALL:.*]] = epl.concatenate %arg0, %arg1 dim 0
// CHECK: epl.sort %[[ALL]]
// CHECK: linalg.generic {{.*}} ins(%arg0
// CHECK: linalg.generic {{.*}} ins(%arg1
// CHECK: %[[ROW:.*]] = linalg.index 0
// CHECK: %[[ONE:.*]] = arith.constant 1 : index
// CHECK: %[[BEGIN:.*]] = arith.muli %{{.*}}, %[[ONE]] : index
// CHECK: arith.addi %[[ROW]], %[[BEGIN]] : index

epl.mesh @mesh0 axes ["data"=1]
epl.mesh @mesh1 axes ["data"=1]
epl.taskgraph @a strategy(<replicate, 1>) on @mesh0
epl.taskgraph @b strategy(<replicate, 1>) on @mesh1
#same = affine_map<(i, j) -> (i, j)>
func.func @whole(%w: tensor<2x8xf32> {epl.role = "state"}, %x: tensor<8xbf16> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<2x8xf32> {epl.updates = 0 : i64}, tensor<2x8xf32>, tensor<8xbf16>) {
  %narrow = arith.truncf %w {epl.work = #epl.work<@a, forward>} : tensor<2x8xf32> to tensor<2x8xbf16>
  %0 = tensor.extract_slice %narrow[0, 0] [1, 8] [1, 1] {epl.work = #epl.work<@a, forward>} : tensor<2x8xbf16> to tensor<8xbf16>
  %h0 = arith.mulf %0, %x {epl.work = #epl.work<@a, forward>} : tensor<8xbf16>
  %1 = tensor.extract_slice %narrow[1, 0] [1, 8] [1, 1] {epl.work = #epl.work<@b, forward>} : tensor<2x8xbf16> to tensor<8xbf16>
  %h1 = arith.mulf %1, %h0 {epl.work = #epl.work<@b, forward>} : tensor<8xbf16>
  %sorted = epl.sort %w dim 0 {epl.work = #epl.work<@a, forward>} : (tensor<2x8xf32>) -> tensor<2x8xf32> {
  ^bb0(%e: f32, %f: f32):
    %before = arith.cmpf olt, %e, %f : f32
    epl.yield %before : i1
  }
  %empty = tensor.empty() {epl.work = #epl.work<@a, apply>} : tensor<2x8xf32>
  %next = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<2x8xf32>) outs(%empty : tensor<2x8xf32>) attrs = {epl.work = #epl.work<@a, apply>} {
  ^bb0(%e: f32, %out: f32):
    %row = linalg.index 0 : index
    %number = arith.index_cast %row : index to i32
    %rate = arith.sitofp %number : i32 to f32
    %2 = arith.addf %e, %rate : f32
    linalg.yield %2 : f32
  } -> tensor<2x8xf32>
  return %next, %sorted, %h1 : tensor<2x8xf32>, tensor<2x8xf32>, tensor<8xbf16>
}

// -----

// Rows that one mesh reads are no stack, and what the user has sharded is as they say.

// CHECK-LABEL: func.func @left
// CHECK-SAME: (%{{[^:]+}}: tensor<2x8xf32> {epl.role = "state"}, %{{[^:]+}}: tensor<2x8xf32> {epl.role = "state", epl.sharding

epl.mesh @mesh0 axes ["data"=1]
epl.mesh @mesh1 axes ["data"=1]
epl.taskgraph @a strategy(<replicate, 1>) on @mesh0
epl.taskgraph @b strategy(<replicate, 1>) on @mesh1
func.func @left(%w: tensor<2x8xf32> {epl.role = "state"},
                %v: tensor<2x8xf32> {epl.role = "state", epl.sharding = #epl.sharding<@mesh0, [{}, {}]>},
                %x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<8xf32> {
  %0 = tensor.extract_slice %w[0, 0] [1, 8] [1, 1] {epl.work = #epl.work<@a, forward>} : tensor<2x8xf32> to tensor<8xf32>
  %h0 = arith.mulf %0, %x {epl.work = #epl.work<@a, forward>} : tensor<8xf32>
  %1 = tensor.extract_slice %w[1, 0] [1, 8] [1, 1] {epl.work = #epl.work<@a, forward>} : tensor<2x8xf32> to tensor<8xf32>
  %h1 = arith.mulf %1, %h0 {epl.work = #epl.work<@a, forward>} : tensor<8xf32>
  %2 = tensor.extract_slice %v[0, 0] [1, 8] [1, 1] {epl.work = #epl.work<@a, forward>} : tensor<2x8xf32> to tensor<8xf32>
  %h2 = arith.mulf %2, %h1 {epl.work = #epl.work<@a, forward>} : tensor<8xf32>
  %3 = tensor.extract_slice %v[1, 0] [1, 8] [1, 1] {epl.work = #epl.work<@b, forward>} : tensor<2x8xf32> to tensor<8xf32>
  %h3 = arith.mulf %3, %h2 {epl.work = #epl.work<@b, forward>} : tensor<8xf32>
  return %h3 : tensor<8xf32>
}

// -----

// Rows that the user has sharded are no stack either, in whatever form they say so.

// CHECK-LABEL: func.func @constrained
// CHECK-SAME: (%{{[^:]+}}: tensor<4x8xf32> {epl.role = "state"}, %{{[^:]+}}: tensor<8xf32>

epl.mesh @mesh0 axes ["data"=4]
epl.mesh @mesh1 axes ["data"=4]
epl.taskgraph @a strategy(<replicate, 1>) on @mesh0
epl.taskgraph @b strategy(<replicate, 1>) on @mesh1
func.func @constrained(%w: tensor<4x8xf32> {epl.role = "state"},
                       %x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> (tensor<8xf32>, tensor<4x8xbf16>) {
  %0 = tensor.extract_slice %w[0, 0] [1, 8] [1, 1] {epl.work = #epl.work<@a, forward>} : tensor<4x8xf32> to tensor<8xf32>
  %h0 = arith.mulf %0, %x {epl.work = #epl.work<@a, forward>} : tensor<8xf32>
  %1 = tensor.extract_slice %w[2, 0] [1, 8] [1, 1] {epl.work = #epl.work<@b, forward>} : tensor<4x8xf32> to tensor<8xf32>
  %h1 = arith.mulf %1, %h0 {epl.work = #epl.work<@b, forward>} : tensor<8xf32>
  %narrow = arith.truncf %w {epl.work = #epl.work<@a, forward>} : tensor<4x8xf32> to tensor<4x8xbf16>
  %rows = epl.constrain %narrow to <[{"data"}, {}]> {epl.work = #epl.work<@a, forward>} : tensor<4x8xbf16>
  return %h1, %rows : tensor<8xf32>, tensor<4x8xbf16>
}
