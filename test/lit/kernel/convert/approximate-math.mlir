// RUN: epl-opt %s --epl-approximate-math | FileCheck %s
// RUN: epl-opt %s --epl-approximate-math=keep-exp | FileCheck %s --check-prefix=EXP

// EXP-LABEL: func.func @f32
// EXP: math.exp %{{.*}} : vector<16xf32>
// EXP-NOT: math.tanh

// CHECK-LABEL: func.func @f32
// CHECK-NOT: math.exp
// CHECK-NOT: math.tanh
// CHECK-NOT: math.log
// CHECK: math.sqrt %{{.*}} : vector<16xf32>
func.func @f32(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.exp %x : vector<16xf32>
  %1 = math.tanh %0 : vector<16xf32>
  %2 = math.log %1 : vector<16xf32>
  %3 = math.sqrt %2 : vector<16xf32>
  return %3 : vector<16xf32>
}

// sin loses its range in a polynomial: one call for each lane.

// CHECK-LABEL: func.func @range
// CHECK-COUNT-2: call @sinf
// CHECK-NOT: math.sin
func.func @range(%x: vector<2xf32>) -> vector<2xf32> {
  %0 = math.sin %x : vector<2xf32>
  return %0 : vector<2xf32>
}

// CHECK-LABEL: func.func @f64
// CHECK: call @expm1
// CHECK: math.exp %{{.*}} : f64
func.func @f64(%x: f64) -> f64 {
  %0 = math.expm1 %x : f64
  %1 = math.exp %0 : f64
  return %1 : f64
}
