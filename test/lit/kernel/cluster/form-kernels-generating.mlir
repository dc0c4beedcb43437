// RUN: epl-opt %s --epl-form-kernels=max-ops=2 | FileCheck %s

epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!v = !epl.dist<tensor<4xf32>, <@mesh, [{}]>>
!n = !epl.dist<tensor<f32>, <@mesh, []>>
#id = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>

// Where all is made of a number, as random bits are of a key, one kernel may hold four times as many ops: cut in
// two it would write and read a tensor. One that reads tensors anyway may not.
// CHECK-LABEL: func.func @generated
// CHECK-COUNT-1: epl.cluster
// CHECK-NOT: epl.cluster
// CHECK-LABEL: func.func @read
// CHECK-COUNT-2: epl.cluster
func.func @generated(%arg0: !n) -> !v {
  %r = epl.task <@tg0, forward> (%arg0) : (!n) -> !v {
  ^bb0(%x: tensor<f32>):
    %e = tensor.empty() : tensor<4xf32>
    %0 = linalg.generic {indexing_maps = [#none, #id], iterator_types = ["parallel"]} ins(%x : tensor<f32>) outs(%e : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = math.exp %a : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%0 : tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = math.sin %a : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    epl.yield %1 : tensor<4xf32>
  }
  return %r : !v
}
func.func @read(%arg0: !v) -> !v {
  %r = epl.task <@tg0, forward> (%arg0) : (!v) -> !v {
  ^bb0(%x: tensor<4xf32>):
    %e = tensor.empty() : tensor<4xf32>
    %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = math.exp %a : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%0 : tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = math.sin %a : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    epl.yield %1 : tensor<4xf32>
  }
  return %r : !v
}
