// RUN: epl-opt %s -split-input-file -epl-seed-batch -epl-seed-split=explain -verify-diagnostics=only-expected | FileCheck %s

#rows = affine_map<(m, n, k) -> (m, k)>
#weights = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
#each = affine_map<(m, n) -> (m, n)>
#columns = affine_map<(m, n) -> (n)>
#loops = {indexing_maps = [#rows, #weights, #out], iterator_types = ["parallel", "parallel", "reduction"]}

epl.mesh @mesh axes ["data"=2, "model"=2]

// A perceptron of two layers: the first by columns, the second follows by rows, and the bias is split as the
// columns that it is added to. What the batch is split by stays.
// CHECK-LABEL: func.func @perceptron
// CHECK-SAME: "params['h0']"{{.*}}epl.sharding = #epl.sharding<@mesh, [{}, {"model"}]>
// CHECK-SAME: "params['bias']"{{.*}}epl.sharding = #epl.sharding<@mesh, [{"model"}]>
// CHECK-SAME: "params['out']"{{.*}}epl.sharding = #epl.sharding<@mesh, [{"model"}, {}]>
// CHECK-SAME: "step"{{.*}}epl.sharding = #epl.sharding<@mesh, []>
// CHECK-SAME: "x"{{.*}}epl.sharding = #epl.sharding<@mesh, [{"data"}, {}]>
// expected-remark@+1 {{axis "model" of size 2: how it splits parameters, and the bytes that its devices exchange}}
func.func @perceptron(%w0: tensor<6x8xf32> {epl.role = "state", epl.name = "params['h0']"},
                      %bias: tensor<8xf32> {epl.role = "state", epl.name = "params['bias']"},
                      %w1: tensor<8x4xf32> {epl.role = "state", epl.name = "params['out']"},
                      %step: tensor<i32> {epl.role = "state", epl.name = "step"},
                      %x: tensor<8x6xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "x"}) -> tensor<8x4xf32> {
  %z0 = arith.constant dense<0.0> : tensor<8x8xf32>
  %0 = linalg.generic #loops ins(%x, %w0 : tensor<8x6xf32>, tensor<6x8xf32>) outs(%z0 : tensor<8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32>
  %1 = linalg.generic {indexing_maps = [#each, #columns, #each], iterator_types = ["parallel", "parallel"]}
      ins(%0, %bias : tensor<8x8xf32>, tensor<8xf32>) outs(%z0 : tensor<8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.addf %a, %b : f32
    %t = math.tanh %s : f32
    linalg.yield %t : f32
  } -> tensor<8x8xf32>
  %z1 = arith.constant dense<0.0> : tensor<8x4xf32>
  %2 = linalg.generic #loops ins(%1, %w1 : tensor<8x8xf32>, tensor<8x4xf32>) outs(%z1 : tensor<8x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

// -----

epl.mesh @mesh axes ["data"=1, "model"=4]

// Dimensions that the devices do not divide cannot be split.
// expected-warning@+1 {{no parameter has a dimension that 4 devices can split: every device computes all of it}}
func.func @odd(%w: tensor<6x3xf32> {epl.role = "state"},
               %x: tensor<8x6xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<8x3xf32> {
  %z = arith.constant dense<0.0> : tensor<8x3xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<8x6xf32>, tensor<6x3xf32>) outs(%z : tensor<8x3xf32>) -> tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}

// -----

epl.mesh @mesh axes ["data"=2]

// Without an axis to split over nothing happens.
// CHECK-LABEL: func.func @data_parallel
// CHECK-SAME: epl.sharding = #epl.sharding<@mesh, [{}, {}]>
func.func @data_parallel(%w: tensor<6x4xf32> {epl.role = "state"}) {
  return
}

// -----

epl.mesh @mesh axes ["data"=1, "model"=2]

// A dimension that the devices divide may be one only of a view: the parameter's own are 5 and 4, of which a part of
// the view is no part.
// expected-warning@+2 {{no parameter has a dimension that 2 devices can split}}
// CHECK-LABEL: func.func @view
func.func @view(%w: tensor<5x4xf32> {epl.role = "state"}, %m: tensor<20x6xf32> {epl.role = "constant"}) -> tensor<6xf32> {
  %z = arith.constant dense<0.0> : tensor<6xf32>
  %0 = tensor.collapse_shape %w [[0, 1]] : tensor<5x4xf32> into tensor<20xf32>
  %1 = linalg.vecmat ins(%0, %m : tensor<20xf32>, tensor<20x6xf32>) outs(%z : tensor<6xf32>) -> tensor<6xf32>
  return %1 : tensor<6xf32>
}

// -----

epl.mesh @mesh axes ["data"=1, "model"=2]

// What is split by hand stays so, also along a dimension that no contraction can shard; others are searched.
// CHECK-LABEL: func.func @by_hand
// CHECK-SAME: "w0"{{[^%]*}}epl.sharding = #epl.sharding<@mesh, [{"model"}, {}]>
// CHECK-SAME: "w1"{{[^%]*}}epl.sharding = #epl.sharding<@mesh, [{}, {"model"}]>
// CHECK-SAME: "step"{{[^%]*}}epl.sharding = #epl.sharding<@mesh, [{}, {"model"}]>
func.func @by_hand(%w0: tensor<6x4xf32> {epl.role = "state", epl.name = "w0", epl.sharding = #epl.sharding<@mesh, [{"model"}, {}]>},
                   %w1: tensor<4x8xf32> {epl.role = "state", epl.name = "w1"},
                   %step: tensor<1x2xf32> {epl.role = "state", epl.name = "step", epl.sharding = #epl.sharding<@mesh, [{}, {"model"}]>},
                   %x: tensor<8x6xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<8x8xf32> {
  %z0 = arith.constant dense<0.0> : tensor<8x4xf32>
  %z1 = arith.constant dense<0.0> : tensor<8x8xf32>
  %0 = linalg.matmul ins(%x, %w0 : tensor<8x6xf32>, tensor<6x4xf32>) outs(%z0 : tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = linalg.matmul ins(%0, %w1 : tensor<8x4xf32>, tensor<4x8xf32>) outs(%z1 : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

epl.mesh @mesh axes ["model"=2, "data"=2]

// The next value of a state is split, but the state is not where the axis by hand leaves too little of it.
// CHECK-LABEL: func.func @tied
// CHECK-SAME: "s"{{[^%]*}}epl.sharding = #epl.sharding<@mesh, [{"data"}]>
func.func @tied(%s: tensor<2xf32> {epl.role = "state", epl.name = "s", epl.sharding = #epl.sharding<@mesh, [{"data"}]>},
                %c: tensor<2xf32> {epl.role = "constant", epl.sharding = #epl.sharding<@mesh, [{"model"}]>})
    -> (tensor<2xf32> {epl.updates = 0 : i64}) {
  %0 = math.sin %c : tensor<2xf32>
  return %0 : tensor<2xf32>
}
