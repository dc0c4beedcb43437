// RUN: epl-compile %s --devices=cuda:0 --offload -o %t.eplan && epl-plan dump %t.eplan | FileCheck %s
// RUN: epl-plan explain %t.eplan | FileCheck %s --check-prefix=EXPLAIN
// RUN: epl-plan verify %t.eplan | FileCheck %s --check-prefix=VERIFY

// RUN: not epl-compile %s --devices=cuda:0 --offload-results -o %t.eplan 2>&1 | FileCheck %s --check-prefix=ALONE

// Two layers, whose weights are states in memory of the host. The first product reads a copy; so does the second one,
// whose weight is copied meanwhile; the update of the second one reads the same copy, as nothing larger has been copied
// since, and its value is copied out. The number stays on the card.

// CHECK: made by "epl-compile" with "{{.*}} --offload"
// CHECK: slot s0 "w0" state f32[8x8] sharding [{}, {}] in the host{{$}}
// CHECK: slot s1 "w1" state f32[8x8] sharding [{}, {}] in the host{{$}}
// CHECK: slot s2 "rate" state f32[] sharding []{{$}}
// CHECK: slot s5 "w1" result f32[8x8] sharding [{}, {}] in the host updates s1 of #[[OUT:[0-9]+]]
// CHECK: lane 0 compute
// CHECK: contract {{.*}} after #[[IN0:[0-9]+]]
// CHECK: contract {{.*}} x [[W1:b[0-9]+]] {{.*}} after #[[IN1:[0-9]+]]
// CHECK: #[[UPDATE:[0-9]+]] {{.*}} launch {{.*}} ({{.*}}[[W1]]{{.*}})
// CHECK: lane 1 copy_in
// CHECK-NEXT: #[[IN0]] "copy in w0" copy b{{[0-9]+}} -> b{{[0-9]+}}, 256 bytes reads 0:s0 work "tg0.forward" at "{{.*}}offload.mlir:
// CHECK-NEXT: #[[IN1]] "copy in w1" copy b{{[0-9]+}} -> [[W1]], 256 bytes reads 0:s1
// CHECK-NEXT: lane 2 copy_out
// CHECK-NEXT: #[[OUT]] "copy out w1" copy b{{[0-9]+}} -> b{{[0-9]+}}, 256 bytes after #[[UPDATE]]

// EXPLAIN: memory of a device
// EXPLAIN: 4 B states, kept between steps
// EXPLAIN-NEXT: 512 B states in memory of the host
// EXPLAIN-NEXT: 768 B copied from and to the host in a step
// EXPLAIN: 1 {{.*}} copy to the host

// VERIFY: cuda:0 = data 1

// ALONE: --offload-results requires --offload

#id = affine_map<(d0, d1) -> (d0, d1)>
#number = affine_map<(d0, d1) -> ()>
func.func @main(%w0: tensor<8x8xf32> {epl.role = "state", epl.name = "w0"},
                %w1: tensor<8x8xf32> {epl.role = "state", epl.name = "w1"},
                %rate: tensor<f32> {epl.role = "state", epl.name = "rate"},
                %x: tensor<8x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "x"})
    -> (tensor<8x8xf32> {epl.updates = 0 : i64, epl.name = "w0"},
        tensor<8x8xf32> {epl.updates = 1 : i64, epl.name = "w1"},
        tensor<f32> {epl.updates = 2 : i64, epl.name = "rate"}) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = epl.replicate -> tensor<8x8xf32> {
    %h = linalg.matmul ins(%x, %w0 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
    %0 = linalg.matmul ins(%h, %w1 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
    epl.yield %0 : tensor<8x8xf32>
  }
  %new = linalg.generic {indexing_maps = [#id, #id, #number, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w1, %y, %rate : tensor<8x8xf32>, tensor<8x8xf32>, tensor<f32>) outs(%empty : tensor<8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %r: f32, %out: f32):
    %scaled = arith.mulf %b, %r : f32
    %s = arith.subf %a, %scaled : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32>
  return %w0, %new, %rate : tensor<8x8xf32>, tensor<8x8xf32>, tensor<f32>
}
