// RUN: epl-opt %s -split-input-file -epl-seed-batch -epl-seed-split | FileCheck %s

// A matrix of 256 bytes that is sorted along its rows, then multiplied by; the product, of 2048 bytes, is sorted along
// its columns. Split by rows, the matrix is gathered and each device does all 4096 multiply-adds. Split by columns,
// each does half of them, and the product is gathered. That pays where 1792 bytes take less time than 2048
// multiply-adds.

#forward = #epl.work<@tg0, forward>

// A device does as many multiply-adds in a second as it gets bytes: the work is split.
// CHECK-LABEL: func.func @fast_link
// CHECK-SAME: epl.name = "w"{{[^%]*}}epl.sharding = #epl.sharding<@mesh, [{}, {"model"}]>
module attributes {epl.machine = #epl.machine<kind = "cpu", compute = <f64 = 1000, f32 = 1000, f16 = 1000>,
    memory = <bytes = 1, bytes_per_second = 1, latency_ns = 1>,
    within_process = <bytes_per_second = 1000, latency_ns = 1>,
    between_processes = <bytes_per_second = 1, latency_ns = 1>, between_nodes = <bytes_per_second = 1, latency_ns = 1>>} {
  epl.mesh @mesh axes ["data"=1, "model"=2]
  epl.taskgraph @tg0 strategy(<split, 2>) on @mesh
  func.func @fast_link(%w: tensor<8x8xf32> {epl.role = "state", epl.name = "w"},
                %x: tensor<64x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "x"},
                %u: tensor<2x8xf32>) -> (tensor<64x8xf32>, tensor<2x8xf32>) {
    %zero = arith.constant {epl.work = #forward} dense<0.0> : tensor<64x8xf32>
    %sorted = epl.sort %w dim 0 {epl.work = #forward} : (tensor<8x8xf32>) -> tensor<8x8xf32> {
    ^bb0(%a: f32, %b: f32):
      %before = arith.cmpf olt, %a, %b : f32
      epl.yield %before : i1
    }
    %y = linalg.matmul {epl.work = #forward} ins(%x, %sorted : tensor<64x8xf32>, tensor<8x8xf32>) outs(%zero : tensor<64x8xf32>) -> tensor<64x8xf32>
    %ranked = epl.sort %y dim 1 {epl.work = #forward} : (tensor<64x8xf32>) -> tensor<64x8xf32> {
    ^bb0(%a: f32, %b: f32):
      %before = arith.cmpf olt, %a, %b : f32
      epl.yield %before : i1
    }
    %few = arith.constant {epl.work = #forward} dense<0.0> : tensor<2x8xf32>
    %v = linalg.matmul {epl.work = #forward} ins(%u, %w : tensor<2x8xf32>, tensor<8x8xf32>) outs(%few : tensor<2x8xf32>) -> tensor<2x8xf32>
    return %ranked, %v : tensor<64x8xf32>, tensor<2x8xf32>
  }
}

// -----

#forward = #epl.work<@tg0, forward>

// The link is ten times slower: the work is not split.
// CHECK-LABEL: func.func @slow_link
// CHECK-SAME: epl.name = "w"{{[^%]*}}epl.sharding = #epl.sharding<@mesh, [{"model"}, {}]>
module attributes {epl.machine = #epl.machine<kind = "cpu", compute = <f64 = 1000, f32 = 1000, f16 = 1000>,
    memory = <bytes = 1, bytes_per_second = 1, latency_ns = 1>,
    within_process = <bytes_per_second = 100, latency_ns = 1>,
    between_processes = <bytes_per_second = 1, latency_ns = 1>, between_nodes = <bytes_per_second = 1, latency_ns = 1>>} {
  epl.mesh @mesh axes ["data"=1, "model"=2]
  epl.taskgraph @tg0 strategy(<split, 2>) on @mesh
  func.func @slow_link(%w: tensor<8x8xf32> {epl.role = "state", epl.name = "w"},
                %x: tensor<64x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "x"},
                %u: tensor<2x8xf32>) -> (tensor<64x8xf32>, tensor<2x8xf32>) {
    %zero = arith.constant {epl.work = #forward} dense<0.0> : tensor<64x8xf32>
    %sorted = epl.sort %w dim 0 {epl.work = #forward} : (tensor<8x8xf32>) -> tensor<8x8xf32> {
    ^bb0(%a: f32, %b: f32):
      %before = arith.cmpf olt, %a, %b : f32
      epl.yield %before : i1
    }
    %y = linalg.matmul {epl.work = #forward} ins(%x, %sorted : tensor<64x8xf32>, tensor<8x8xf32>) outs(%zero : tensor<64x8xf32>) -> tensor<64x8xf32>
    %ranked = epl.sort %y dim 1 {epl.work = #forward} : (tensor<64x8xf32>) -> tensor<64x8xf32> {
    ^bb0(%a: f32, %b: f32):
      %before = arith.cmpf olt, %a, %b : f32
      epl.yield %before : i1
    }
    %few = arith.constant {epl.work = #forward} dense<0.0> : tensor<2x8xf32>
    %v = linalg.matmul {epl.work = #forward} ins(%u, %w : tensor<2x8xf32>, tensor<8x8xf32>) outs(%few : tensor<2x8xf32>) -> tensor<2x8xf32>
    return %ranked, %v : tensor<64x8xf32>, tensor<2x8xf32>
  }
}

// -----

#forward = #epl.work<@tg0, forward>

// Elements of twice the size take ten times as long to multiply here, so that it pays again.
// CHECK-LABEL: func.func @slow_type
// CHECK-SAME: epl.name = "w"{{[^%]*}}epl.sharding = #epl.sharding<@mesh, [{}, {"model"}]>
module attributes {epl.machine = #epl.machine<kind = "cpu", compute = <f64 = 100, f32 = 1000, f16 = 1000>,
    memory = <bytes = 1, bytes_per_second = 1, latency_ns = 1>,
    within_process = <bytes_per_second = 200, latency_ns = 1>,
    between_processes = <bytes_per_second = 1, latency_ns = 1>, between_nodes = <bytes_per_second = 1, latency_ns = 1>>} {
  epl.mesh @mesh axes ["data"=1, "model"=2]
  epl.taskgraph @tg0 strategy(<split, 2>) on @mesh
  func.func @slow_type(%w: tensor<8x8xf64> {epl.role = "state", epl.name = "w"},
                %x: tensor<64x8xf64> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "x"},
                %u: tensor<2x8xf64>) -> (tensor<64x8xf64>, tensor<2x8xf64>) {
    %zero = arith.constant {epl.work = #forward} dense<0.0> : tensor<64x8xf64>
    %sorted = epl.sort %w dim 0 {epl.work = #forward} : (tensor<8x8xf64>) -> tensor<8x8xf64> {
    ^bb0(%a: f64, %b: f64):
      %before = arith.cmpf olt, %a, %b : f64
      epl.yield %before : i1
    }
    %y = linalg.matmul {epl.work = #forward} ins(%x, %sorted : tensor<64x8xf64>, tensor<8x8xf64>) outs(%zero : tensor<64x8xf64>) -> tensor<64x8xf64>
    %ranked = epl.sort %y dim 1 {epl.work = #forward} : (tensor<64x8xf64>) -> tensor<64x8xf64> {
    ^bb0(%a: f64, %b: f64):
      %before = arith.cmpf olt, %a, %b : f64
      epl.yield %before : i1
    }
    %few = arith.constant {epl.work = #forward} dense<0.0> : tensor<2x8xf64>
    %v = linalg.matmul {epl.work = #forward} ins(%u, %w : tensor<2x8xf64>, tensor<8x8xf64>) outs(%few : tensor<2x8xf64>) -> tensor<2x8xf64>
    return %ranked, %v : tensor<64x8xf64>, tensor<2x8xf64>
  }
}
