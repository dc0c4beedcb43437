// Each reshard says which tensor moves, which op made it as it is, and who reads it otherwise.

// RUN: epl-opt %s -epl-propagate -epl-place | FileCheck %s
// RUN: epl-opt %s -epl-propagate -epl-place -epl-localize -epl-form-tasks | FileCheck %s --check-prefix=LOCAL
// RUN: epl-opt %s -epl-propagate -epl-place=explain -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK --implicit-check-not="completed:"
// REMARK: remark: completed: f32[8/data, 4]: dot_general model.py:3 sums over model; exp model.py:5 reads the sum
// REMARK: remark: completed: f32[4]: addf model.py:11 takes the max over data; the step returns the max

#forward = #epl.work<@tg0, forward>
#rows = #epl.sharding<@mesh, [{"data"}, {}]>
epl.mesh @mesh axes ["data"=2, "model"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// The sum is pending from the contraction on, and the negation passes it on.
// CHECK-LABEL: func.func @sum
// CHECK: epl.reshard {{.*}}epl.cause = "f32[8/data, 4]: dot_general model.py:3 sums over model; exp model.py:5 reads the sum"
// LOCAL-LABEL: func.func @sum
// LOCAL: epl.all_reduce {{.*}} {epl.cause = "f32[8/data, 4]: dot_general model.py:3 sums over model; exp model.py:5 reads the sum", epl.work = #epl.work<@tg0, forward>}
func.func @sum(%x: tensor<8x6xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {"model"}]>},
               %w: tensor<6x4xf32> {epl.sharding = #epl.sharding<@mesh, [{"model"}, {}]>}) -> tensor<8x4xf32> {
  %z = arith.constant {epl.work = #forward} dense<0.0> : tensor<8x4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>,
                                        affine_map<(d0, d1, d2) -> (d0, d1)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<8x6xf32>, tensor<6x4xf32>) outs(%z : tensor<8x4xf32>) attrs = {epl.work = #forward} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<8x4xf32> loc("jit(step)/jvp(epl.s0)/dot_general"("/home/me/model.py":3:1))
  %1 = arith.negf %0 {epl.work = #forward} : tensor<8x4xf32> loc("model.py":4:1)
  %2 = math.exp %1 {epl.work = #forward} : tensor<8x4xf32> loc("jit(step)/jvp(epl.s0)/exp"("model.py":5:1))
  return %2 : tensor<8x4xf32>
}

// Who reads all of a split argument; equal ops of one line are one reader. An argument is called by its name and has
// the shape that its caller sees.
// CHECK-LABEL: func.func @gather
// CHECK: epl.reshard {{.*}}epl.cause = "f32[8, 2x4/model] -> f32[8, 2x4]: params['w'] is split over model; softmax model.py:7 and 1 other read all of it"
func.func @gather(%w: tensor<8x2x4xf32> {epl.name = "params['w']", epl.caller_shape = array<i64: 8, 8>,
                                         epl.sharding = #epl.sharding<@mesh, [{}, {}, {"model"}]>},
                  %e: tensor<8x2x4xf32> {epl.sharding = #epl.sharding<@mesh, [{}, {}, {}]>}) -> (tensor<8x2x4xf32>, tensor<8x2x4xf32>) {
  %0 = linalg.softmax {epl.work = #forward} dimension(2) ins(%w : tensor<8x2x4xf32>) outs(%e : tensor<8x2x4xf32>) -> tensor<8x2x4xf32> loc("model.py":7:1)
  %1 = linalg.softmax {epl.work = #forward} dimension(2) ins(%w : tensor<8x2x4xf32>) outs(%0 : tensor<8x2x4xf32>) -> tensor<8x2x4xf32> loc("model.py":7:9)
  %2 = linalg.softmax {epl.work = #forward} dimension(2) ins(%w : tensor<8x2x4xf32>) outs(%1 : tensor<8x2x4xf32>) -> tensor<8x2x4xf32> loc("model.py":8:1)
  return %1, %2 : tensor<8x2x4xf32>, tensor<8x2x4xf32>
}

// What is split in two ways is exchanged.
// CHECK-LABEL: func.func @exchange
// CHECK: epl.reshard {{.*}}epl.cause = "f32[8, 4/data] -> f32[8/data, 4]: small is split over data; addf model.py:9 reads its part over data"
func.func @exchange(%x: tensor<8x4xf32> {epl.sharding = #rows},
                    %y: tensor<8x4xf32> {epl.name = "small", epl.sharding = #epl.sharding<@mesh, [{}, {"data"}]>}) -> tensor<8x4xf32> {
  %0 = arith.addf %x, %y {epl.work = #forward} : tensor<8x4xf32> loc("model.py":9:1)
  return %0 : tensor<8x4xf32>
}

// Only the caller reads it.
// CHECK-LABEL: func.func @result
// CHECK: epl.reshard {{.*}}epl.cause = "f32[4]: addf model.py:11 takes the max over data; the step returns the max"
func.func @result(%x: tensor<8x4xf32> {epl.sharding = #rows}) -> tensor<4xf32> {
  %z = arith.constant {epl.work = #forward} dense<0.0> : tensor<4xf32>
  %0 = linalg.reduce { arith.maximumf } ins(%x : tensor<8x4xf32>) outs(%z : tensor<4xf32>) dimensions = [0] {epl.work = #forward} loc("jit(step)/addf"("model.py":11:1))
  return %0 : tensor<4xf32>
}
