// RUN: epl-compile %s --devices=cpu:2 -o %t.eplan && epl-plan dump %t.eplan | FileCheck %s
// RUN: epl-compile %s --devices=cpu:2 --emit=kernel | FileCheck %s --check-prefix=KERNEL
// RUN: epl-compile %s --reference -o %t.reference.eplan && epl-run %t.eplan --inputs=random:1 --reference=%t.reference.eplan --rtol=0

// A factorization is a kernel of its own that reads buffers as they are; equal ones share it, and the batch is
// split. All results are written, whether or not they are read.
// KERNEL: epl.launch @k[[EIGH:.*]]_eigh(
// KERNEL: epl.kernel @k[[EIGH]]_eigh factorization {
// KERNEL-NEXT: ^bb0(%[[A:.*]]: tensor<2x3x3xf32>):
// KERNEL-NEXT: %[[V:.*]]:2 = epl.factorize eigh %[[A]]
// KERNEL-NEXT: epl.yield %[[V]]#0, %[[V]]#1
// KERNEL: epl.kernel @k{{.*}}_triangular_solve factorization {
// KERNEL-NEXT: ^bb0(%[[B:.*]]: tensor<2x3x3xf32>, %[[C:.*]]: tensor<2x3x1xf32>):
// KERNEL-NEXT: epl.triangular_solve %[[B]], %[[C]] left lower

// CHECK: kernel k{{.*}} "k{{.*}}_eigh" symbol "k{{.*}}_eigh" form "library" inputs 1 outputs 2 sizes [72, 72, 24] in_place [-1, -1] workspace {{.*}} extent 2 flops 486 factorization eigh 3x3xf32
// CHECK: kernel k{{.*}} form "library" inputs 2 outputs 1 sizes [72, 24, 24] in_place [-1] workspace 0 extent 2 flops 18 factorization triangular_solve 3x1xf32 left lower
// CHECK: launch k{{.*}} (b{{.*}}) -> (b{{.*}}, b{{.*}}, b{{.*}})
// CHECK-SAME: at "model.py:7"

func.func @main(%a: tensor<4x3x3xf32> {epl.role = "batch", epl.name = "a", epl.batch_dim = 0})
    -> (tensor<4x3xf32> {epl.name = "w"}, tensor<4x3x1xf32> {epl.name = "x"}) {
  %w, %x = epl.replicate -> tensor<4x3xf32>, tensor<4x3x1xf32> {
    %v, %values = epl.factorize eigh %a : (tensor<4x3x3xf32>) -> (tensor<4x3x3xf32>, tensor<4x3xf32>) loc("model.py":7:5)
    %ones = arith.constant dense<1.0> : tensor<4x3x1xf32>
    %solved = epl.triangular_solve %a, %ones left lower : tensor<4x3x3xf32>, tensor<4x3x1xf32>
    epl.yield %values, %solved : tensor<4x3xf32>, tensor<4x3x1xf32>
  }
  return %w, %x : tensor<4x3xf32>, tensor<4x3x1xf32>
}
