// RUN: %compare(2) --rtol=0 --atol=0
// RUN: epl-compile %s --devices=cpu:2 --emit=local | FileCheck %s

// Two results of one op are combined as each of them is. MLIR's shard dialect adds up the maxima, and starts each from
// the first init.

// CHECK-DAG: epl.all_reduce %{{.*}} partial = max{"data"}
// CHECK-DAG: epl.all_reduce %{{.*}} partial = sum{"data"}

func.func @main(%x: tensor<8x4xi32> {epl.role = "batch", epl.batch_dim = 0 : i64}, %m: tensor<4xi32> {epl.role = "constant"})
    -> (tensor<4xi32>, tensor<4xi32>) {
  %z = arith.constant dense<0> : tensor<4xi32>
  %0:2 = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>],
      iterator_types = ["reduction", "parallel"]} ins(%x : tensor<8x4xi32>) outs(%z, %m : tensor<4xi32>, tensor<4xi32>) {
  ^bb0(%a: i32, %acc: i32, %max: i32):
    %1 = arith.addi %acc, %a : i32
    %2 = arith.maxsi %max, %a : i32
    linalg.yield %1, %2 : i32, i32
  } -> (tensor<4xi32>, tensor<4xi32>)
  return %0#0, %0#1 : tensor<4xi32>, tensor<4xi32>
}
