// RUN: epl-opt %s --split-input-file --epl-annotate=devices=2 --epl-find-stages | FileCheck %s
// RUN: epl-opt %s --split-input-file --epl-annotate --epl-find-stages | FileCheck %s --check-prefix=ONE
// RUN: epl-opt %s --split-input-file --epl-annotate=devices=2 --epl-find-stages=explain -o /dev/null 2>&1 | FileCheck %s --check-prefix=SAYS

// Three products, and one of eight times the work, which is a stage by itself. What stands between two products is
// with the first of them, up to the last of the narrowest places. On one device nothing is cut.

// CHECK: epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh0{{$}}
// CHECK-NEXT: epl.taskgraph @tg0_1 strategy(<replicate, 1>) on @mesh1{{$}}
// CHECK-LABEL: func.func @unequal
// CHECK-COUNT-4: linalg.generic {{.*}}epl.work = #epl.work<@tg0, forward>
// CHECK: linalg.generic {{.*}}epl.work = #epl.work<@tg0_1, forward>
// ONE-LABEL: func.func @unequal
// ONE-NOT: #epl.work<@tg0_1
#machine = #epl.machine<kind = "cpu", compute = <f64 = 80000000000, f32 = 80000000000, f16 = 80000000000>,
    memory = <bytes = 4294967296, bytes_per_second = 20000000000, latency_ns = 100>,
    within_process = <bytes_per_second = 1000000000000, latency_ns = 1>,
    between_processes = <bytes_per_second = 1000000000000, latency_ns = 1>,
    between_nodes = <bytes_per_second = 1000000000000, latency_ns = 1>>
module attributes {epl.machine = #machine} {
  func.func @unequal(%w0: tensor<8x8xf32> {epl.role = "state"}, %w1: tensor<8x8xf32> {epl.role = "state"},
                     %w2: tensor<8x8xf32> {epl.role = "state"}, %w3: tensor<8x64xf32> {epl.role = "state"},
                     %x: tensor<64x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<64x64xf32> {
    %y = epl.replicate -> tensor<64x64xf32> {
      %zero = arith.constant dense<0.0> : tensor<64x8xf32>
      %wide = arith.constant dense<0.0> : tensor<64x64xf32>
      %0 = linalg.matmul ins(%x, %w0 : tensor<64x8xf32>, tensor<8x8xf32>) outs(%zero : tensor<64x8xf32>) -> tensor<64x8xf32>
      %1 = linalg.matmul ins(%0, %w1 : tensor<64x8xf32>, tensor<8x8xf32>) outs(%zero : tensor<64x8xf32>) -> tensor<64x8xf32>
      %2 = linalg.matmul ins(%1, %w2 : tensor<64x8xf32>, tensor<8x8xf32>) outs(%zero : tensor<64x8xf32>) -> tensor<64x8xf32>
      %3 = math.tanh %2 : tensor<64x8xf32>
      %4 = linalg.matmul ins(%3, %w3 : tensor<64x8xf32>, tensor<8x64xf32>) outs(%wide : tensor<64x64xf32>) -> tensor<64x64xf32>
      epl.yield %4 : tensor<64x64xf32>
    } {epl.stages = 2 : i64}
    return %y : tensor<64x64xf32>
  }
}

// -----

// A residual is read behind the cut: a sine of it is with the product that reads the sine, so that one value crosses.
// What parameters alone make is with its reader.

// CHECK-LABEL: func.func @residual
// CHECK: ins(%arg1 {{.*}}epl.work = #epl.work<@tg0_1, forward>
// CHECK: math.tanh
// CHECK: ins(%arg2, %arg0 {{.*}}epl.work = #epl.work<@tg0, forward>
// CHECK: epl.work = #epl.work<@tg0_1, forward>
// CHECK: math.sin
// CHECK-NOT: #epl.work<@tg0,
func.func @residual(%w0: tensor<8x8xf32> {epl.role = "state"}, %w1: tensor<8x8xf32> {epl.role = "state"},
                    %x: tensor<64x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<64x8xf32> {
  %y = epl.replicate -> tensor<64x8xf32> {
    %zero = arith.constant dense<0.0> : tensor<64x8xf32>
    %none = tensor.empty() : tensor<64x8xf32>
    %v1 = math.tanh %w1 : tensor<8x8xf32>
    %0 = linalg.matmul ins(%x, %w0 : tensor<64x8xf32>, tensor<8x8xf32>) outs(%zero : tensor<64x8xf32>) -> tensor<64x8xf32>
    %1 = math.sin %0 : tensor<64x8xf32>
    %2 = linalg.matmul ins(%1, %v1 : tensor<64x8xf32>, tensor<8x8xf32>) outs(%zero : tensor<64x8xf32>) -> tensor<64x8xf32>
    %3 = linalg.add ins(%2, %0 : tensor<64x8xf32>, tensor<64x8xf32>) outs(%none : tensor<64x8xf32>) -> tensor<64x8xf32>
    epl.yield %3 : tensor<64x8xf32>
  } {epl.stages = 2 : i64}
  return %y : tensor<64x8xf32>
}

// -----

// A weight that the first and the last product read, with gradients of both: each is made where its product is, their
// sum and the update where the earlier one is. The gradient of the activation between them is made behind the cut and
// goes on before it.

// CHECK-LABEL: func.func @tied
// CHECK: linalg.generic {{.*}}ins(%arg1, %arg0 {{.*}}#epl.work<@tg0, forward>
// CHECK: %[[Y:.*]] = linalg.generic {{.*}}#epl.work<@tg0_1, forward>
// CHECK: %[[DH:.*]] = linalg.generic {{.*}}ins(%[[Y]], %arg0 {{.*}}#epl.work<@tg0_1, backward>
// CHECK: %[[LAST:.*]] = linalg.generic {{.*}}#epl.work<@tg0_1, backward>
// CHECK: %[[FIRST:.*]] = linalg.generic {{.*}}ins(%arg1, %[[DH]] {{.*}}#epl.work<@tg0, backward>
// CHECK: linalg.generic {{.*}}ins(%[[LAST]], %[[FIRST]] {{.*}}#epl.work<@tg0, backward>
// CHECK: linalg.generic {{.*}}#epl.work<@tg0, apply>
#work0 = loc("jit(step)/jvp(epl.s0)/dot")
#back0 = loc("jit(step)/transpose(jvp(epl.s0))/dot")
func.func @tied(%w: tensor<8x8xf32> {epl.role = "state"},
                %x: tensor<8x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<8x8xf32> {epl.updates = 0 : i64})
    attributes {epl.scopes = {s0 = #epl.scope<replicate, 1, "">}, epl.stages = {s0 = 2}} {
  %zero = arith.constant dense<0.0> : tensor<8x8xf32> loc(#work0)
  %h = linalg.matmul ins(%x, %w : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zero : tensor<8x8xf32>) -> tensor<8x8xf32> loc(#work0)
  %y = linalg.matmul ins(%h, %w : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zero : tensor<8x8xf32>) -> tensor<8x8xf32> loc(#work0)
  %gzero = arith.constant dense<0.0> : tensor<8x8xf32> loc(#back0)
  %dh = linalg.matmul ins(%y, %w : tensor<8x8xf32>, tensor<8x8xf32>) outs(%gzero : tensor<8x8xf32>) -> tensor<8x8xf32> loc(#back0)
  %dw1 = linalg.matmul ins(%h, %y : tensor<8x8xf32>, tensor<8x8xf32>) outs(%gzero : tensor<8x8xf32>) -> tensor<8x8xf32> loc(#back0)
  %dw0 = linalg.matmul ins(%x, %dh : tensor<8x8xf32>, tensor<8x8xf32>) outs(%gzero : tensor<8x8xf32>) -> tensor<8x8xf32> loc(#back0)
  %dw = arith.addf %dw1, %dw0 : tensor<8x8xf32> loc(#back0)
  %new = arith.subf %w, %dw : tensor<8x8xf32> loc("jit(step)/sub")
  return %new : tensor<8x8xf32>
}

// -----

// Two layers of a stack on each mesh. What decays the rows is done with what applies gradients, where they are: neither
// the rows nor their gradients cross, only the samples between the layers and their gradient.

// SAYS: 4 blocks in 2 stages: {{.*}}, 512 bytes are sent
// SAYS-NEXT: stage | blocks
// SAYS-NEXT: | 0 | 0 to 1 | {{.*}} | 256 |
// SAYS-NEXT: | 1 | 2 to 3 | {{.*}} | 256 |
// CHECK-LABEL: func.func @decayed
// CHECK-COUNT-2: linalg.generic {{.*}}"reduction"{{.*}}#epl.work<@tg0, forward>
// CHECK-COUNT-2: linalg.generic {{.*}}"reduction"{{.*}}#epl.work<@tg0_1, forward>
#fwd = loc("jit(step)/jvp(epl.s0)/dot")
#bwd = loc("jit(step)/transpose(jvp(epl.s0))/dot")
module attributes {epl.machine = #epl.machine<kind = "cpu", compute = <f64 = 80000000000, f32 = 80000000000, f16 = 80000000000>,
    memory = <bytes = 4294967296, bytes_per_second = 20000000000, latency_ns = 100>,
    within_process = <bytes_per_second = 1000000000000, latency_ns = 1>,
    between_processes = <bytes_per_second = 1000000000000, latency_ns = 1>,
    between_nodes = <bytes_per_second = 1000000000000, latency_ns = 1>>} {
  func.func @decayed(%w: tensor<4x8x8xf32> {epl.role = "state"},
                     %x: tensor<8x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64})
      -> (tensor<4x8x8xf32> {epl.updates = 0 : i64})
      attributes {epl.scopes = {s0 = #epl.scope<replicate, 1, "">}, epl.stages = {s0 = 2}} {
    %zero = arith.constant dense<0.0> : tensor<8x8xf32> loc(#fwd)
    %w0 = tensor.extract_slice %w[0, 0, 0] [1, 8, 8] [1, 1, 1] : tensor<4x8x8xf32> to tensor<8x8xf32> loc(#fwd)
    %h0 = linalg.matmul ins(%x, %w0 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zero : tensor<8x8xf32>) -> tensor<8x8xf32> loc(#fwd)
    %w1 = tensor.extract_slice %w[1, 0, 0] [1, 8, 8] [1, 1, 1] : tensor<4x8x8xf32> to tensor<8x8xf32> loc(#fwd)
    %h1 = linalg.matmul ins(%h0, %w1 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zero : tensor<8x8xf32>) -> tensor<8x8xf32> loc(#fwd)
    %w2 = tensor.extract_slice %w[2, 0, 0] [1, 8, 8] [1, 1, 1] : tensor<4x8x8xf32> to tensor<8x8xf32> loc(#fwd)
    %h2 = linalg.matmul ins(%h1, %w2 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zero : tensor<8x8xf32>) -> tensor<8x8xf32> loc(#fwd)
    %w3 = tensor.extract_slice %w[3, 0, 0] [1, 8, 8] [1, 1, 1] : tensor<4x8x8xf32> to tensor<8x8xf32> loc(#fwd)
    %y = linalg.matmul ins(%h2, %w3 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zero : tensor<8x8xf32>) -> tensor<8x8xf32> loc(#fwd)
    %gzero = arith.constant dense<0.0> : tensor<8x8xf32> loc(#bwd)
    %d3 = linalg.matmul ins(%h2, %y : tensor<8x8xf32>, tensor<8x8xf32>) outs(%gzero : tensor<8x8xf32>) -> tensor<8x8xf32> loc(#bwd)
    %g2 = linalg.matmul ins(%y, %w3 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%gzero : tensor<8x8xf32>) -> tensor<8x8xf32> loc(#bwd)
    %d2 = linalg.matmul ins(%h1, %g2 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%gzero : tensor<8x8xf32>) -> tensor<8x8xf32> loc(#bwd)
    %g1 = linalg.matmul ins(%g2, %w2 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%gzero : tensor<8x8xf32>) -> tensor<8x8xf32> loc(#bwd)
    %d1 = linalg.matmul ins(%h0, %g1 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%gzero : tensor<8x8xf32>) -> tensor<8x8xf32> loc(#bwd)
    %g0 = linalg.matmul ins(%g1, %w1 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%gzero : tensor<8x8xf32>) -> tensor<8x8xf32> loc(#bwd)
    %d0 = linalg.matmul ins(%x, %g0 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%gzero : tensor<8x8xf32>) -> tensor<8x8xf32> loc(#bwd)
    %r0 = tensor.expand_shape %d0 [[0, 1], [2]] output_shape [1, 8, 8] : tensor<8x8xf32> into tensor<1x8x8xf32> loc(#bwd)
    %r1 = tensor.expand_shape %d1 [[0, 1], [2]] output_shape [1, 8, 8] : tensor<8x8xf32> into tensor<1x8x8xf32> loc(#bwd)
    %r2 = tensor.expand_shape %d2 [[0, 1], [2]] output_shape [1, 8, 8] : tensor<8x8xf32> into tensor<1x8x8xf32> loc(#bwd)
    %r3 = tensor.expand_shape %d3 [[0, 1], [2]] output_shape [1, 8, 8] : tensor<8x8xf32> into tensor<1x8x8xf32> loc(#bwd)
    %g = epl.concatenate %r0, %r1, %r2, %r3 dim 0
        : (tensor<1x8x8xf32>, tensor<1x8x8xf32>, tensor<1x8x8xf32>, tensor<1x8x8xf32>) -> tensor<4x8x8xf32> loc(#bwd)
    %rate = arith.constant dense<0.5> : tensor<4x8x8xf32>
    %decay = arith.mulf %w, %rate : tensor<4x8x8xf32> loc("jit(step)/mul")
    %sum = arith.addf %g, %decay : tensor<4x8x8xf32> loc("jit(step)/add")
    %new = arith.subf %w, %sum : tensor<4x8x8xf32> loc("jit(step)/sub")
    return %new : tensor<4x8x8xf32>
  }
}

// -----

// Work on all rows of a stack is in the block that reads each of them: the first one, which reads the result first, has
// no more to do than the others.

// SAYS: 4 blocks in 2 stages: {{.*}}, 256 bytes are sent
// SAYS-NEXT: stage | blocks
// SAYS-NEXT: | 0 | 0 to 1 |
// SAYS-NEXT: | 1 | 2 to 3 |
// CHECK-LABEL: func.func @formed
#machine = #epl.machine<kind = "cpu", compute = <f64 = 80000000000, f32 = 80000000000, f16 = 80000000000>,
    memory = <bytes = 4294967296, bytes_per_second = 20000000000, latency_ns = 100>,
    within_process = <bytes_per_second = 1000000000000, latency_ns = 1>,
    between_processes = <bytes_per_second = 1000000000000, latency_ns = 1>,
    between_nodes = <bytes_per_second = 1000000000000, latency_ns = 1>>
module attributes {epl.machine = #machine} {
  func.func @formed(%w: tensor<4x8x8xf32> {epl.role = "state"},
                    %x: tensor<8x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<8x8xf32> {
    %y = epl.replicate -> tensor<8x8xf32> {
      %zero = arith.constant dense<0.0> : tensor<8x8xf32>
      %v = math.tanh %w : tensor<4x8x8xf32>
      %v0 = tensor.extract_slice %v[0, 0, 0] [1, 8, 8] [1, 1, 1] : tensor<4x8x8xf32> to tensor<8x8xf32>
      %0 = linalg.matmul ins(%x, %v0 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zero : tensor<8x8xf32>) -> tensor<8x8xf32>
      %v1 = tensor.extract_slice %v[1, 0, 0] [1, 8, 8] [1, 1, 1] : tensor<4x8x8xf32> to tensor<8x8xf32>
      %1 = linalg.matmul ins(%0, %v1 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zero : tensor<8x8xf32>) -> tensor<8x8xf32>
      %v2 = tensor.extract_slice %v[2, 0, 0] [1, 8, 8] [1, 1, 1] : tensor<4x8x8xf32> to tensor<8x8xf32>
      %2 = linalg.matmul ins(%1, %v2 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zero : tensor<8x8xf32>) -> tensor<8x8xf32>
      %v3 = tensor.extract_slice %v[3, 0, 0] [1, 8, 8] [1, 1, 1] : tensor<4x8x8xf32> to tensor<8x8xf32>
      %3 = linalg.matmul ins(%2, %v3 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zero : tensor<8x8xf32>) -> tensor<8x8xf32>
      epl.yield %3 : tensor<8x8xf32>
    } {epl.stages = 2 : i64}
    return %y : tensor<8x8xf32>
  }
}

// -----

// Norms of parameters in the result are made where these are read, of rows where each is: what crosses are the samples
// and a number for each parameter.

// SAYS: 3 blocks in 2 stages: {{.*}}, 264 bytes are sent
// SAYS-NEXT: stage | blocks
// SAYS-NEXT: | 0 | 0 to 1 |
// CHECK-LABEL: func.func @penalized
// CHECK: linalg.generic {{.*}}ins(%arg0, %arg0 {{.*}}#epl.work<@tg0, forward>
// CHECK: linalg.generic {{.*}}"reduction"{{.*}}#epl.work<@tg0, forward>
// CHECK: linalg.generic {{.*}}ins(%arg1, %arg1
#machine = #epl.machine<kind = "cpu", compute = <f64 = 80000000000, f32 = 80000000000, f16 = 80000000000>,
    memory = <bytes = 4294967296, bytes_per_second = 20000000000, latency_ns = 100>,
    within_process = <bytes_per_second = 1000000000000, latency_ns = 1>,
    between_processes = <bytes_per_second = 1000000000000, latency_ns = 1>,
    between_nodes = <bytes_per_second = 1000000000000, latency_ns = 1>>
module attributes {epl.machine = #machine} {
  func.func @penalized(%v: tensor<8x8xf32> {epl.role = "state"}, %w: tensor<2x8x8xf32> {epl.role = "state"},
                       %x: tensor<8x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<8x8xf32> {
    %y = epl.replicate -> tensor<8x8xf32> {
      %zero = arith.constant dense<0.0> : tensor<8x8xf32>
      %none = arith.constant dense<0.0> : tensor<f32>
      %0 = linalg.matmul ins(%x, %v : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zero : tensor<8x8xf32>) -> tensor<8x8xf32>
      %w0 = tensor.extract_slice %w[0, 0, 0] [1, 8, 8] [1, 1, 1] : tensor<2x8x8xf32> to tensor<8x8xf32>
      %1 = linalg.matmul ins(%0, %w0 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zero : tensor<8x8xf32>) -> tensor<8x8xf32>
      %w1 = tensor.extract_slice %w[1, 0, 0] [1, 8, 8] [1, 1, 1] : tensor<2x8x8xf32> to tensor<8x8xf32>
      %2 = linalg.matmul ins(%1, %w1 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zero : tensor<8x8xf32>) -> tensor<8x8xf32>
      %vv = arith.mulf %v, %v : tensor<8x8xf32>
      %vs = linalg.reduce {arith.addf} ins(%vv : tensor<8x8xf32>) outs(%none : tensor<f32>) dimensions = [0, 1]
      %ww = arith.mulf %w, %w : tensor<2x8x8xf32>
      %ws = linalg.reduce {arith.addf} ins(%ww : tensor<2x8x8xf32>) outs(%none : tensor<f32>) dimensions = [0, 1, 2]
      %norm = arith.addf %vs, %ws : tensor<f32>
      %spread = linalg.broadcast ins(%norm : tensor<f32>) outs(%zero : tensor<8x8xf32>) dimensions = [0, 1]
      %3 = arith.addf %2, %spread : tensor<8x8xf32>
      epl.yield %3 : tensor<8x8xf32>
    } {epl.stages = 2 : i64}
    return %y : tensor<8x8xf32>
  }
}
