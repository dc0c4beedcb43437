// RUN: epl-opt %s --epl-verify-global | FileCheck %s

// CHECK: epl.mesh @mesh
epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
// Ops inside others need no work of their own.
#map = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel"]} outs(%x : tensor<4xf32>)
      attrs = {epl.work = #epl.work<@tg0, forward>} {
  ^bb0(%out: f32):
    %1 = math.tanh %out : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
