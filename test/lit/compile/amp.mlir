// Mixed precision: which operations take 16 bits is said at their lines, and so is what stays f32. A plan says that it was
// asked for, and the reference has the same precision.

// RUN: epl-compile %s --devices=cpu:2 --amp=o1 --explain-precision -o %t.eplan 2>&1 | FileCheck %s --check-prefix=SAID
// SAID: model.py:3: remark: contraction takes operands of bf16 and adds up in f32; 2 like this
// SAID: model.py:5: remark: contraction multiplies f64 anyway
// SAID: remark: what is no contraction stays f32: exp 1

// RUN: epl-plan dump %t.eplan | FileCheck %s --check-prefix=PLAN
// PLAN: --amp=o1
// PLAN: contract bf16 to f32

// RUN: epl-compile %s --reference --amp=o1 --emit=kernel | FileCheck %s --check-prefix=REFERENCE
// REFERENCE: arith.truncf %{{.*}} : f32 to bf16

// RUN: epl-compile %s --devices=cpu:2 --emit=global --amp=off | FileCheck %s --check-prefix=OFF
// OFF-NOT: bf16

// RUN: not epl-compile %s --amp=o2 -o %t.eplan 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: --amp: must be one of o1, off, found "o2"

func.func @main(%w: tensor<8x8xf32> {epl.role = "state", epl.name = "w"},
                %x: tensor<8x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "x"},
                %d: tensor<8x8xf64> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "d"})
    -> (tensor<8x8xf32> {epl.name = "y"}, tensor<8x8xf64> {epl.name = "z"}) {
  %y, %z = epl.replicate -> tensor<8x8xf32>, tensor<8x8xf64> {
    %zero = arith.constant dense<0.0> : tensor<8x8xf32>
    %zero64 = arith.constant dense<0.0> : tensor<8x8xf64>
    %0 = linalg.matmul ins(%x, %w : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zero : tensor<8x8xf32>) -> tensor<8x8xf32> loc("model.py":3:1)
    %1 = math.exp %0 : tensor<8x8xf32> loc("model.py":4:1)
    %2 = linalg.matmul ins(%1, %w : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zero : tensor<8x8xf32>) -> tensor<8x8xf32> loc("model.py":3:1)
    %3 = linalg.matmul ins(%d, %d : tensor<8x8xf64>, tensor<8x8xf64>) outs(%zero64 : tensor<8x8xf64>) -> tensor<8x8xf64> loc("model.py":5:1)
    epl.yield %2, %3 : tensor<8x8xf32>, tensor<8x8xf64>
  }
  return %y, %z : tensor<8x8xf32>, tensor<8x8xf64>
}
