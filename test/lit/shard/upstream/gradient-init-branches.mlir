// RUN: %compare(2) --rtol=0 --atol=0
// RUN: epl-compile %s --devices=cpu:2 --emit=local | FileCheck %s --implicit-check-not=scf.if

// A product on parts of the batch and the gradient of its parameter: one sum. MLIR's shard dialect leaves a branch whose
// two sides are the same.

// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<4x4xi32>, tensor<4x6xi32>)
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<4x4xi32>, tensor<4x6xi32>)
// CHECK: epl.all_reduce %{{.*}} partial = sum{"data"}

func.func @main(%w: tensor<4x6xi32> {epl.role = "state"}, %x: tensor<8x4xi32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<4x6xi32> {epl.updates = 0 : i64}, tensor<8x6xi32>) {
  %z1 = arith.constant dense<0> : tensor<8x6xi32>
  %z2 = arith.constant dense<0> : tensor<4x6xi32>
  %y = linalg.matmul ins(%x, %w : tensor<8x4xi32>, tensor<4x6xi32>) outs(%z1 : tensor<8x6xi32>) -> tensor<8x6xi32>
  %g = linalg.generic {indexing_maps = [affine_map<(i, j, b) -> (b, i)>, affine_map<(i, j, b) -> (b, j)>, affine_map<(i, j, b) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : tensor<8x4xi32>, tensor<8x6xi32>) outs(%z2 : tensor<4x6xi32>) {
  ^bb0(%a: i32, %b: i32, %c: i32):
    %p = arith.muli %a, %b : i32
    %s = arith.addi %c, %p : i32
    linalg.yield %s : i32
  } -> tensor<4x6xi32>
  %next = arith.subi %w, %g : tensor<4x6xi32>
  return %next, %y : tensor<4x6xi32>, tensor<8x6xi32>
}
