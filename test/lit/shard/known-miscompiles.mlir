// RUN: epl-opt %s -split-input-file -epl-propagate -epl-place -epl-verify-sharded -epl-localize -epl-verify-local \
// RUN:   | FileCheck %s --implicit-check-not=scf.if --implicit-check-not=epl.all_

// Programs that MLIR 22's `shard` dialect crashes on, rejects or miscompiles silently, from the shardings of the
// arguments to local shapes. Extents that an axis does not divide are in seed-batch_invalid.mlir and
// propagate_invalid.mlir.

epl.mesh @mesh axes ["data"=2]

#rows = #epl.sharding<@mesh, [{"data"}, {}]>
#columns = #epl.sharding<@mesh, [{}, {"data"}]>
#whole = #epl.sharding<@mesh, [{}, {}]>

// Two contractions, column- then row-sharded: one sum at the end.
// CHECK-LABEL: func.func @megatron
func.func @megatron(%x: tensor<8x4xf32> {epl.sharding = #whole}, %w1: tensor<4x6xf32> {epl.sharding = #columns},
                    %w2: tensor<6x4xf32> {epl.sharding = #rows}) -> tensor<8x4xf32> {
  %z1 = arith.constant dense<0.0> : tensor<8x6xf32>
  %z2 = arith.constant dense<0.0> : tensor<8x4xf32>
  // CHECK: linalg.matmul {{.*}} ins(%{{.*}} : tensor<8x4xf32>, tensor<4x3xf32>) outs(%{{.*}} : tensor<8x3xf32>)
  %0 = linalg.matmul ins(%x, %w1 : tensor<8x4xf32>, tensor<4x6xf32>) outs(%z1 : tensor<8x6xf32>) -> tensor<8x6xf32>
  // CHECK: arith.maximumf {{.*}} : tensor<8x3xf32>
  %1 = arith.maximumf %0, %z1 : tensor<8x6xf32>
  // CHECK: linalg.matmul {{.*}} ins(%{{.*}} : tensor<8x3xf32>, tensor<3x4xf32>) outs(%{{.*}} : tensor<8x4xf32>)
  // CHECK: epl.all_reduce %{{.*}} partial = sum{"data"}
  %2 = linalg.matmul ins(%1, %w2 : tensor<8x6xf32>, tensor<6x4xf32>) outs(%z2 : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

// The sum of the first result and the maximum of the second.
// CHECK-LABEL: func.func @sum_and_max
func.func @sum_and_max(%x: tensor<8x4xf32> {epl.sharding = #rows}, %m: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %z = arith.constant dense<0.0> : tensor<4xf32>
  // CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<4x4xf32>)
  // CHECK-DAG: epl.all_reduce %{{.*}} partial = max{"data"}
  // CHECK-DAG: epl.all_reduce %{{.*}} partial = sum{"data"}
  %0:2 = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>],
      iterator_types = ["reduction", "parallel"]} ins(%x : tensor<8x4xf32>) outs(%z, %m : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: f32, %acc: f32, %max: f32):
    %1 = arith.addf %acc, %a : f32
    %2 = arith.maximumf %max, %a : f32
    linalg.yield %1, %2 : f32, f32
  } -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}

// A position counts from the beginning of the part.
// CHECK-LABEL: func.func @index
func.func @index(%x: tensor<8x4xi32> {epl.sharding = #rows}) -> tensor<8x4xi32> {
  %e = tensor.empty() : tensor<8x4xi32>
  // CHECK: %[[C:.*]] = epl.axis_index @mesh "data"
  // CHECK: linalg.generic
  // CHECK: %[[I:.*]] = linalg.index 0
  // CHECK: %[[OFFSET:.*]] = arith.muli %[[C]], %{{.*}}
  // CHECK: arith.addi %{{.*}}, %{{.*}} : index
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x4xi32>) outs(%e : tensor<8x4xi32>) {
  ^bb0(%a: i32, %out: i32):
    %1 = linalg.index 0 : index
    %2 = arith.index_cast %1 : index to i32
    %3 = arith.addi %a, %2 : i32
    linalg.yield %3 : i32
  } -> tensor<8x4xi32>
  return %0 : tensor<8x4xi32>
}

// Operands that disagree: the second is brought to where the first is.
// CHECK-LABEL: func.func @conflict
func.func @conflict(%x: tensor<8x4xf32> {epl.sharding = #rows}, %y: tensor<8x4xf32> {epl.sharding = #columns}) -> tensor<8x4xf32> {
  // CHECK: epl.all_to_all
  // CHECK: arith.addf {{.*}} : tensor<4x4xf32>
  %0 = arith.addf %x, %y : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// acc - (-x) is no reduction that is known: computed whole.
// CHECK-LABEL: func.func @unmatched
func.func @unmatched(%x: tensor<8x4xf32> {epl.sharding = #rows}, %init: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: epl.all_gather %{{.*}} dim 0
  // CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<8x4xf32>)
  %0 = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>],
      iterator_types = ["reduction", "parallel"]} ins(%x : tensor<8x4xf32>) outs(%init : tensor<4xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %1 = arith.negf %a : f32
    %2 = arith.subf %acc, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// A convolution on its batch.
// CHECK-LABEL: func.func @convolution
func.func @convolution(%x: tensor<4x8x8x3xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {}, {}, {}]>},
                       %k: tensor<3x3x3x4xf32>) -> tensor<4x6x6x4xf32> {
  %z = arith.constant dense<0.0> : tensor<4x6x6x4xf32>
  // CHECK: linalg.conv_2d_nhwc_hwcf {{.*}} ins(%{{.*}} : tensor<2x8x8x3xf32>, tensor<3x3x3x4xf32>) outs(%{{.*}} : tensor<2x6x6x4xf32>)
  %0 = linalg.conv_2d_nhwc_hwcf ins(%x, %k : tensor<4x8x8x3xf32>, tensor<3x3x3x4xf32>)
      outs(%z : tensor<4x6x6x4xf32>) -> tensor<4x6x6x4xf32>
  return %0 : tensor<4x6x6x4xf32>
}

// Reshapes, slices, pads and joins of other dimensions.
// CHECK-LABEL: func.func @tensor_ops
func.func @tensor_ops(%x: tensor<8x4xf32> {epl.sharding = #rows}) -> (tensor<8x5xf32>, tensor<32xf32>) {
  %f0 = arith.constant 0.0 : f32
  // CHECK: tensor.expand_shape {{.*}} : tensor<4x4xf32> into tensor<4x2x2xf32>
  %0 = tensor.expand_shape %x [[0], [1, 2]] output_shape [8, 2, 2] : tensor<8x4xf32> into tensor<8x2x2xf32>
  // CHECK: tensor.collapse_shape {{.*}} : tensor<4x2x2xf32> into tensor<16xf32>
  %1 = tensor.collapse_shape %0 [[0, 1, 2]] : tensor<8x2x2xf32> into tensor<32xf32>
  // CHECK: tensor.extract_slice {{.*}} : tensor<4x4xf32> to tensor<4x2xf32>
  %2 = tensor.extract_slice %x[0, 1] [8, 2] [1, 1] : tensor<8x4xf32> to tensor<8x2xf32>
  // CHECK: epl.concatenate {{.*}} : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
  %3 = epl.concatenate %2, %2 dim 1 : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x4xf32>
  // CHECK: tensor.pad
  // CHECK: tensor<4x4xf32> to tensor<4x5xf32>
  %4 = tensor.pad %3 low[0, 1] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %f0 : f32
  } : tensor<8x4xf32> to tensor<8x5xf32>
  return %4, %1 : tensor<8x5xf32>, tensor<32xf32>
}

// Ops without a rule run on whole tensors, those element by element on parts.
// CHECK-LABEL: func.func @other_ops
func.func @other_ops(%x: tensor<8x4xf32> {epl.sharding = #rows}, %e: tensor<8x4xf32>, %n: index) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) {
  // CHECK: epl.all_gather %{{.*}} dim 0
  // CHECK: scf.for {{.*}} -> (tensor<8x4xf32>)
  %0 = scf.for %i = %n to %n step %n iter_args(%v = %x) -> tensor<8x4xf32> {
    scf.yield %v : tensor<8x4xf32>
  }
  // CHECK: arith.addf {{.*}} : tensor<4x4xf32>
  %1 = arith.addf %x, %x : tensor<8x4xf32>
  // CHECK: math.exp {{.*}} : tensor<4x4xf32>
  %2 = math.exp %1 : tensor<8x4xf32>
  // CHECK: linalg.softmax {{.*}} ins(%{{.*}} : tensor<8x4xf32>)
  %3 = linalg.softmax dimension(1) ins(%x : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0, %2, %3 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// Two axes on two dimensions, to none and to one dimension.

epl.mesh @mesh axes ["x"=2, "y"=2]

#both = #epl.sharding<@mesh, [{"x"}, {"y"}]>

// CHECK-LABEL: func.func @gather_both
// CHECK-SAME: -> (!epl.dist<tensor<8x4xf32>, <@mesh, [{}, {}]>>
func.func @gather_both(%a: tensor<8x4xf32> {epl.sharding = #both}, %s: tensor<8x4xf32> {epl.sharding = #epl.sharding<@mesh, [{}, {}]>})
    -> (tensor<8x4xf32> {epl.updates = 1 : i64}) {
  // CHECK-DAG: epl.all_gather %{{.*}} dim 0
  // CHECK-DAG: epl.all_gather %{{.*}} dim 1
  return %a : tensor<8x4xf32>
}

// CHECK-LABEL: func.func @move_y
// CHECK-SAME: -> (!epl.dist<tensor<8x4xf32>, <@mesh, [{"x", "y"}, {}]>>
func.func @move_y(%a: tensor<8x4xf32> {epl.sharding = #both}, %s: tensor<8x4xf32> {epl.sharding = #epl.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<8x4xf32> {epl.updates = 1 : i64}) {
  // CHECK: epl.all_to_all
  return %a : tensor<8x4xf32>
}
