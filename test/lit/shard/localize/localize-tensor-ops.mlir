// RUN: epl-opt %s -epl-localize -epl-verify-local | FileCheck %s

// Ops that mention extents or positions. Most functions below return what they make, so that the types at the
// boundary show the global shape and the op the local one.

#d = #epl.sharding<@mesh, [{"data"}]>
#rows = #epl.sharding<@mesh, [{"data"}, {}]>
#cols = #epl.sharding<@mesh, [{}, {"data"}]>
#major = #epl.sharding<@mesh, [{"data"}, {}, {}]>
#mid = #epl.sharding<@mesh, [{}, {"data"}, {}]>
#whole = #epl.sharding<@mesh, [{}]>
#fwd = #epl.work<@tg0, forward>

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// CHECK-LABEL: func.func @empty
// CHECK: tensor.empty() {{.*}} : tensor<4x3xf32>
func.func @empty() -> tensor<8x3xf32> {
  %0 = tensor.empty() {epl.work = #fwd, epl.sharding = [#rows]} : tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}

// CHECK-LABEL: func.func @splat
// CHECK: arith.constant {{.*}} dense<1.000000e+00> : tensor<4xf32>
func.func @splat() -> tensor<8xf32> {
  %0 = arith.constant {epl.work = #fwd, epl.sharding = [#d]} dense<1.0> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func @constant_whole
// CHECK: arith.constant {{.*}} dense<[1, 2, 3, 4]> : tensor<4xi32>
// CHECK-NOT: extract_slice
func.func @constant_whole() -> tensor<4xi32> {
  %0 = arith.constant {epl.work = #fwd, epl.sharding = [#whole]} dense<[1, 2, 3, 4]> : tensor<4xi32>
  return %0 : tensor<4xi32>
}

// CHECK-LABEL: func.func @constant_split
// CHECK: %[[AXIS:.*]] = epl.axis_index @mesh "data"
// CHECK: %[[ALL:.*]] = arith.constant {{.*}} dense<[1, 2, 3, 4]> : tensor<4xi32>
// CHECK: %[[EXTENT:.*]] = arith.constant 2 : index
// CHECK: %[[OFFSET:.*]] = arith.muli %[[AXIS]], %[[EXTENT]] : index
// CHECK: tensor.extract_slice %[[ALL]][%[[OFFSET]]] [2] [1] {{.*}} : tensor<4xi32> to tensor<2xi32>
func.func @constant_split() -> tensor<4xi32> {
  %0 = arith.constant {epl.work = #fwd, epl.sharding = [#d]} dense<[1, 2, 3, 4]> : tensor<4xi32>
  return %0 : tensor<4xi32>
}

// CHECK-LABEL: func.func @expand
// CHECK: tensor.expand_shape {{.*}} output_shape [4, 2, 3] {{.*}} : tensor<8x3xf32> into tensor<4x2x3xf32>
func.func @expand(%x: tensor<16x3xf32> {epl.sharding = #rows}) -> tensor<8x2x3xf32> {
  %0 = tensor.expand_shape %x [[0, 1], [2]] output_shape [8, 2, 3] {epl.work = #fwd, epl.sharding = [#major]}
      : tensor<16x3xf32> into tensor<8x2x3xf32>
  return %0 : tensor<8x2x3xf32>
}

// The dimension of extent 1 before the split one stays.
// CHECK-LABEL: func.func @expand_unit
// CHECK: tensor.expand_shape {{.*}} output_shape [1, 8, 3] {{.*}} : tensor<8x3xf32> into tensor<1x8x3xf32>
func.func @expand_unit(%x: tensor<16x3xf32> {epl.sharding = #rows}) -> tensor<1x16x3xf32> {
  %0 = tensor.expand_shape %x [[0, 1], [2]] output_shape [1, 16, 3] {epl.work = #fwd, epl.sharding = [#mid]}
      : tensor<16x3xf32> into tensor<1x16x3xf32>
  return %0 : tensor<1x16x3xf32>
}

// CHECK-LABEL: func.func @collapse
// CHECK: tensor.collapse_shape {{.*}} : tensor<4x2x3xf32> into tensor<8x3xf32>
func.func @collapse(%x: tensor<8x2x3xf32> {epl.sharding = #major}) -> tensor<16x3xf32> {
  %0 = tensor.collapse_shape %x [[0, 1], [2]] {epl.work = #fwd, epl.sharding = [#rows]}
      : tensor<8x2x3xf32> into tensor<16x3xf32>
  return %0 : tensor<16x3xf32>
}

// CHECK-LABEL: func.func @extract_slice
// CHECK: tensor.extract_slice {{.*}}[0, 2] [4, 3] [1, 1] {{.*}} : tensor<4x8xf32> to tensor<4x3xf32>
func.func @extract_slice(%x: tensor<8x8xf32> {epl.sharding = #rows}) -> tensor<8x3xf32> {
  %0 = tensor.extract_slice %x[0, 2] [8, 3] [1, 1] {epl.work = #fwd, epl.sharding = [#rows]}
      : tensor<8x8xf32> to tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}

// CHECK-LABEL: func.func @extract_slice_dropping
// CHECK: tensor.extract_slice {{.*}}[0, 2] [4, 1] [1, 1] {{.*}} : tensor<4x8xf32> to tensor<4xf32>
func.func @extract_slice_dropping(%x: tensor<8x8xf32> {epl.sharding = #rows}) -> tensor<8xf32> {
  %0 = tensor.extract_slice %x[0, 2] [8, 1] [1, 1] {epl.work = #fwd, epl.sharding = [#d]}
      : tensor<8x8xf32> to tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func @insert_slice
// CHECK: tensor.insert_slice {{.*}}[0, 2] [4, 3] [1, 1] {{.*}} : tensor<4x3xf32> into tensor<4x8xf32>
func.func @insert_slice(%s: tensor<8x3xf32> {epl.sharding = #rows}, %x: tensor<8x8xf32> {epl.sharding = #rows}) -> tensor<8x8xf32> {
  %0 = tensor.insert_slice %s into %x[0, 2] [8, 3] [1, 1] {epl.work = #fwd, epl.sharding = [#rows]}
      : tensor<8x3xf32> into tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @pad
// CHECK: tensor.pad {{.*}} low[0, 1] high[0, 2]
// CHECK: : tensor<4x3xf32> to tensor<4x6xf32>
func.func @pad(%x: tensor<8x3xf32> {epl.sharding = #rows}) -> tensor<8x6xf32> {
  %zero = arith.constant {epl.work = #fwd} 0.0 : f32
  %0 = tensor.pad %x low[0, 1] high[0, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } {epl.work = #fwd, epl.sharding = [#rows]} : tensor<8x3xf32> to tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}

// CHECK-LABEL: func.func @concatenate
// CHECK: epl.concatenate {{.*}} dim 1 {{.*}} : (tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<4x5xf32>
func.func @concatenate(%a: tensor<8x2xf32> {epl.sharding = #rows}, %b: tensor<8x3xf32> {epl.sharding = #rows}) -> tensor<8x5xf32> {
  %0 = epl.concatenate %a, %b dim 1 {epl.work = #fwd, epl.sharding = [#rows]}
      : (tensor<8x2xf32>, tensor<8x3xf32>) -> tensor<8x5xf32>
  return %0 : tensor<8x5xf32>
}

// Element by element on whole tensors.
// CHECK-LABEL: func.func @elementwise
// CHECK: arith.addf {{.*}} : tensor<4x4xf32>
// CHECK: math.exp {{.*}} : tensor<4x4xf32>
// CHECK: tensor.cast {{.*}} : tensor<4x4xf32> to tensor<4x4xf32>
func.func @elementwise(%x: tensor<4x8xf32> {epl.sharding = #cols}) -> tensor<4x8xf32> {
  %0 = arith.addf %x, %x {epl.work = #fwd, epl.sharding = [#cols]} : tensor<4x8xf32>
  %1 = math.exp %0 {epl.work = #fwd, epl.sharding = [#cols]} : tensor<4x8xf32>
  %2 = tensor.cast %1 {epl.work = #fwd, epl.sharding = [#cols]} : tensor<4x8xf32> to tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
