// RUN: epl-opt %s --split-input-file --verify-diagnostics --epl-find-stages

epl.mesh @mesh0 axes ["data"=1]
epl.mesh @mesh1 axes ["data"=1] first 1 strides [1]
// expected-error@+1 {{2 stages of a pipeline to be found, but no forward work multiplies samples of a batch: nothing to cut}}
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh0 {epl.stages = [@tg0_1]}
epl.taskgraph @tg0_1 strategy(<replicate, 1>) on @mesh1
func.func @no_batch(%x: tensor<4x4xf32> {epl.role = "state"}) -> tensor<4x4xf32> {
  %zero = arith.constant {epl.work = #epl.work<@tg0, forward>} dense<0.0> : tensor<4x4xf32>
  %0 = linalg.matmul {epl.work = #epl.work<@tg0, forward>} ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>)
      outs(%zero : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

epl.mesh @mesh0 axes ["data"=1]
epl.mesh @mesh1 axes ["data"=1] first 1 strides [1]
// expected-error@+1 {{2 stages of a pipeline to be found, but the forward work has 1 block, one for each product of samples, expected at most as many stages}}
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh0 {epl.stages = [@tg0_1]}
epl.taskgraph @tg0_1 strategy(<replicate, 1>) on @mesh1
func.func @one_block(%w: tensor<4x4xf32> {epl.role = "state"},
                     %x: tensor<4x4xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<4x4xf32> {
  %zero = arith.constant {epl.work = #epl.work<@tg0, forward>} dense<0.0> : tensor<4x4xf32>
  // expected-note@+1 {{a block is here}}
  %0 = linalg.matmul {epl.work = #epl.work<@tg0, forward>} ins(%x, %w : tensor<4x4xf32>, tensor<4x4xf32>)
      outs(%zero : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

epl.mesh @mesh0 axes ["data"=1]
epl.mesh @mesh1 axes ["data"=1] first 1 strides [1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh0 {epl.stages = [@tg0_1]}
epl.taskgraph @tg0_1 strategy(<replicate, 1>) on @mesh1
func.func @loop(%x: tensor<4x4xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<4x4xf32> {
  // expected-error@+1 {{of a loop is in work that is cut into stages, expected after "epl-unroll-loops"}}
  %0 = epl.loop_carry <0, trip_count = 2> 0 %x {epl.work = #epl.work<@tg0, forward>} : tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = math.sin %0 {epl.work = #epl.work<@tg0, forward>} : tensor<4x4xf32>
  %2 = epl.loop_last <0, trip_count = 2> 0 %1 {epl.work = #epl.work<@tg0, forward>} : tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}
