// RUN: epl-opt %s --epl-seed-batch --epl-seed-iterations --verify-diagnostics | FileCheck %s
// RUN: epl-opt %s --epl-seed-batch --epl-seed-iterations --epl-propagate --epl-place --epl-verify-sharded 2>/dev/null | FileCheck %s --check-prefix=PLACED

#forward = #epl.work<@tg0, forward>

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// The batch in four iterations: of each, every device has a part of the samples.

// CHECK-LABEL: func.func @iterations
// CHECK: %[[X:.*]] = tensor.expand_shape
// CHECK-NEXT: %[[C:.*]] = epl.constrain %[[X]] to <[{}, {"data"}, {}]> {epl.work = #epl.work<@tg0, forward>}
// CHECK-NEXT: epl.loop_slice <0, trip_count = 4> %[[C]]
// PLACED-LABEL: func.func @iterations
// PLACED: %[[X:.*]] = tensor.expand_shape {{.*}}epl.sharding<@mesh, [{"data"}, {}, {}]>
// PLACED: %[[C:.*]] = epl.reshard %[[X]] to <@mesh, [{}, {"data"}, {}]>
// PLACED: epl.loop_slice <0, trip_count = 4> %[[C]] {{.*}}epl.sharding<@mesh, [{"data"}, {}]>
func.func @iterations(%x: tensor<8x3xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<4x2x3xf32> {
  %0 = tensor.expand_shape %x [[0, 1], [2]] output_shape [4, 2, 3] {epl.work = #forward} : tensor<8x3xf32> into tensor<4x2x3xf32>
  %1 = epl.loop_slice <0, trip_count = 4> %0 {epl.work = #forward} : tensor<4x2x3xf32> -> tensor<2x3xf32>
  %2 = math.sin %1 {epl.work = #forward} : tensor<2x3xf32>
  %3 = epl.loop_stack <0, trip_count = 4> %2 {epl.work = #forward} : tensor<2x3xf32> -> tensor<4x2x3xf32>
  return %3 : tensor<4x2x3xf32>
}

// An unrolled loop takes its iterations by slices, of what is made of the reshape.

// CHECK-LABEL: func.func @unrolled
// CHECK: tensor.expand_shape
// CHECK-NEXT: epl.constrain {{.*}} to <[{}, {"data"}, {}]>
func.func @unrolled(%x: tensor<4x3xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<1x2x3xf32> {
  %0 = tensor.expand_shape %x [[0, 1], [2]] output_shape [2, 2, 3] {epl.work = #forward} : tensor<4x3xf32> into tensor<2x2x3xf32>
  %1 = math.sin %0 {epl.work = #forward} : tensor<2x2x3xf32>
  %2 = tensor.extract_slice %1[1, 0, 0] [1, 2, 3] [1, 1, 1] {epl.work = #forward} : tensor<2x2x3xf32> to tensor<1x2x3xf32>
  return %2 : tensor<1x2x3xf32>
}

// CHECK-LABEL: func.func @odd
// CHECK-NOT: epl.constrain
func.func @odd(%x: tensor<12x3xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<4x3x3xf32> {
  // expected-remark@below {{each of 4 iterations takes 3 samples, which 2 devices do not divide: each computes all of them}}
  %0 = tensor.expand_shape %x [[0, 1], [2]] output_shape [4, 3, 3] {epl.work = #forward} : tensor<12x3xf32> into tensor<4x3x3xf32>
  %1 = epl.loop_slice <0, trip_count = 4> %0 {epl.work = #forward} : tensor<4x3x3xf32> -> tensor<3x3xf32>
  %2 = math.sin %1 {epl.work = #forward} : tensor<3x3xf32>
  %3 = epl.loop_stack <0, trip_count = 4> %2 {epl.work = #forward} : tensor<3x3xf32> -> tensor<4x3x3xf32>
  return %3 : tensor<4x3x3xf32>
}

// Heads of a sample that no iteration takes are no iterations; and what the user says of them holds.

// CHECK-LABEL: func.func @whole
// CHECK: epl.constrain {{.*}} to <[{"data"}, {}, {}]>
// CHECK-NOT: epl.constrain
func.func @whole(%x: tensor<8x4xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> (tensor<8x2x2xf32>, tensor<2x4xf32>) {
  %0 = tensor.expand_shape %x [[0], [1, 2]] output_shape [8, 2, 2] {epl.work = #forward} : tensor<8x4xf32> into tensor<8x2x2xf32>
  %1 = tensor.expand_shape %x [[0, 1], [2]] output_shape [4, 2, 4] {epl.work = #forward} : tensor<8x4xf32> into tensor<4x2x4xf32>
  %2 = epl.constrain %1 to <[{"data"}, {}, {}]> {epl.work = #forward} : tensor<4x2x4xf32>
  %3 = tensor.extract_slice %2[1, 0, 0] [1, 2, 4] [1, 1, 1] {epl.work = #forward} : tensor<4x2x4xf32> to tensor<2x4xf32>
  return %0, %3 : tensor<8x2x2xf32>, tensor<2x4xf32>
}

// CHECK-LABEL: func.func @single
func.func @single(%x: tensor<4x3xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "x"}) -> tensor<4x3xf32> {
  // expected-remark@below {{the loop of 4 iterations takes the samples of argument "x" one by one: every device computes all of them; map them with "jax.vmap", or several in an iteration ("batch_size" of "jax.lax.map")}}
  %1 = epl.loop_slice <0, trip_count = 4> %x {epl.work = #forward} : tensor<4x3xf32> -> tensor<3xf32>
  %2 = math.sin %1 {epl.work = #forward} : tensor<3xf32>
  %3 = epl.loop_stack <0, trip_count = 4> %2 {epl.work = #forward} : tensor<3xf32> -> tensor<4x3xf32>
  return %3 : tensor<4x3xf32>
}
