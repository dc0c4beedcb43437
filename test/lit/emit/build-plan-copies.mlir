// RUN: epl-compile %s --devices=cpu:1 -o %t.eplan && epl-plan dump %t.eplan | FileCheck %s

// A row of a stack is copied from where it lies, and parts to where they go; a plan of copies has no kernels.

// CHECK-NOT: kernel
// CHECK: copy b0 at 32 -> b1, 16 bytes
// CHECK-SAME: work "tg0.forward" at "model.py:7"
// CHECK: copy b1 -> b2, 16 bytes
// CHECK: copy b0 -> b2 at 16, 48 bytes

func.func @main(%stack: tensor<3x4xf32> {epl.role = "constant", epl.name = "stack"})
    -> (tensor<4xf32> {epl.name = "row"}, tensor<4x4xf32> {epl.name = "more"}) {
  %row, %more = epl.replicate -> tensor<4xf32>, tensor<4x4xf32> {
    %0 = tensor.extract_slice %stack[2, 0] [1, 4] [1, 1] : tensor<3x4xf32> to tensor<4xf32> loc("model.py":7:5)
    %1 = tensor.expand_shape %0 [[0, 1]] output_shape [1, 4] : tensor<4xf32> into tensor<1x4xf32>
    %2 = epl.concatenate %1, %stack dim 0 : (tensor<1x4xf32>, tensor<3x4xf32>) -> tensor<4x4xf32>
    epl.yield %0, %2 : tensor<4xf32>, tensor<4x4xf32>
  }
  return %row, %more : tensor<4xf32>, tensor<4x4xf32>
}
