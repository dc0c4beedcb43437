// RUN: epl-compile %s --devices=cpu:2 -o %t.eplan && epl-plan dump %t.eplan | FileCheck %s

// The gradient step of a linear model: slots, tied results, the library's product, a kernel, an all-reduce
// on its own lane, and the user's line of each command.

// CHECK: axis "data" = 2
// CHECK: communicator c0 over "data"
// CHECK: slot s0 "w" state f32[4x3] sharding [{}, {}]
// CHECK: slot s1 "x" batch f32[8x4] sharding [{"data"}, {}]
// CHECK: slot s2 "w" result f32[4x3] sharding [{}, {}] updates s0
// CHECK: lane 0 compute
// CHECK: contract f32 [[X:b[0-9]+]] x [[W:b[0-9]+]]
// CHECK-SAME: work "tg0.forward" at "model.py:7"
// CHECK: contract f32 [[X]]^T x
// CHECK: launch
// CHECK-SAME: after #[[GATHER:[0-9]+]]
// CHECK: lane 1 communicate c0
// CHECK: reduce_part sum c0
// CHECK-SAME: 12xf32 with #[[GATHER]] after #{{[0-9]+}} of c0
// CHECK: #[[GATHER]] "all_reduce" gather_parts c0

#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%w: tensor<4x3xf32> {epl.role = "state", epl.name = "w"},
                %x: tensor<8x4xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "x"})
    -> (tensor<4x3xf32> {epl.updates = 0 : i64, epl.name = "w"}) {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<8x3xf32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<8x3xf32>) -> tensor<8x3xf32>
  %y = epl.replicate -> tensor<8x3xf32> {
    %0 = linalg.matmul ins(%x, %w : tensor<8x4xf32>, tensor<4x3xf32>) outs(%z0 : tensor<8x3xf32>) -> tensor<8x3xf32> loc(#forward)
    epl.yield %0 : tensor<8x3xf32>
  }
  %e1 = tensor.empty() : tensor<4x3xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4x3xf32>) -> tensor<4x3xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>,
                                        affine_map<(i, j, k) -> (i, j)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %y : tensor<8x4xf32>, tensor<8x3xf32>) outs(%z1 : tensor<4x3xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x3xf32>
  %new = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w, %g : tensor<4x3xf32>, tensor<4x3xf32>) outs(%e1 : tensor<4x3xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %s = arith.subf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<4x3xf32>
  return %new : tensor<4x3xf32>
}
#library = loc("/venv/lib/site-packages/layers/linear.py":20:3)
#user = loc("model.py":7:5)
#outer = loc("train.py":99:1)
#frames = loc(callsite(#library at callsite(#user at #outer)))
#forward = loc("jit(step)/dot_general"(#frames))
