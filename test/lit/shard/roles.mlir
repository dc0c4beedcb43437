// RUN: epl-opt %s -split-input-file --epl-annotate="devices=4 colocate" --epl-shard=zero=v1 | FileCheck %s

// What an axis is for is its role, whatever its name: the batch is over "rows", parameters are split over "columns",
// and what only replicates has samples on both. The optimizer's state is shared over the axis of the batch.

// CHECK: epl.mesh @grid axes ["rows"=2 : data, "columns"=2 : model]
// CHECK: func.func @main(%{{.*}}: !epl.dist<tensor<6x8xf32>, <@grid, [{}, {"columns"}]>>
// CHECK-SAME: %{{.*}}: !epl.dist<tensor<8x4xf32>, <@grid, [{"columns"}, {}]>>
// CHECK-SAME: %{{.*}}: !epl.dist<tensor<8x6xf32>, <@grid, [{"rows"}, {}]>>
// CHECK-SAME: %{{.*}}: !epl.dist<tensor<8x6xf32>, <@grid, [{"rows", "columns"}, {}]>>
// CHECK: epl.all_reduce {{.*}} partial = sum{"columns"}
epl.mesh @grid axes ["rows"=2 : data, "columns"=2 : model]
func.func @main(%up: tensor<6x8xf32> {epl.role = "state", epl.name = "up"},
                %down: tensor<8x4xf32> {epl.role = "state", epl.name = "down"},
                %x: tensor<8x6xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "x"},
                %y: tensor<8x6xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "y"})
    -> (tensor<6x8xf32> {epl.updates = 0 : i64}, tensor<8x4xf32> {epl.updates = 1 : i64}, tensor<8x4xf32>, tensor<8x6xf32>) {
  %r = epl.replicate devices(1) -> tensor<8x6xf32> {
    %e = math.exp %y : tensor<8x6xf32>
    epl.yield %e : tensor<8x6xf32>
  }
  %o = epl.split devices(2) -> tensor<8x4xf32> {
    %zero = arith.constant 0.0 : f32
    %e0 = tensor.empty() : tensor<8x8xf32>
    %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<8x8xf32>) -> tensor<8x8xf32>
    %h = linalg.matmul ins(%x, %up : tensor<8x6xf32>, tensor<6x8xf32>) outs(%z0 : tensor<8x8xf32>) -> tensor<8x8xf32>
    %t = math.tanh %h : tensor<8x8xf32>
    %e1 = tensor.empty() : tensor<8x4xf32>
    %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8x4xf32>) -> tensor<8x4xf32>
    %m = linalg.matmul ins(%t, %down : tensor<8x8xf32>, tensor<8x4xf32>) outs(%z1 : tensor<8x4xf32>) -> tensor<8x4xf32>
    epl.yield %m : tensor<8x4xf32>
  }
  return %up, %down, %o, %r : tensor<6x8xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x6xf32>
}

// -----

// Names that would say the contrary.
// CHECK: epl.mesh @grid axes ["model"=2 : data, "data"=2 : model]
// CHECK: func.func @main(%{{.*}}: !epl.dist<tensor<6x8xf32>, <@grid, [{}, {"data"}]>>
// CHECK-SAME: %{{.*}}: !epl.dist<tensor<8x6xf32>, <@grid, [{"model"}, {}]>>
epl.mesh @grid axes ["model"=2 : data, "data"=2 : model]
func.func @main(%up: tensor<6x8xf32> {epl.role = "state", epl.name = "up"},
                %x: tensor<8x6xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "x"})
    -> (tensor<6x8xf32> {epl.updates = 0 : i64}, tensor<8x8xf32>) {
  %o = epl.split devices(2) -> tensor<8x8xf32> {
    %zero = arith.constant 0.0 : f32
    %e0 = tensor.empty() : tensor<8x8xf32>
    %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<8x8xf32>) -> tensor<8x8xf32>
    %h = linalg.matmul ins(%x, %up : tensor<8x6xf32>, tensor<6x8xf32>) outs(%z0 : tensor<8x8xf32>) -> tensor<8x8xf32>
    epl.yield %h : tensor<8x8xf32>
  }
  return %up, %o : tensor<6x8xf32>, tensor<8x8xf32>
}
