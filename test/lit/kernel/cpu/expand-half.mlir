// RUN: epl-opt %s --epl-expand-half | FileCheck %s

// CHECK-LABEL: func.func @extend(
// CHECK: arith.bitcast %{{.*}} : f16 to i16
// CHECK: arith.extui %{{.*}} : i16 to i32
// CHECK-NOT: arith.extf
// CHECK: return %{{.*}} : f32
func.func @extend(%x: f16) -> f32 {
  %0 = arith.extf %x : f16 to f32
  return %0 : f32
}

// Vectors alike.

// CHECK-LABEL: func.func @extend_vector(
// CHECK: arith.bitcast %{{.*}} : vector<8xf16> to vector<8xi16>
// CHECK-NOT: vector<8xf16> to vector<8xf32>
func.func @extend_vector(%x: vector<8xf16>) -> vector<8xf32> {
  %0 = arith.extf %x : vector<8xf16> to vector<8xf32>
  return %0 : vector<8xf32>
}

// CHECK-LABEL: func.func @truncate(
// CHECK: arith.bitcast %{{.*}} : vector<4xf32> to vector<4xi32>
// CHECK-NOT: arith.truncf
// CHECK: arith.trunci %{{.*}} : vector<4xi32> to vector<4xi16>
// CHECK: arith.bitcast %{{.*}} : vector<4xi16> to vector<4xf16>
func.func @truncate(%x: vector<4xf32>) -> vector<4xf16> {
  %0 = arith.truncf %x : vector<4xf32> to vector<4xf16>
  return %0 : vector<4xf16>
}

// What has nothing to do with f16 stays.

// CHECK-LABEL: func.func @others(
// CHECK: arith.extf %{{.*}} : f32 to f64
// CHECK: arith.truncf %{{.*}} : f32 to bf16
func.func @others(%x: f32) -> (f64, bf16) {
  %0 = arith.extf %x : f32 to f64
  %1 = arith.truncf %x : f32 to bf16
  return %0, %1 : f64, bf16
}
