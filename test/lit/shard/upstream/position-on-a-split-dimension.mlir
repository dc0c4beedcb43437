// RUN: %compare(2) --rtol=0 --atol=0
// RUN: epl-compile %s --devices=cpu:2 --emit=local | FileCheck %s

// A position counts from the beginning of the whole, not of the part as in MLIR's shard dialect.

// CHECK: %[[C:.*]] = epl.axis_index @mesh "data"
// CHECK: linalg.index 0
// CHECK: arith.muli %[[C]], %{{.*}}

func.func @main(%x: tensor<8x4xi32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<8x4xi32> {
  %e = tensor.empty() : tensor<8x4xi32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x4xi32>) outs(%e : tensor<8x4xi32>) {
  ^bb0(%a: i32, %out: i32):
    %1 = linalg.index 0 : index
    %2 = arith.index_cast %1 : index to i32
    %3 = arith.addi %a, %2 : i32
    linalg.yield %3 : i32
  } -> tensor<8x4xi32>
  return %0 : tensor<8x4xi32>
}
