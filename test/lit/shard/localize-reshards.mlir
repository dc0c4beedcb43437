// RUN: epl-opt %s -epl-localize -epl-verify-local | FileCheck %s

// That the steps of a reshard are right for every pair of shardings is test/unit/shard/PlanReshardTest.cpp;
// here is what the steps become.

#fwd = #epl.work<@tg0, forward>

epl.mesh @mesh axes ["data"=2, "model"=3]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// CHECK-LABEL: func.func @partial_to_whole
// CHECK: %[[P:.*]] = epl.from_local {{.*}} : tensor<4xf32> -> <tensor<4xf32>, <@mesh, [{}], partial = min{"data", "model"}>>
// CHECK: epl.all_reduce %[[P]] : <tensor<4xf32>, <@mesh, [{}], partial = min{"data", "model"}>> -> <tensor<4xf32>, <@mesh, [{}]>>
func.func @partial_to_whole(%x: tensor<4xf32> {epl.sharding = #epl.sharding<@mesh, [{}], partial = min{"data", "model"}>}) -> tensor<4xf32> {
  %0 = epl.reshard %x to <@mesh, [{}]> {epl.work = #fwd} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @split_to_whole
// CHECK: epl.all_gather {{.*}} dim 0 : <tensor<12x4xf32>, <@mesh, [{"data"}, {}]>> -> <tensor<12x4xf32>, <@mesh, [{}, {}]>>
func.func @split_to_whole(%x: tensor<12x4xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {}]>}) -> tensor<12x4xf32> {
  %0 = epl.reshard %x to <@mesh, [{}, {}]> {epl.work = #fwd} : tensor<12x4xf32>
  return %0 : tensor<12x4xf32>
}

// Both dimensions are gathered, one after the other.
// CHECK-LABEL: func.func @two_dimensions
// CHECK: epl.all_gather {{.*}} dim 0 : <tensor<12x6xf32>, <@mesh, [{"data"}, {"model"}]>> -> <tensor<12x6xf32>, <@mesh, [{}, {"model"}]>>
// CHECK: epl.all_gather {{.*}} dim 1 : <tensor<12x6xf32>, <@mesh, [{}, {"model"}]>> -> <tensor<12x6xf32>, <@mesh, [{}, {}]>>
func.func @two_dimensions(%x: tensor<12x6xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {"model"}]>}) -> tensor<12x6xf32> {
  %0 = epl.reshard %x to <@mesh, [{}, {}]> {epl.work = #fwd} : tensor<12x6xf32>
  return %0 : tensor<12x6xf32>
}

// Two axes move onto one dimension; the other dimension becomes whole.
// CHECK-LABEL: func.func @two_axes_on_one_dimension
// CHECK: epl.all_gather {{.*}} dim 1
// CHECK: tensor.extract_slice {{.*}} [2, 6] [1, 1] {{.*}} : tensor<6x6xf32> to tensor<2x6xf32>
// CHECK: epl.from_local {{.*}} : tensor<2x6xf32> -> <tensor<12x6xf32>, <@mesh, [{"data", "model"}, {}]>>
func.func @two_axes_on_one_dimension(%x: tensor<12x6xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {"model"}]>}) -> tensor<12x6xf32> {
  %0 = epl.reshard %x to <@mesh, [{"data", "model"}, {}]> {epl.work = #fwd} : tensor<12x6xf32>
  return %0 : tensor<12x6xf32>
}

// Only the minor axis is gathered when the major one stays.
// CHECK-LABEL: func.func @minor_axis
// CHECK: epl.all_gather {{.*}} dim 0 : <tensor<12xf32>, <@mesh, [{"data", "model"}]>> -> <tensor<12xf32>, <@mesh, [{"data"}]>>
// CHECK-NOT: extract_slice
func.func @minor_axis(%x: tensor<12xf32> {epl.sharding = #epl.sharding<@mesh, [{"data", "model"}]>}) -> tensor<12xf32> {
  %0 = epl.reshard %x to <@mesh, [{"data"}]> {epl.work = #fwd} : tensor<12xf32>
  return %0 : tensor<12xf32>
}

// No communication: every rank has its part already.
// CHECK-LABEL: func.func @whole_to_split
// CHECK: %[[AXIS:.*]] = epl.axis_index @mesh "model"
// CHECK: %[[EXTENT:.*]] = arith.constant 4 : index
// CHECK: %[[OFFSET:.*]] = arith.muli %[[AXIS]], %[[EXTENT]] : index
// CHECK: tensor.extract_slice %{{.*}}[0, %[[OFFSET]]] [2, 4] [1, 1] {epl.sharding = [#epl.sharding<@mesh, [{}, {"model"}]>], epl.work = #epl.work<@tg0, forward>} : tensor<2x12xf32> to tensor<2x4xf32>
// CHECK-NOT: epl.all
func.func @whole_to_split(%x: tensor<2x12xf32> {epl.sharding = #epl.sharding<@mesh, [{}, {}]>}) -> tensor<2x12xf32> {
  %0 = epl.reshard %x to <@mesh, [{}, {"model"}]> {epl.work = #fwd} : tensor<2x12xf32>
  return %0 : tensor<2x12xf32>
}

// The axis changes its dimension.
// CHECK-LABEL: func.func @moved_axis
// CHECK: epl.all_gather {{.*}} dim 0
// CHECK: tensor.extract_slice {{.*}} : tensor<4x6xf32> to tensor<4x3xf32>
func.func @moved_axis(%x: tensor<4x6xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {}]>}) -> tensor<4x6xf32> {
  %0 = epl.reshard %x to <@mesh, [{}, {"data"}]> {epl.work = #fwd} : tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// Sum, gather, slice.
// CHECK-LABEL: func.func @everything
// CHECK: epl.all_reduce {{.*}} -> <tensor<6x4xf32>, <@mesh, [{"model"}, {}]>>
// CHECK: epl.all_gather {{.*}} dim 0
// CHECK: tensor.extract_slice {{.*}} : tensor<6x4xf32> to tensor<6x2xf32>
func.func @everything(%x: tensor<6x4xf32> {epl.sharding = #epl.sharding<@mesh, [{"model"}, {}], partial = sum{"data"}>}) -> tensor<6x4xf32> {
  %0 = epl.reshard %x to <@mesh, [{}, {"data"}]> {epl.work = #fwd} : tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}

// A reshard to what the value has already is nothing.
// CHECK-LABEL: func.func @nothing
// CHECK-NEXT: epl.to_local
// CHECK-NEXT: epl.from_local
// CHECK-NEXT: return
func.func @nothing(%x: tensor<4xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}]>}) -> tensor<4xf32> {
  %0 = epl.reshard %x to <@mesh, [{"data"}]> {epl.work = #fwd} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// No slice begins in a tensor without elements.
// CHECK-LABEL: func.func @empty
// CHECK: tensor.empty() {{.*}} : tensor<2x0xf32>
// CHECK-NOT: tensor.extract_slice
func.func @empty(%x: tensor<4x0xf32> {epl.sharding = #epl.sharding<@mesh, [{}, {}]>}) -> tensor<4x0xf32> {
  %0 = epl.reshard %x to <@mesh, [{"data"}, {}]> {epl.work = #fwd} : tensor<4x0xf32>
  return %0 : tensor<4x0xf32>
}
