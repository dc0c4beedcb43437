// RUN: epl-opt %s | epl-opt | FileCheck %s
// RUN: epl-opt %s --mlir-print-op-generic | epl-opt | FileCheck %s

epl.mesh @mesh axes ["data"=2]

// CHECK-LABEL: func.func @tensors
func.func @tensors(%xs: tensor<3x8x4xf32>, %x: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<3x8x4xf32>) {
  // CHECK: %[[H:.*]] = epl.loop_carry <0, trip_count = 3> 0 %{{.*}} : tensor<8x4xf32> -> tensor<8x4xf32>
  %h = epl.loop_carry <0, trip_count = 3> 0 %x : tensor<8x4xf32> -> tensor<8x4xf32>
  // CHECK: %[[S:.*]] = epl.loop_slice <0, trip_count = 3> reverse %{{.*}} : tensor<3x8x4xf32> -> tensor<8x4xf32>
  %s = epl.loop_slice <0, trip_count = 3> reverse %xs : tensor<3x8x4xf32> -> tensor<8x4xf32>
  // CHECK: epl.loop_last <0, trip_count = 3> 0 %[[S]] : tensor<8x4xf32>
  %y = epl.loop_last <0, trip_count = 3> 0 %s : tensor<8x4xf32>
  // CHECK: epl.loop_stack <0, trip_count = 3> %[[H]] : tensor<8x4xf32> -> tensor<3x8x4xf32>
  %ys = epl.loop_stack <0, trip_count = 3> %h : tensor<8x4xf32> -> tensor<3x8x4xf32>
  return %y, %ys : tensor<8x4xf32>, tensor<3x8x4xf32>
}

// A pending sum begins as zero.
// CHECK-LABEL: func.func @distributed
func.func @distributed(%z: !epl.dist<tensor<4xf32>, <@mesh, [{}]>>) {
  // CHECK: epl.loop_carry {{.*}} : !epl.dist<tensor<4xf32>, <@mesh, [{}]>> -> !epl.dist<tensor<4xf32>, <@mesh, [{}], partial = sum{"data"}>>
  %h = epl.loop_carry <0, trip_count = 3> 0 %z : !epl.dist<tensor<4xf32>, <@mesh, [{}]>> -> !epl.dist<tensor<4xf32>, <@mesh, [{}], partial = sum{"data"}>>
  %y = epl.loop_last <0, trip_count = 3> 0 %h : !epl.dist<tensor<4xf32>, <@mesh, [{}], partial = sum{"data"}>>
  return
}

// A loop in one over micro-batches: what leaves it is a value of an iteration of the outer one.
// CHECK-LABEL: func.func @nested
func.func @nested(%xs: tensor<2x3x4xf32>, %h: tensor<4xf32>) -> tensor<2x4xf32> {
  %x = epl.loop_slice <0, trip_count = 2, micro_batches = true> %xs : tensor<2x3x4xf32> -> tensor<3x4xf32>
  // CHECK: epl.loop_carry <1, trip_count = 3 in <0, trip_count = 2, micro_batches = true>> 0 %{{.*}} : tensor<4xf32> -> tensor<4xf32>
  %c = epl.loop_carry <1, trip_count = 3 in <0, trip_count = 2, micro_batches = true>> 0 %h : tensor<4xf32> -> tensor<4xf32>
  // CHECK: epl.loop_slice <1, trip_count = 3 in <0, trip_count = 2, micro_batches = true>> reverse %{{.*}} : tensor<3x4xf32> -> tensor<4xf32>
  %s = epl.loop_slice <1, trip_count = 3 in <0, trip_count = 2, micro_batches = true>> reverse %x : tensor<3x4xf32> -> tensor<4xf32>
  %n = arith.addf %c, %s : tensor<4xf32>
  %l = epl.loop_last <1, trip_count = 3 in <0, trip_count = 2, micro_batches = true>> 0 %n : tensor<4xf32>
  %y = epl.loop_stack <0, trip_count = 2, micro_batches = true> %l : tensor<4xf32> -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}
