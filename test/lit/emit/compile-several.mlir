// RUN: rm -rf %t && mkdir -p %t/out
// RUN: sed 's/DIM/8/g' %s > %t/good.mlir && sed 's/DIM/7/g' %s > %t/bad.mlir && sed 's/DIM/6/g' %s > %t/last.mlir
// RUN: not epl-compile %t/good.mlir %t/bad.mlir %t/last.mlir --devices=cpu:2 --kernels=loops -o %t/out 2>&1 | FileCheck %s
// RUN: epl-plan dump %t/out/good.eplan | FileCheck %s --check-prefix=GOOD
// RUN: epl-plan dump %t/out/last.eplan | FileCheck %s --check-prefix=LAST
// RUN: not ls %t/out/bad.eplan

// Several steps in one process: each becomes a plan of its own, one that fails does not stop the others.

// CHECK: bad.mlir:[[#@LINE + 3]]:{{[0-9]+}}: error: dimension 0 of argument 0 of size 7 is not divisible by axis "data"
// GOOD: f32[8]
// LAST: f32[6]
func.func @main(%x: tensor<DIMxf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<DIMxf32> {
  %y = arith.addf %x, %x : tensor<DIMxf32>
  return %y : tensor<DIMxf32>
}
