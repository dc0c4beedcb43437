// RUN: %compare(2) --rtol=0 --atol=0
// RUN: epl-compile %s --devices=cpu:2 --emit=local | FileCheck %s

// acc - (0 - x) is no reduction that is known: computed on whole tensors. MLIR's shard dialect crashes.

// CHECK: epl.all_gather %{{.*}} dim 0
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<8x4xi32>)

func.func @main(%x: tensor<8x4xi32> {epl.role = "batch", epl.batch_dim = 0 : i64}, %init: tensor<4xi32> {epl.role = "constant"}) -> tensor<4xi32> {
  %0 = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>],
      iterator_types = ["reduction", "parallel"]} ins(%x : tensor<8x4xi32>) outs(%init : tensor<4xi32>) {
  ^bb0(%a: i32, %acc: i32):
    %zero = arith.constant 0 : i32
    %1 = arith.subi %zero, %a : i32
    %2 = arith.subi %acc, %1 : i32
    linalg.yield %2 : i32
  } -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
