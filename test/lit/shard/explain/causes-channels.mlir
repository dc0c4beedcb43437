// RUN: epl-opt %s -epl-propagate -epl-place | FileCheck %s

// What no op of its mesh reads goes to other meshes: causes say to which, by the names of their scopes.

#forward = #epl.work<@tg0, forward>
#rows = #epl.sharding<@mesh0, [{"data"}, {}]>
epl.mesh @mesh0 axes ["data"=2] first 0 strides [3]
epl.mesh @mesh1 axes ["data"=2] first 1 strides [3]
epl.mesh @mesh2 axes ["data"=2] first 2 strides [3]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh0
epl.taskgraph @tg1 strategy(<replicate, 1>) on @mesh1 name("head")
epl.taskgraph @tg2 strategy(<replicate, 1>) on @mesh2

// CHECK-LABEL: func.func @step.mesh0
// CHECK: epl.reshard {{.*}}epl.cause = "f32[4]: reduce model.py:1 sums over data; scope \22head\22 is sent the sum"
// CHECK: epl.reshard {{.*}}epl.cause = "f32[4]: reduce model.py:2 sums over data; mesh \22mesh2\22 is sent the sum"
// CHECK: epl.reshard {{.*}}epl.cause = "f32[4]: reduce model.py:3 sums over data; scope \22head\22 and 1 other are sent the sum"
// CHECK: epl.reshard {{.*}}epl.cause = "f32[4]: reduce model.py:4 sums over data; exp model.py:5 reads the sum"
func.func @step.mesh0(%x: tensor<8x4xf32> {epl.position = 0 : i64, epl.role = "batch", epl.batch_dim = 0 : i64, epl.sharding = #rows})
    -> (tensor<4xf32> {epl.channel = 0 : i64}, tensor<4xf32> {epl.channel = 1 : i64}, tensor<4xf32> {epl.channel = 2 : i64},
        tensor<4xf32> {epl.channel = 3 : i64}, tensor<4xf32> {epl.channel = 4 : i64}, tensor<4xf32> {epl.position = 0 : i64})
    attributes {epl.mesh = @mesh0} {
  %z = arith.constant {epl.work = #forward} dense<0.0> : tensor<4xf32>
  %0 = linalg.reduce { arith.addf } ins(%x : tensor<8x4xf32>) outs(%z : tensor<4xf32>) dimensions = [0] {epl.work = #forward} loc("addf"("model.py":1:1))
  %1 = linalg.reduce { arith.addf } ins(%x : tensor<8x4xf32>) outs(%z : tensor<4xf32>) dimensions = [0] {epl.work = #forward} loc("addf"("model.py":2:1))
  %2 = linalg.reduce { arith.addf } ins(%x : tensor<8x4xf32>) outs(%z : tensor<4xf32>) dimensions = [0] {epl.work = #forward} loc("addf"("model.py":3:1))
  %3 = linalg.reduce { arith.addf } ins(%x : tensor<8x4xf32>) outs(%z : tensor<4xf32>) dimensions = [0] {epl.work = #forward} loc("addf"("model.py":4:1))
  %4 = math.exp %3 {epl.work = #forward} : tensor<4xf32> loc("exp"("model.py":5:1))
  return %0, %1, %2, %2, %3, %4
      : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

func.func @step.mesh1(%0: tensor<4xf32> {epl.channel = 0 : i64}, %2: tensor<4xf32> {epl.channel = 2 : i64},
                      %3: tensor<4xf32> {epl.channel = 4 : i64}) attributes {epl.mesh = @mesh1} {
  return
}

func.func @step.mesh2(%1: tensor<4xf32> {epl.channel = 1 : i64}, %2: tensor<4xf32> {epl.channel = 3 : i64})
    attributes {epl.mesh = @mesh2} {
  return
}
