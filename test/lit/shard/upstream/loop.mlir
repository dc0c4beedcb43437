// RUN: epl-opt %s --epl-annotate=devices=2 --epl-seed-batch --epl-propagate --epl-place --epl-verify-sharded | FileCheck %s
// RUN: not epl-compile %s --devices=cpu:2 -o %t.eplan 2>&1 | FileCheck %s --check-prefix=ERROR

// A loop runs on whole tensors, and what no kernel can run is an error at the loop. MLIR's shard dialect stops with
// "sharding interface is not implemented".

// CHECK: %[[WHOLE:.*]] = epl.reshard %{{.*}} to <@mesh, [{}, {}]>
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[WHOLE]]) -> (tensor<8x4xf32>)
// ERROR: loop.mlir:[[#@LINE+7]]:8: error: 'scf.for' op

func.func @main(%x: tensor<8x4xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<8x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %e = arith.addf %x, %x : tensor<8x4xf32>
  %0 = scf.for %i = %c0 to %c3 step %c1 iter_args(%v = %e) -> tensor<8x4xf32> {
    %1 = arith.addf %v, %v : tensor<8x4xf32>
    scf.yield %1 : tensor<8x4xf32>
  }
  return %0 : tensor<8x4xf32>
}
