// RUN: epl-compile %s --devices=cpu:2 -o %t.eplan && epl-plan dump %t.eplan | FileCheck %s

// What the front end reports of a step is a result like any other, whole for the caller, and marked.

// CHECK: slot s1 "y" result f32[8x4] sharding [{"data"}, {}]
// CHECK-NOT: hidden
// CHECK: slot s2 "print at model.py:7" result f32[8x4] sharding {{.*}} hidden
func.func @step(%x: tensor<8x4xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "x"})
    -> (tensor<8x4xf32> {epl.name = "y"}, tensor<8x4xf32> {epl.name = "print at model.py:7", epl.hidden}) {
  %y = math.tanh %x : tensor<8x4xf32>
  %z = math.exp %x : tensor<8x4xf32>
  return %y, %z : tensor<8x4xf32>, tensor<8x4xf32>
}
