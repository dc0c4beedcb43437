// RUN: epl-opt %s --epl-outline-kernels | FileCheck %s

#id = affine_map<(d0) -> (d0)>
epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// Equal bodies become one kernel; a launch keeps location and work.
// CHECK-LABEL: func.func @share
// CHECK: %[[A:.*]] = epl.launch @k0_exp(%{{.*}}) {epl.work = #epl.work<@tg0, forward>}
// CHECK: %[[B:.*]] = epl.launch @k0_exp(%[[A]])
// CHECK: epl.launch @k1_neg(%[[B]])
func.func @share(%arg0: !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>) -> !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>> {
  %r = epl.task <@tg0, forward> (%arg0) : (!epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>) -> (!epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>) {
  ^bb0(%x: tensor<4xf32>):
    %0 = epl.cluster fusion (%x) : (tensor<4xf32>) -> (tensor<4xf32>) {
    ^bb0(%in: tensor<4xf32>):
      %e = tensor.empty() : tensor<4xf32>
      %g = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%in : tensor<4xf32>) outs(%e : tensor<4xf32>) {
      ^bb0(%a: f32, %o: f32):
        %y = math.exp %a : f32
        linalg.yield %y : f32
      } -> tensor<4xf32>
      epl.yield %g : tensor<4xf32>
    } {epl.work = #epl.work<@tg0, forward>}
    %1 = epl.cluster fusion (%0) : (tensor<4xf32>) -> (tensor<4xf32>) {
    ^bb0(%in: tensor<4xf32>):
      %e = tensor.empty() : tensor<4xf32>
      %g = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%in : tensor<4xf32>) outs(%e : tensor<4xf32>) attrs = {epl.work = #epl.work<@tg0, backward>} {
      ^bb0(%a: f32, %o: f32):
        %y = math.exp %a : f32
        linalg.yield %y : f32
      } -> tensor<4xf32>
      epl.yield %g : tensor<4xf32>
    }
    %2 = epl.cluster fusion (%1) : (tensor<4xf32>) -> (tensor<4xf32>) {
    ^bb0(%in: tensor<4xf32>):
      %e = tensor.empty() : tensor<4xf32>
      %g = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%in : tensor<4xf32>) outs(%e : tensor<4xf32>) {
      ^bb0(%a: f32, %o: f32):
        %y = arith.negf %a : f32
        linalg.yield %y : f32
      } -> tensor<4xf32>
      epl.yield %g : tensor<4xf32>
    }
    epl.yield %2 : tensor<4xf32>
  }
  return %r : !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>
}
// CHECK: epl.kernel @k0_exp fusion {
// CHECK: math.exp
// CHECK: epl.kernel @k1_neg fusion {
// CHECK-NOT: epl.kernel
