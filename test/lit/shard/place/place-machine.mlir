// RUN: epl-opt %s -split-input-file -epl-propagate -epl-place -epl-verify-sharded | FileCheck %s

// Two pending vectors of 16 bytes become a matrix of 64. Where a sum costs nothing but its bytes, the two are
// completed; where each has to wait long, one sum of more bytes is better.

#batch = #epl.sharding<@mesh, [{"data"}, {}]>
#forward = #epl.work<@tg0, forward>

// CHECK-LABEL: func.func @no_latency
// CHECK-COUNT-2: epl.reshard {{.*}} : tensor<4xf32>
// CHECK-NOT: epl.reshard
// CHECK: return
module attributes {epl.machine = #epl.machine<kind = "cpu", compute = <f64 = 1, f32 = 1, f16 = 1>,
    memory = <bytes = 1, bytes_per_second = 1, latency_ns = 1>,
    within_process = <bytes_per_second = 1000000000, latency_ns = 1>,
    between_processes = <bytes_per_second = 1, latency_ns = 1>, between_nodes = <bytes_per_second = 1, latency_ns = 1>>} {
  epl.mesh @mesh axes ["data"=2]
  epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
  func.func @no_latency(%x: tensor<8x4xf32> {epl.sharding = #batch}, %y: tensor<8x4xf32> {epl.sharding = #batch}) -> tensor<4x4xf32> {
    %z = arith.constant {epl.work = #forward} dense<0.0> : tensor<4xf32>
    %e = tensor.empty() {epl.work = #forward} : tensor<4x4xf32>
    %0 = linalg.reduce { arith.addf } ins(%x : tensor<8x4xf32>) outs(%z : tensor<4xf32>) dimensions = [0] {epl.work = #forward}
    %1 = linalg.reduce { arith.addf } ins(%y : tensor<8x4xf32>) outs(%z : tensor<4xf32>) dimensions = [0] {epl.work = #forward}
    %2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
                         iterator_types = ["parallel", "parallel"]}
        ins(%0, %1 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4x4xf32>) attrs = {epl.work = #forward} {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<4x4xf32>
    %3 = math.exp %2 {epl.work = #forward} : tensor<4x4xf32>
    return %3 : tensor<4x4xf32>
  }
}

// -----

#batch = #epl.sharding<@mesh, [{"data"}, {}]>
#forward = #epl.work<@tg0, forward>

// CHECK-LABEL: func.func @latency
// CHECK-NOT: epl.reshard {{.*}} : tensor<4xf32>
// CHECK: epl.reshard {{.*}} : tensor<4x4xf32>
// CHECK: return
module attributes {epl.machine = #epl.machine<kind = "cpu", compute = <f64 = 1, f32 = 1, f16 = 1>,
    memory = <bytes = 1, bytes_per_second = 1, latency_ns = 1>,
    within_process = <bytes_per_second = 1000000000, latency_ns = 10000000>,
    between_processes = <bytes_per_second = 1, latency_ns = 1>, between_nodes = <bytes_per_second = 1, latency_ns = 1>>} {
  epl.mesh @mesh axes ["data"=2]
  epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
  func.func @latency(%x: tensor<8x4xf32> {epl.sharding = #batch}, %y: tensor<8x4xf32> {epl.sharding = #batch}) -> tensor<4x4xf32> {
    %z = arith.constant {epl.work = #forward} dense<0.0> : tensor<4xf32>
    %e = tensor.empty() {epl.work = #forward} : tensor<4x4xf32>
    %0 = linalg.reduce { arith.addf } ins(%x : tensor<8x4xf32>) outs(%z : tensor<4xf32>) dimensions = [0] {epl.work = #forward}
    %1 = linalg.reduce { arith.addf } ins(%y : tensor<8x4xf32>) outs(%z : tensor<4xf32>) dimensions = [0] {epl.work = #forward}
    %2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
                         iterator_types = ["parallel", "parallel"]}
        ins(%0, %1 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4x4xf32>) attrs = {epl.work = #forward} {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<4x4xf32>
    %3 = math.exp %2 {epl.work = #forward} : tensor<4x4xf32>
    return %3 : tensor<4x4xf32>
  }
}
