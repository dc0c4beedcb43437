// RUN: epl-compile %s --devices=cpu:2 -o %t.eplan && epl-plan dump %t.eplan | FileCheck %s

// A product of two gates: the plan splits each, the caller sees one matrix. Nothing but the sum of the last
// product is exchanged.

// CHECK: slot s0 "gates" state f32[4x2x8] sharding [{}, {}, {"model"}] seen as 4x16
// CHECK: slot s1 "down" state f32[8x4] sharding [{"model"}, {}]
// CHECK: slot s3 "gates" result f32[4x2x8] sharding [{}, {}, {"model"}] seen as 4x16 updates s0
// CHECK-NOT: exchange_blocks
// CHECK-NOT: gather_blocks
// CHECK-NOT: reduce_blocks
// CHECK: reduce_part sum c0 {{.*}} 32xf32
// CHECK-NOT: reduce_part
func.func @main(%gates: tensor<4x16xf32> {epl.role = "state", epl.name = "gates"},
                %down: tensor<8x4xf32> {epl.role = "state", epl.name = "down"},
                %x: tensor<8x4xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "x"})
    -> (tensor<4x16xf32> {epl.updates = 0 : i64, epl.name = "gates"}, tensor<8x4xf32> {epl.name = "y"}) {
  %r0, %r1 = epl.split devices(2) -> tensor<4x16xf32>, tensor<8x4xf32> {
    %zero = arith.constant 0.0 : f32
    %e0 = tensor.empty() : tensor<8x16xf32>
    %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<8x16xf32>) -> tensor<8x16xf32>
    %h = linalg.matmul ins(%x, %gates : tensor<8x4xf32>, tensor<4x16xf32>) outs(%z0 : tensor<8x16xf32>) -> tensor<8x16xf32>
    %a = tensor.extract_slice %h[0, 0] [8, 8] [1, 1] : tensor<8x16xf32> to tensor<8x8xf32>
    %b = tensor.extract_slice %h[0, 8] [8, 8] [1, 1] : tensor<8x16xf32> to tensor<8x8xf32>
    %p = arith.mulf %a, %b : tensor<8x8xf32>
    %e1 = tensor.empty() : tensor<8x4xf32>
    %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8x4xf32>) -> tensor<8x4xf32>
    %y = linalg.matmul ins(%p, %down : tensor<8x8xf32>, tensor<8x4xf32>) outs(%z1 : tensor<8x4xf32>) -> tensor<8x4xf32>
    %n = arith.negf %gates : tensor<4x16xf32>
    epl.yield %n, %y : tensor<4x16xf32>, tensor<8x4xf32>
  }
  return %r0, %r1 : tensor<4x16xf32>, tensor<8x4xf32>
}
