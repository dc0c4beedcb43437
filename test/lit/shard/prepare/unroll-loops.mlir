// RUN: epl-opt %s --epl-unroll-loops --verify-diagnostics | FileCheck %s

#fwd0 = #epl.work<@tg0, forward>
#fwd1 = #epl.work<@tg1, forward>
#bwd0 = #epl.work<@tg0, backward>
#bwd1 = #epl.work<@tg1, backward>
#apply = #epl.work<@tg1, apply>

epl.mesh @mesh0 axes ["data"=1]
epl.mesh @mesh1 axes ["data"=1] first 1 strides [1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh0 name("body")
epl.taskgraph @tg1 strategy(<replicate, 1>) on @mesh1

// Both meshes work in each iteration, there and back. What iterations stack goes straight to the iterations that read it, the
// last one first; numbers of iterations are constants; of the argument each iteration cuts its part.

// CHECK-LABEL: func.func public @both
// CHECK-NOT: epl.loop
// CHECK: %[[R0:.*]] = tensor.extract_slice %arg1[0, 0] [1, 8] [1, 1] {epl.work = #epl.work<@tg0, forward>}
// CHECK-NEXT: %[[P0:.*]] = tensor.collapse_shape %[[R0]] {{.*}}epl.work{{.*}} : tensor<1x8xf32> into tensor<8xf32>
// CHECK-NEXT: %[[C0:.*]] = arith.constant {epl.work = #epl.work<@tg0, forward>} dense<5.000000e+00> : tensor<8xf32>
// CHECK-NEXT: %[[A0:.*]] = arith.addf %arg0, %[[P0]] {epl.work = #epl.work<@tg0, forward>}
// CHECK-NEXT: %[[M0:.*]] = arith.mulf %[[A0]], %[[C0]]
// CHECK-NEXT: %[[B0:.*]] = math.sin %[[M0]] {epl.work = #epl.work<@tg1, forward>}
// CHECK-NEXT: tensor.extract_slice %arg1[1, 0]
// CHECK-NEXT: tensor.collapse_shape
// CHECK-NEXT: %[[C1:.*]] = arith.constant {{.*}}dense<7.000000e+00>
// CHECK-NEXT: %[[A1:.*]] = arith.addf %[[B0]]
// CHECK-NEXT: %[[M1:.*]] = arith.mulf %[[A1]], %[[C1]]
// CHECK-NEXT: %[[B1:.*]] = math.sin %[[M1]]
// CHECK-NEXT: %[[D1:.*]] = arith.mulf %[[B1]], %[[A1]] {epl.work = #epl.work<@tg1, backward>}
// CHECK-NEXT: %[[E1:.*]] = math.cos %[[D1]] {epl.work = #epl.work<@tg0, backward>}
// CHECK-NEXT: %[[D0:.*]] = arith.mulf %[[E1]], %[[A0]]
// CHECK-NEXT: %[[E0:.*]] = math.cos %[[D0]]
// CHECK-NEXT: %[[S0:.*]] = tensor.expand_shape %[[E0]] {{.*}} output_shape [1, 8]
// CHECK-NEXT: %[[S1:.*]] = tensor.expand_shape %[[E1]] {{.*}} output_shape [1, 8]
// CHECK-NEXT: %[[S:.*]] = epl.concatenate %[[S0]], %[[S1]] {{.*}}
// CHECK-NEXT: return %[[E0]], %[[S]]
func.func public @both(%x: tensor<8xf32>, %xs: tensor<2x8xf32>) -> (tensor<8xf32>, tensor<2x8xf32>) {
  %table = arith.constant {epl.work = #fwd0} dense<[[5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0], [7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0]]> : tensor<2x8xf32>
  // expected-remark@below {{the loop of 2 iterations is part of scope "body" and of task graph "tg1", a scope without a name: these have devices of their own, so it is unrolled}}
  %0 = epl.loop_carry <0, trip_count = 2> 0 %x {epl.work = #fwd0} : tensor<8xf32> -> tensor<8xf32>
  %1 = epl.loop_slice <0, trip_count = 2> %xs {epl.work = #fwd0} : tensor<2x8xf32> -> tensor<8xf32>
  %2 = epl.loop_slice <0, trip_count = 2> %table {epl.work = #fwd0} : tensor<2x8xf32> -> tensor<8xf32>
  // expected-note@below {{work of the first one is here}}
  %3 = arith.addf %0, %1 {epl.work = #fwd0} : tensor<8xf32>
  %4 = arith.mulf %3, %2 {epl.work = #fwd0} : tensor<8xf32>
  // expected-note@below {{work of the other one is here}}
  %5 = math.sin %4 {epl.work = #fwd1} : tensor<8xf32>
  %6 = epl.loop_last <0, trip_count = 2> 0 %5 {epl.work = #fwd1} : tensor<8xf32>
  %7 = epl.loop_stack <0, trip_count = 2> %3 {epl.work = #fwd0} : tensor<8xf32> -> tensor<2x8xf32>
  // expected-remark@below {{the loop of 2 iterations is part of task graph "tg1", a scope without a name and of scope "body"}}
  %8 = epl.loop_carry <1, trip_count = 2> 0 %6 {epl.work = #bwd1} : tensor<8xf32> -> tensor<8xf32>
  %9 = epl.loop_slice <1, trip_count = 2> reverse %7 {epl.work = #bwd1} : tensor<2x8xf32> -> tensor<8xf32>
  // expected-note@below {{work of the first one is here}}
  %10 = arith.mulf %8, %9 {epl.work = #bwd1} : tensor<8xf32>
  // expected-note@below {{work of the other one is here}}
  %11 = math.cos %10 {epl.work = #bwd0} : tensor<8xf32>
  %12 = epl.loop_last <1, trip_count = 2> 0 %11 {epl.work = #bwd0} : tensor<8xf32>
  %13 = epl.loop_stack <1, trip_count = 2> reverse %11 {epl.work = #bwd0} : tensor<8xf32> -> tensor<2x8xf32>
  return %12, %13 : tensor<8xf32>, tensor<2x8xf32>
}

// One mesh does all forward work; what applies gradients goes with what it reads. Carried values that become
// each other do so in every iteration of the loop that is unrolled.

// CHECK-LABEL: func.func public @swapped
// CHECK: epl.loop_carry <0, trip_count = 3>
// CHECK: epl.loop_last <0, trip_count = 3>
// CHECK: %[[S0:.*]] = math.sin %arg0
// CHECK-NEXT: %[[C0:.*]] = math.cos %[[L:.*]] {epl.work = #epl.work<@tg1
// CHECK-NEXT: %[[S1:.*]] = math.sin %[[C0]]
// CHECK-NEXT: %[[C1:.*]] = math.cos %[[S0]]
// CHECK-NEXT: %[[S2:.*]] = math.sin %[[C1]]
// CHECK-NEXT: %[[C2:.*]] = math.cos %[[S1]]
// CHECK-NEXT: return %[[C2]], %[[S2]]
func.func public @swapped(%x: tensor<f32>, %y: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %0 = epl.loop_carry <0, trip_count = 3> 0 %y {epl.work = #fwd0} : tensor<f32> -> tensor<f32>
  %1 = math.sin %0 {epl.work = #fwd0} : tensor<f32>
  %2 = math.cos %1 {epl.work = #apply} : tensor<f32>
  %3 = epl.loop_last <0, trip_count = 3> 0 %2 {epl.work = #apply} : tensor<f32>
  // expected-remark@below {{the loop of 3 iterations}}
  %4 = epl.loop_carry <1, trip_count = 3> 0 %x {epl.work = #fwd0} : tensor<f32> -> tensor<f32>
  %5 = epl.loop_carry <1, trip_count = 3> 1 %3 {epl.work = #fwd0} : tensor<f32> -> tensor<f32>
  // expected-note@below {{work of the first one is here}}
  %6 = math.sin %4 {epl.work = #fwd0} : tensor<f32>
  // expected-note@below {{work of the other one is here}}
  %7 = math.cos %5 {epl.work = #fwd1} : tensor<f32>
  %8 = epl.loop_last <1, trip_count = 3> 0 %7 {epl.work = #fwd0} : tensor<f32>
  %9 = epl.loop_last <1, trip_count = 3> 1 %6 {epl.work = #fwd0} : tensor<f32>
  return %8, %9 : tensor<f32>, tensor<f32>
}
