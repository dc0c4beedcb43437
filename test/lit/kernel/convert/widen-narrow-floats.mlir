// RUN: epl-opt %s --epl-widen-narrow-floats | FileCheck %s

// LLVM would convert to and from 16 bits by calls of libgcc.

// CHECK-LABEL: func.func @from_integers
// CHECK: %[[A:.*]] = arith.sitofp %{{.*}} : vector<8xi64> to vector<8xf32>
// CHECK: arith.truncf %[[A]] : vector<8xf32> to vector<8xbf16>
// CHECK: %[[B:.*]] = arith.uitofp %{{.*}} : i1 to f32
// CHECK: arith.truncf %[[B]] : f32 to f16
func.func @from_integers(%x: vector<8xi64>, %y: i1) -> (vector<8xbf16>, f16) {
  %0 = arith.sitofp %x : vector<8xi64> to vector<8xbf16>
  %1 = arith.uitofp %y : i1 to f16
  return %0, %1 : vector<8xbf16>, f16
}

// CHECK-LABEL: func.func @to_integers
// CHECK: %[[A:.*]] = arith.extf %{{.*}} : vector<4xf16> to vector<4xf32>
// CHECK: arith.fptosi %[[A]] : vector<4xf32> to vector<4xi8>
// CHECK: %[[B:.*]] = arith.extf %{{.*}} : bf16 to f32
// CHECK: arith.fptoui %[[B]] : f32 to i32
func.func @to_integers(%x: vector<4xf16>, %y: bf16) -> (vector<4xi8>, i32) {
  %0 = arith.fptosi %x : vector<4xf16> to vector<4xi8>
  %1 = arith.fptoui %y : bf16 to i32
  return %0, %1 : vector<4xi8>, i32
}

// CHECK-LABEL: func.func @doubles
// CHECK: %[[A:.*]] = arith.truncf %{{.*}} : vector<8xf64> to vector<8xf32>
// CHECK: arith.truncf %[[A]] : vector<8xf32> to vector<8xbf16>
// CHECK: %[[B:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: arith.extf %[[B]] : f32 to f64
func.func @doubles(%x: vector<8xf64>, %y: f16) -> (vector<8xbf16>, f64) {
  %0 = arith.truncf %x : vector<8xf64> to vector<8xbf16>
  %1 = arith.extf %y : f16 to f64
  return %0, %1 : vector<8xbf16>, f64
}

// LLVM would widen fma of f16 to f64.

// CHECK-LABEL: func.func @fma
// CHECK-COUNT-3: arith.extf {{.*}} : f16 to f32
// CHECK: %[[FMA:.*]] = math.fma {{.*}} : f32
// CHECK: arith.truncf %[[FMA]] : f32 to f16
func.func @fma(%a: f16, %b: f16, %c: f16) -> f16 {
  %0 = math.fma %a, %b, %c : f16
  return %0 : f16
}

// What has f32 on one side stays, as do other types.

// CHECK-LABEL: func.func @others
// CHECK-NEXT: arith.extf %{{.*}} : bf16 to f32
// CHECK-NEXT: arith.extf %{{.*}} : f32 to f64
// CHECK-NEXT: arith.fptosi %{{.*}} : f64 to i32
// CHECK-NEXT: arith.sitofp %{{.*}} : i32 to f64
// CHECK-NEXT: return
func.func @others(%x: bf16) -> f64 {
  %0 = arith.extf %x : bf16 to f32
  %1 = arith.extf %0 : f32 to f64
  %2 = arith.fptosi %1 : f64 to i32
  %3 = arith.sitofp %2 : i32 to f64
  return %3 : f64
}
