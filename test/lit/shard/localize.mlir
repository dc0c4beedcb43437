// RUN: epl-opt %s -split-input-file -epl-localize -epl-verify-local | FileCheck %s

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// A reduction over the batch: local shapes, an all-reduce, the boundary's types.
// CHECK-LABEL: func.func @reduce
// CHECK-SAME: %[[X:.*]]: !epl.dist<tensor<8x4xf32>, <@mesh, [{"data"}, {}]>> {epl.role = "batch"}
// CHECK-SAME: -> (!epl.dist<tensor<4xf32>, <@mesh, [{}]>> {epl.name = "sum"})
func.func @reduce(%x: tensor<8x4xf32> {epl.role = "batch", epl.sharding = #epl.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<4xf32> {epl.name = "sum"}) {
  %zero = arith.constant {epl.sharding = [#epl.sharding<@mesh, [{}]>]} dense<0.0> : tensor<4xf32>
  %0 = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>],
      iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<8x4xf32>) outs(%zero : tensor<4xf32>)
      attrs = {epl.work = #epl.work<@tg0, forward>,
               epl.sharding = [#epl.sharding<@mesh, [{}], partial = sum{"data"}>]} {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %1 = epl.reshard %0 to <@mesh, [{}]> {epl.work = #epl.work<@tg0, forward>} : tensor<4xf32>
  return %1 : tensor<4xf32>
}
