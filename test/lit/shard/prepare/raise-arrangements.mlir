// RUN: epl-opt %s --split-input-file --epl-raise-arrangements | FileCheck %s

// Rows of a stack: positions begin where the rows do, and what is smaller than what is made of it, as a key is,
// stays as it is. What else is made of the value is made of all of it.
#work = #epl.work<@tg0, forward>
#id = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>
epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
// CHECK-LABEL: @rows
// CHECK: %[[POSITIONS:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<2x8xf32>)
// CHECK: %[[INDEX:.*]] = linalg.index 0
// CHECK: %[[TWO:.*]] = arith.constant 2 : index
// CHECK: arith.addi %[[INDEX]], %[[TWO]] : index
// CHECK: %[[KEYS:.*]] = tensor.extract_slice %arg0[2] [2] [1] {epl.work = #epl.work<@tg0, forward>}
// CHECK: %[[MADE:.*]] = linalg.generic {{.*}} ins(%[[POSITIONS]], %[[KEYS]] : tensor<2x8xf32>, tensor<2xf32>)
// CHECK-NOT: tensor.extract_slice
// CHECK: return %[[MADE]]
func.func @rows(%key: tensor<4xf32> {epl.role = "constant"})
    -> (tensor<2x8xf32> {epl.wanted = #epl.sharding<@mesh, [{}, {} ]>, epl.position = 0 : i64, epl.caller_rows = array<i64: 2, 4>}) {
  %e = tensor.empty() {epl.work = #work} : tensor<4x8xf32>
  %i = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"], epl.work = #work} outs(%e : tensor<4x8xf32>) {
  ^bb0(%o: f32):
    %0 = linalg.index 0 : index
    %1 = arith.index_cast %0 : index to i32
    %2 = arith.sitofp %1 : i32 to f32
    linalg.yield %2 : f32
  } -> tensor<4x8xf32>
  %x = linalg.generic {indexing_maps = [#id, #rows, #id], iterator_types = ["parallel", "parallel"], epl.work = #work} ins(%i, %key : tensor<4x8xf32>, tensor<4xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<4x8xf32>
  %s = tensor.extract_slice %x[2, 0] [2, 8] [1, 1] {epl.work = #work} : tensor<4x8xf32> to tensor<2x8xf32>
  return %s : tensor<2x8xf32>
}

// -----

// Segments: a position is that of the segment times its extent, and that in it. Of several results of one op,
// which are walked alike, one op makes all.
#work = #epl.work<@tg0, forward>
#id = affine_map<(d0) -> (d0)>
epl.mesh @mesh axes ["data"=1, "model"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
// CHECK-LABEL: @segments
// CHECK: %[[BOTH:.*]]:2 = linalg.generic
// CHECK: %[[SEGMENT:.*]] = linalg.index 0
// CHECK: %[[INNER:.*]] = linalg.index 1
// CHECK: %[[FOUR:.*]] = arith.constant 4
// CHECK: %[[BEGIN:.*]] = arith.muli %[[SEGMENT]], %[[FOUR]]
// CHECK: arith.addi %[[BEGIN]], %[[INNER]]
// CHECK-NOT: expand_shape
// CHECK: return %[[BOTH]]#0, %[[BOTH]]#1
func.func @segments() -> (tensor<3x4xi32> {epl.wanted = #epl.sharding<@mesh, [{}, {"model"} ]>},
                          tensor<3x4xi32> {epl.wanted = #epl.sharding<@mesh, [{}, {"model"} ]>}) {
  %e = tensor.empty() {epl.work = #work} : tensor<12xi32>
  %x:2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"], epl.work = #work} outs(%e, %e : tensor<12xi32>, tensor<12xi32>) {
  ^bb0(%o: i32, %p: i32):
    %0 = linalg.index 0 : index
    %1 = arith.index_cast %0 : index to i32
    %2 = arith.addi %1, %1 : i32
    linalg.yield %1, %2 : i32, i32
  } -> (tensor<12xi32>, tensor<12xi32>)
  %a = tensor.expand_shape %x#0 [[0, 1]] output_shape [3, 4] {epl.work = #work} : tensor<12xi32> into tensor<3x4xi32>
  %b = tensor.expand_shape %x#1 [[0, 1]] output_shape [3, 4] {epl.work = #work} : tensor<12xi32> into tensor<3x4xi32>
  return %a, %b : tensor<3x4xi32>, tensor<3x4xi32>
}

// -----

// Of layers that are stacked a stage takes its own; of a concatenation cut elsewhere what each part has.
#work = #epl.work<@tg0, forward>
epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
// CHECK-LABEL: @parts
// CHECK: %[[LAST:.*]] = tensor.extract_slice %arg1[0, 0] [1, 4] [1, 1]
// CHECK: %[[BOTH:.*]] = epl.concatenate %arg0, %[[LAST]] dim 0
// CHECK: return %arg0, %[[BOTH]]
func.func @parts(%a: tensor<2x4xf32> {epl.role = "constant"}, %b: tensor<2x4xf32> {epl.role = "constant"})
    -> (tensor<2x4xf32> {epl.wanted = #epl.sharding<@mesh, [{}, {} ]>}, tensor<3x4xf32> {epl.wanted = #epl.sharding<@mesh, [{}, {} ]>}) {
  %c = epl.concatenate %a, %b dim 0 {epl.work = #work} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  %x = tensor.extract_slice %c[0, 0] [2, 4] [1, 1] {epl.work = #work} : tensor<4x4xf32> to tensor<2x4xf32>
  %y = tensor.extract_slice %c[0, 0] [3, 4] [1, 1] {epl.work = #work} : tensor<4x4xf32> to tensor<3x4xf32>
  return %x, %y : tensor<2x4xf32>, tensor<3x4xf32>
}

// -----

// Where no other step wants results, nothing changes.
#work = #epl.work<@tg0, forward>
epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
// CHECK-LABEL: @free
// CHECK: epl.concatenate
// CHECK: tensor.extract_slice
func.func @free(%a: tensor<2x4xf32> {epl.role = "constant"}, %b: tensor<2x4xf32> {epl.role = "constant"}) -> tensor<2x4xf32> {
  %c = epl.concatenate %a, %b dim 0 {epl.work = #work} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  %x = tensor.extract_slice %c[0, 0] [2, 4] [1, 1] {epl.work = #work} : tensor<4x4xf32> to tensor<2x4xf32>
  return %x : tensor<2x4xf32>
}
