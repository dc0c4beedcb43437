// RUN: split-file %s %t
// RUN: not epl-compile %t/batch.mlir --devices=cpu:4 -o %t.eplan 2>&1 | FileCheck %s --check-prefix=BATCH
// RUN: not epl-compile %t/hand.mlir --devices=cpu:4 -o %t.eplan 2>&1 | FileCheck %s --check-prefix=HAND
// RUN: epl-compile %t/inside.mlir --devices=cpu:4 -o %t.eplan
// RUN: epl-compile %t/inside.mlir --reference -o %t.reference.eplan
// RUN: epl-run %t.eplan --reference=%t.reference.eplan --rtol=0 --atol=0

// Seven rows on four devices: an error where somebody wants them split, and not split where nobody does. MLIR's shard
// dialect asserts (llvm-project #128803); without assertions each device has one row and three are lost.

//--- batch.mlir
// BATCH: batch.mlir:2:1: error: dimension 0 of argument "x" of size 7 is not divisible by axis "data" of size 4
func.func @main(%x: tensor<7x4xi32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "x"}) -> tensor<7x4xi32> {
  %0 = arith.addi %x, %x : tensor<7x4xi32>
  return %0 : tensor<7x4xi32>
}

//--- hand.mlir
epl.mesh @mesh axes ["data"=1, "model"=4]
// HAND: error: {{.*}}dimension 0 of argument "w" of size 7 is not divisible by 4, the size of its axes
func.func @main(%w: tensor<7x4xi32> {epl.role = "state", epl.name = "w", epl.sharding = #epl.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<7x4xi32> {epl.updates = 0 : i64}) {
  %0 = arith.addi %w, %w : tensor<7x4xi32>
  return %0 : tensor<7x4xi32>
}

//--- inside.mlir
func.func @main(%x: tensor<8x2xi32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<7x2xi32> {
  %0 = tensor.extract_slice %x[1, 0] [7, 2] [1, 1] : tensor<8x2xi32> to tensor<7x2xi32>
  %1 = arith.addi %0, %0 : tensor<7x2xi32>
  return %1 : tensor<7x2xi32>
}
