// RUN: epl-compile %s --devices=cpu:4 --emit=local --explain-split 2>&1 | FileCheck %s
// RUN: epl-opt %s --epl-annotate=devices=4 --epl-shard=explain-split=true 2>&1 | FileCheck %s

// A region that is split, on twice as many devices: each pair holds halves of the parameters and shares its half of
// the batch.

// CHECK: remark: axis "model" of size 2: how it splits parameters, and the bytes that its devices exchange
// CHECK-NEXT: {{^}}| parameter | type            | split along | bytes | runner-up   | bytes |{{$}}
// CHECK-NEXT: {{^}}| up        | tensor<6x8xf32> | dimension 1 |   256 | dimension 0 |   {{[0-9]+}} |{{$}}
// CHECK-NEXT: {{^}}| down      | tensor<8x4xf32> | dimension 0 |   256 | dimension 1 |   {{[0-9]+}} |{{$}}
// CHECK: epl.mesh @mesh axes ["data"=2, "model"=2]
// CHECK: func.func @main(%{{.*}}: !epl.dist<tensor<6x8xf32>, <@mesh, [{}, {"model"}]>>
// CHECK-SAME: %{{.*}}: !epl.dist<tensor<8x4xf32>, <@mesh, [{"model"}, {}]>>
// CHECK-SAME: %{{.*}}: !epl.dist<tensor<8x6xf32>, <@mesh, [{"data"}, {}]>>
// CHECK-COUNT-1: epl.all_reduce {{.*}} partial = sum{"model"}
// CHECK-NOT: epl.all_
func.func @main(%up: tensor<6x8xf32> {epl.role = "state", epl.name = "up"},
                %down: tensor<8x4xf32> {epl.role = "state", epl.name = "down"},
                %x: tensor<8x6xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "x"})
    -> (tensor<6x8xf32> {epl.updates = 0 : i64}, tensor<8x4xf32> {epl.updates = 1 : i64}, tensor<8x4xf32>) {
  %y = epl.split devices(2) -> tensor<8x4xf32> {
    %zero = arith.constant 0.0 : f32
    %e0 = tensor.empty() : tensor<8x8xf32>
    %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<8x8xf32>) -> tensor<8x8xf32>
    %h = linalg.matmul ins(%x, %up : tensor<8x6xf32>, tensor<6x8xf32>) outs(%z0 : tensor<8x8xf32>) -> tensor<8x8xf32>
    %t = math.tanh %h : tensor<8x8xf32>
    %e1 = tensor.empty() : tensor<8x4xf32>
    %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8x4xf32>) -> tensor<8x4xf32>
    %o = linalg.matmul ins(%t, %down : tensor<8x8xf32>, tensor<8x4xf32>) outs(%z1 : tensor<8x4xf32>) -> tensor<8x4xf32>
    epl.yield %o : tensor<8x4xf32>
  }
  return %up, %down, %y : tensor<6x8xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}
