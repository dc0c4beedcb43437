// RUN: epl-opt %s | epl-opt | FileCheck %s
// RUN: epl-opt %s --mlir-print-op-generic | epl-opt | FileCheck %s

// CHECK-LABEL: func.func @sort
func.func @sort(%x: tensor<4x9xf32>, %i: tensor<4x9xi32>) {
  // CHECK: epl.sort %{{.*}} dim 0 : (tensor<4x9xf32>) -> tensor<4x9xf32> {
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32):
  %0 = epl.sort %x dim 0 : (tensor<4x9xf32>) -> tensor<4x9xf32> {
  ^bb0(%a: f32, %b: f32):
    %before = arith.cmpf olt, %a, %b : f32
    // CHECK: epl.yield %{{.*}} : i1
    epl.yield %before : i1
  }
  // CHECK: epl.sort %{{.*}}, %{{.*}} dim 1 {epl.work = #epl.work<@tg0, forward>} : (tensor<4x9xf32>, tensor<4x9xi32>) -> (tensor<4x3xf32>, tensor<4x3xi32>) {
  %1:2 = epl.sort %x, %i dim 1 {epl.work = #epl.work<@tg0, forward>} : (tensor<4x9xf32>, tensor<4x9xi32>) -> (tensor<4x3xf32>, tensor<4x3xi32>) {
  ^bb0(%a: f32, %b: f32, %c: i32, %d: i32):
    %before = arith.cmpf ogt, %a, %b : f32
    epl.yield %before : i1
  }
  return
}

epl.taskgraph @tg0 strategy(<replicate, 1>)
