// RUN: epl-opt %s -epl-localize -epl-verify-local | FileCheck %s

// That the steps of a reshard are right for every pair of shardings is test/unit/shard/analysis/PlanReshardTest.cpp;
// here is what the steps become.

#fwd = #epl.work<@tg0, forward>

epl.mesh @mesh axes ["data"=2, "model"=3]
epl.mesh @square axes ["x"=2, "y"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// CHECK-LABEL: func.func @partial_to_whole
// CHECK: %[[P:.*]] = epl.from_local {{.*}} : tensor<4xf32> -> <tensor<4xf32>, <@mesh, [{}], partial = min{"data", "model"}>>
// CHECK: epl.all_reduce %[[P]]{{.*}} : !epl.dist<tensor<4xf32>, <@mesh, [{}], partial = min{"data", "model"}>> -> !epl.dist<tensor<4xf32>, <@mesh, [{}]>>
func.func @partial_to_whole(%x: tensor<4xf32> {epl.sharding = #epl.sharding<@mesh, [{}], partial = min{"data", "model"}>}) -> tensor<4xf32> {
  %0 = epl.reshard %x to <@mesh, [{}]> {epl.work = #fwd} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @split_to_whole
// CHECK: epl.all_gather {{.*}} dim 0{{.*}} : !epl.dist<tensor<12x4xf32>, <@mesh, [{"data"}, {}]>> -> !epl.dist<tensor<12x4xf32>, <@mesh, [{}, {}]>>
func.func @split_to_whole(%x: tensor<12x4xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {}]>}) -> tensor<12x4xf32> {
  %0 = epl.reshard %x to <@mesh, [{}, {}]> {epl.work = #fwd} : tensor<12x4xf32>
  return %0 : tensor<12x4xf32>
}

// Both dimensions are gathered, one after the other.
// CHECK-LABEL: func.func @two_dimensions
// CHECK: epl.all_gather {{.*}} dim 0{{.*}} : !epl.dist<tensor<12x6xf32>, <@mesh, [{"data"}, {"model"}]>> -> !epl.dist<tensor<12x6xf32>, <@mesh, [{}, {"model"}]>>
// CHECK: epl.all_gather {{.*}} dim 1{{.*}} : !epl.dist<tensor<12x6xf32>, <@mesh, [{}, {"model"}]>> -> !epl.dist<tensor<12x6xf32>, <@mesh, [{}, {}]>>
func.func @two_dimensions(%x: tensor<12x6xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {"model"}]>}) -> tensor<12x6xf32> {
  %0 = epl.reshard %x to <@mesh, [{}, {}]> {epl.work = #fwd} : tensor<12x6xf32>
  return %0 : tensor<12x6xf32>
}

// Two axes meet on one dimension; the other dimension becomes whole.
// CHECK-LABEL: func.func @two_axes_on_one_dimension
// CHECK: epl.all_to_all {{.*}} : <tensor<12x6xf32>, <@mesh, [{"data"}, {"model"}]>> -> <tensor<12x6xf32>, <@mesh, [{"data", "model"}, {}]>>
// CHECK-NOT: tensor.extract_slice
func.func @two_axes_on_one_dimension(%x: tensor<12x6xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {"model"}]>}) -> tensor<12x6xf32> {
  %0 = epl.reshard %x to <@mesh, [{"data", "model"}, {}]> {epl.work = #fwd} : tensor<12x6xf32>
  return %0 : tensor<12x6xf32>
}

// Only the minor axis is gathered when the major one stays.
// CHECK-LABEL: func.func @minor_axis
// CHECK: epl.all_gather {{.*}} dim 0{{.*}} : !epl.dist<tensor<12xf32>, <@mesh, [{"data", "model"}]>> -> !epl.dist<tensor<12xf32>, <@mesh, [{"data"}]>>
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
// CHECK: tensor.extract_slice %{{.*}}[0, %[[OFFSET]]] [2, 4] [1, 1] {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}, {"model"}]>], epl.work = #epl.work<@tg0, forward>} : tensor<2x12xf32> to tensor<2x4xf32>
// CHECK-NOT: epl.all
func.func @whole_to_split(%x: tensor<2x12xf32> {epl.sharding = #epl.sharding<@mesh, [{}, {}]>}) -> tensor<2x12xf32> {
  %0 = epl.reshard %x to <@mesh, [{}, {"model"}]> {epl.work = #fwd} : tensor<2x12xf32>
  return %0 : tensor<2x12xf32>
}

// The axis changes its dimension.
// CHECK-LABEL: func.func @moved_axis
// CHECK: epl.all_to_all {{.*}} : <tensor<4x6xf32>, <@mesh, [{"data"}, {}]>> -> <tensor<4x6xf32>, <@mesh, [{}, {"data"}]>>
// CHECK-NOT: tensor.extract_slice
func.func @moved_axis(%x: tensor<4x6xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {}]>}) -> tensor<4x6xf32> {
  %0 = epl.reshard %x to <@mesh, [{}, {"data"}]> {epl.work = #fwd} : tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// Each part is the whole part of another member.
// CHECK-LABEL: func.func @handed_round
// CHECK: epl.permute {{.*}} : <tensor<4x4xf32>, <@square, [{"x"}, {"y"}]>> -> <tensor<4x4xf32>, <@square, [{"y"}, {"x"}]>>
func.func @handed_round(%x: tensor<4x4xf32> {epl.sharding = #epl.sharding<@square, [{"x"}, {"y"}]>}) -> tensor<4x4xf32> {
  %0 = epl.reshard %x to <@square, [{"y"}, {"x"}]> {epl.work = #fwd} : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// What is small is sliced, then moved: a sum is completed straight into parts, sliced along the other axis, too.
// CHECK-LABEL: func.func @scattered
// CHECK: epl.reduce_scatter {{.*}} : !epl.dist<tensor<6x6xf32>, <@mesh, [{}, {}], partial = sum{"data"}>> -> !epl.dist<tensor<6x6xf32>, <@mesh, [{"data"}, {"model"}]>>
// CHECK-NOT: tensor.extract_slice
func.func @scattered(%x: tensor<6x6xf32> {epl.sharding = #epl.sharding<@mesh, [{}, {}], partial = sum{"data"}>}) -> tensor<6x6xf32> {
  %0 = epl.reshard %x to <@mesh, [{"data"}, {"model"}]> {epl.work = #fwd} : tensor<6x6xf32>
  return %0 : tensor<6x6xf32>
}

// Sum, gather: of the smallest parts.
// CHECK-LABEL: func.func @everything
// CHECK: epl.reduce_scatter {{.*}} -> !epl.dist<tensor<6x4xf32>, <@mesh, [{"model"}, {"data"}]>>
// CHECK: epl.all_gather {{.*}} dim 0 {{.*}} -> !epl.dist<tensor<6x4xf32>, <@mesh, [{}, {"data"}]>>
// CHECK-NOT: tensor.extract_slice
func.func @everything(%x: tensor<6x4xf32> {epl.sharding = #epl.sharding<@mesh, [{"model"}, {}], partial = sum{"data"}>}) -> tensor<6x4xf32> {
  %0 = epl.reshard %x to <@mesh, [{}, {"data"}]> {epl.work = #fwd} : tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}

// Only one of two sums is completed.
// CHECK-LABEL: func.func @one_of_two
// CHECK: epl.all_reduce {{.*}} partial = sum{"data", "model"}>> -> !epl.dist<tensor<4xf32>, <@mesh, [{}], partial = sum{"data"}>>
func.func @one_of_two(%x: tensor<4xf32> {epl.sharding = #epl.sharding<@mesh, [{}], partial = sum{"data", "model"}>}) -> tensor<4xf32> {
  %0 = epl.reshard %x to <@mesh, [{}], partial = sum{"data"}> {epl.work = #fwd} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// The first members keep the value, the others hold what changes no maximum.
// CHECK-LABEL: func.func @masked
// CHECK-DAG: %[[DATA:.*]] = epl.axis_index @mesh "data"
// CHECK-DAG: %[[MODEL:.*]] = epl.axis_index @mesh "model"
// CHECK: linalg.generic {{.*}} attrs = {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}], partial = max{"data", "model"}>], epl.work = #epl.work<@tg0, forward>}
// CHECK: %[[NEUTRAL:.*]] = arith.constant -2147483648 : i32
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[DATA]]
// CHECK: %[[KEPT:.*]] = arith.select %[[FIRST]], %{{.*}}, %[[NEUTRAL]]
// CHECK: %[[BOTH:.*]] = arith.cmpi eq, %[[MODEL]]
// CHECK: %[[RESULT:.*]] = arith.select %[[BOTH]], %[[KEPT]], %[[NEUTRAL]]
// CHECK: linalg.yield %[[RESULT]]
func.func @masked(%x: tensor<4xi32> {epl.sharding = #epl.sharding<@mesh, [{}]>}) -> tensor<4xi32> {
  %0 = epl.reshard %x to <@mesh, [{}], partial = max{"data", "model"}> {epl.work = #fwd} : tensor<4xi32>
  return %0 : tensor<4xi32>
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
