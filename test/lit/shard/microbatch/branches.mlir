// RUN: epl-opt %s --epl-annotate="devices=1" --epl-shard="micro-batches=2" | FileCheck %s

// A flag that is made of all samples is there behind the loop: what only one side of the selection reads of what
// leaves the loop is done all the same. What is done of it behind the loop is a branch.

// CHECK: %[[FLAG:.*]] = epl.loop_last <0, trip_count = 2, micro_batches = true> 0
// CHECK-NOT: epl.guards
// CHECK: epl.loop_last <0, trip_count = 2, micro_batches = true> 1
// CHECK-NOT: epl.guards
// CHECK: epl.predicate 0
// CHECK: math.exp
// CHECK: epl.guards = [#epl.guard<0, true>]
#id = affine_map<(n) -> (n)>
#none = affine_map<(n) -> ()>
#scalar = affine_map<() -> ()>
func.func public @main(%x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}, %w: tensor<f32> {epl.role = "state"}) -> tensor<f32> {
  %false = arith.constant dense<false> : tensor<i1>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %flag = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%x : tensor<8xf32>) outs(%false : tensor<i1>) {
  ^bb0(%a: f32, %acc: i1):
    %c = arith.constant 0.0 : f32
    %p = arith.cmpf ogt, %a, %c : f32
    %r = arith.ori %acc, %p : i1
    linalg.yield %r : i1
  } -> tensor<i1>
  %sum = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%x : tensor<8xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %r = arith.addf %acc, %a : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %exp = math.exp %sum : tensor<f32>
  %0 = tensor.empty() : tensor<f32>
  %1 = linalg.generic {indexing_maps = [#scalar, #scalar, #scalar, #scalar], iterator_types = []}
      ins(%flag, %exp, %w : tensor<i1>, tensor<f32>, tensor<f32>) outs(%0 : tensor<f32>) {
  ^bb0(%p: i1, %a: f32, %b: f32, %out: f32):
    %s = arith.select %p, %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %1 : tensor<f32>
}
