// The global program, for reading: one line for each op that computes or moves, by the names that users know.

// RUN: epl-compile %s --devices=cpu:4 --emit=global | FileCheck %s --match-full-lines

//      CHECK: * what devices receive from one another, and why
// CHECK-EMPTY:
// CHECK-NEXT: devices: data 2, model 2
// CHECK-NEXT: scope tg0: split, 2 devices, "mlp", model.py:3
//      CHECK: arguments
// CHECK-NEXT: {{ +}}params['up']{{ +}}f32[6, 8/model]{{ +}}state
// CHECK-NEXT: {{ +}}params['down']{{ +}}f32[8/model, 4]{{ +}}state
// CHECK-NEXT: {{ +}}x{{ +}}f32[8/data, 6]{{ +}}batch
//      CHECK: tg0.forward
// CHECK-NEXT: {{ +}}%0 = contraction(x, params['up']){{ +}}f32[8/data, 8/model]{{ +}}model.py:3
// CHECK-NEXT: {{ +}}%1 = mulf(%0, 0.5){{ +}}f32[8/data, 8/model]{{ +}}model.py:4
// CHECK-NEXT: {{ +}}%2 = contraction(%1, params['down']){{ +}}f32[8/data, 4] sum over model model.py:5
// CHECK-NEXT: {{ +}}* %3 = all_reduce(%2){{ +}}f32[8/data, 4]{{ +}}contraction model.py:5 sums over model; the step returns the sum
//      CHECK: results
// CHECK-NEXT: {{ +}}result 0 = params['up']{{ +}}f32[6, 8/model]{{ +}}updates the argument
// CHECK-NEXT: {{ +}}result 1 = params['down']{{ +}}f32[8/model, 4]{{ +}}updates the argument
// CHECK-NEXT: {{ +}}y = %3{{ +}}f32[8/data, 4]{{ *}}
func.func @main(%up: tensor<6x8xf32> {epl.role = "state", epl.name = "params['up']"},
                %down: tensor<8x4xf32> {epl.role = "state", epl.name = "params['down']"},
                %x: tensor<8x6xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "x"})
    -> (tensor<6x8xf32> {epl.updates = 0 : i64}, tensor<8x4xf32> {epl.updates = 1 : i64}, tensor<8x4xf32> {epl.name = "y"}) {
  %y = epl.split name("mlp") devices(2) -> tensor<8x4xf32> {
    %zero = arith.constant 0.0 : f32
    %half = arith.constant 0.5 : f32
    %e0 = tensor.empty() : tensor<8x8xf32>
    %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<8x8xf32>) -> tensor<8x8xf32> loc("model.py":3:1)
    %h = linalg.matmul ins(%x, %up : tensor<8x6xf32>, tensor<6x8xf32>) outs(%z0 : tensor<8x8xf32>) -> tensor<8x8xf32> loc("model.py":3:1)
    %t = linalg.map ins(%h : tensor<8x8xf32>) outs(%e0 : tensor<8x8xf32>) (%a: f32, %o: f32) {
      %m = arith.mulf %a, %half : f32
      linalg.yield %m : f32
    } loc("model.py":4:1)
    %e1 = tensor.empty() : tensor<8x4xf32>
    %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8x4xf32>) -> tensor<8x4xf32>
    %o = linalg.matmul ins(%t, %down : tensor<8x8xf32>, tensor<8x4xf32>) outs(%z1 : tensor<8x4xf32>) -> tensor<8x4xf32> loc("model.py":5:1)
    epl.yield %o : tensor<8x4xf32>
  }
  return %up, %down, %y : tensor<6x8xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}
