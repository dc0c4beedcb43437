// RUN: epl-opt %s -epl-parallelize=devices=2 | FileCheck %s

// Linear regression: loss = sum((x w - y)^2), w' = w - x^T (x w - y). The loss and the gradient are summed over
// the members at once; everything else is local.

// CHECK: epl.mesh @mesh axes ["data"=2]
// CHECK: epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh name("model")
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[W:.*]]: !epl.dist<tensor<4x3xf32>, <@mesh, [{}, {}]>> {epl.role = "state"}
// CHECK-SAME: %[[X:.*]]: !epl.dist<tensor<8x4xf32>, <@mesh, [{"data"}, {}]>> {epl.batch_dim = 0 : i64, epl.role = "batch"},
// CHECK-SAME: %[[Y:.*]]: !epl.dist<tensor<8x3xf32>, <@mesh, [{"data"}, {}]>> {epl.batch_dim = 0 : i64, epl.role = "batch"})
// CHECK-SAME: -> (!epl.dist<tensor<4x3xf32>, <@mesh, [{}, {}]>> {epl.updates = 0 : i64}, !epl.dist<tensor<f32>, <@mesh, []>>)
// CHECK: %[[P:.*]]:2 = epl.task <@tg0, forward>(%[[X]], %[[W]], %[[Y]])
// CHECK-SAME: -> (!epl.dist<tensor<f32>, <@mesh, [], partial = sum{"data"}>>, !epl.dist<tensor<4x3xf32>, <@mesh, [{}, {}], partial = sum{"data"}>>)
// CHECK: %[[SUM:.*]]:2 = epl.all_reduce %[[P]]#0, %[[P]]#1
// CHECK: %[[N:.*]] = epl.task <@tg0, forward>(%[[W]], %[[SUM]]#1)
// CHECK: return %[[N]], %[[SUM]]#0


func.func @main(%w: tensor<4x3xf32> {epl.role = "state"}, %x: tensor<8x4xf32> {epl.role = "batch", epl.batch_dim = 0 : i64},
                %y: tensor<8x3xf32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<4x3xf32> {epl.updates = 0 : i64}, tensor<f32>) {
  %zero = arith.constant 0.0 : f32
  %d, %loss = epl.replicate name("model") -> tensor<8x3xf32>, tensor<f32> {
    %0 = tensor.empty() : tensor<8x3xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<8x3xf32>) -> tensor<8x3xf32>
    %2 = linalg.matmul ins(%x, %w : tensor<8x4xf32>, tensor<4x3xf32>) outs(%1 : tensor<8x3xf32>) -> tensor<8x3xf32>
    %3 = linalg.sub ins(%2, %y : tensor<8x3xf32>, tensor<8x3xf32>) outs(%0 : tensor<8x3xf32>) -> tensor<8x3xf32>
    %4 = linalg.mul ins(%3, %3 : tensor<8x3xf32>, tensor<8x3xf32>) outs(%0 : tensor<8x3xf32>) -> tensor<8x3xf32>
    %5 = tensor.empty() : tensor<f32>
    %6 = linalg.fill ins(%zero : f32) outs(%5 : tensor<f32>) -> tensor<f32>
    %7 = linalg.reduce {arith.addf} ins(%4 : tensor<8x3xf32>) outs(%6 : tensor<f32>) dimensions = [0, 1]
    epl.yield %3, %7 : tensor<8x3xf32>, tensor<f32>
  }
  %0 = tensor.empty() : tensor<4x8xf32>
  %xt = linalg.transpose ins(%x : tensor<8x4xf32>) outs(%0 : tensor<4x8xf32>) permutation = [1, 0]
  %1 = tensor.empty() : tensor<4x3xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<4x3xf32>) -> tensor<4x3xf32>
  %g = linalg.matmul ins(%xt, %d : tensor<4x8xf32>, tensor<8x3xf32>) outs(%2 : tensor<4x3xf32>) -> tensor<4x3xf32>
  %n = linalg.sub ins(%w, %g : tensor<4x3xf32>, tensor<4x3xf32>) outs(%1 : tensor<4x3xf32>) -> tensor<4x3xf32>
  return %n, %loss : tensor<4x3xf32>, tensor<f32>
}
