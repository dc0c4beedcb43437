// RUN: not epl-compile %s --devices cpu:1 --micro-batches 2 -o %t.plan 2>&1 | FileCheck %s

// An error and its notes name lines of the user's, not those of packages that they call.

// CHECK: {{^}}model.py:8:4: error: mixes samples across micro-batches: it reads a value of the whole batch, which takes contraction train.py:5 of every sample; expected statistics of each micro-batch (made in `with epl.per_micro_batch():`), or one micro-batch
// CHECK-NOT: site-packages
// CHECK: {{^}}train.py:20:1: note: called from
// CHECK-NOT: site-packages
// CHECK: {{^}}train.py:5:2: note: the value takes this product of every sample

#package = loc("/lib/site-packages/flax/normalization.py":205:6)
#model = loc("model.py":8:4)
#train = loc("train.py":20:1)
#product = loc(callsite("/lib/site-packages/flax/linear.py":7:1 at "train.py":5:2))
#reader = loc(callsite(#package at callsite(#model at #train)))

func.func public @main(%x: tensor<8x4xf32> {epl.role = "batch", epl.batch_dim = 0 : i64},
                       %w: tensor<4x4xf32> {epl.role = "state"}) -> tensor<8x4xf32> {
  %none = tensor.empty() : tensor<8x4xf32>
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%none : tensor<8x4xf32>) -> tensor<8x4xf32>
  %y = linalg.matmul ins(%x, %w : tensor<8x4xf32>, tensor<4x4xf32>) outs(%zeros : tensor<8x4xf32>) -> tensor<8x4xf32> loc(#product)
  %start = tensor.empty() : tensor<4xf32>
  %nothing = linalg.fill ins(%zero : f32) outs(%start : tensor<4xf32>) -> tensor<4xf32>
  %sum = linalg.reduce ins(%y : tensor<8x4xf32>) outs(%nothing : tensor<4xf32>) dimensions = [0]
      (%a: f32, %b: f32) { %s = arith.addf %a, %b : f32  linalg.yield %s : f32 }
  %whole = linalg.broadcast ins(%sum : tensor<4xf32>) outs(%none : tensor<8x4xf32>) dimensions = [0] loc(#reader)
  %z = arith.subf %y, %whole : tensor<8x4xf32> loc(#reader)
  return %z : tensor<8x4xf32>
}
