// RUN: epl-opt %s --epl-keep-maxima | FileCheck %s

// CHECK-LABEL: func.func @maxima
// CHECK: llvm.intr.maximum(%arg0, %arg1) : (f32, f32) -> f32
// CHECK: llvm.intr.minimum(%arg2, %arg2) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
// CHECK: arith.maximumf %arg3, %arg3 : f64
func.func @maxima(%x: f32, %y: f32, %v: vector<4xf32>, %d: f64) -> (f32, vector<4xf32>, f64) {
  %0 = arith.maximumf %x, %y : f32
  %1 = arith.minimumf %v, %v : vector<4xf32>
  %2 = arith.maximumf %d, %d : f64
  return %0, %1, %2 : f32, vector<4xf32>, f64
}
