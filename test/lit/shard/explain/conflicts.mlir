// Where two shardings are wanted over one axis, a remark says which is kept, which is dropped, and why.

// RUN: epl-opt %s -split-input-file -epl-propagate -epl-place=explain -verify-diagnostics=only-expected -o /dev/null
// RUN: epl-opt %s -split-input-file -epl-propagate -epl-place 2>&1 | FileCheck %s --check-prefix=QUIET
// RUN: epl-opt %s -split-input-file -epl-propagate -epl-place=explain 2>&1 | FileCheck %s --check-prefix=LAYERS
// QUIET-NOT: remark:

#forward = #epl.work<@tg0, forward>
#rows = #epl.sharding<@mesh, [{"data"}, {}]>
#columns = #epl.sharding<@mesh, [{}, {"data"}]>
epl.mesh @mesh axes ["data"=2]

// More bytes win; of the layers' equal remarks there is one.
// LAYERS: model.py:3:1: remark: axis "data": addf model.py:3 keeps x f32[8/data, 4] (128 bytes); dropped: layers[0]['b'] f32[1, 4/data] (16 bytes), fewer; 2 like this
// LAYERS-NOT: remark: {{.*}}layers[1]
func.func @bytes(%x: tensor<8x4xf32> {epl.name = "x", epl.sharding = #rows},
                 %b0: tensor<1x4xf32> {epl.name = "layers[0]['b']", epl.sharding = #columns},
                 %b1: tensor<1x4xf32> {epl.name = "layers[1]['b']", epl.sharding = #columns}) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %e = tensor.empty() {epl.work = #forward} : tensor<8x4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (0, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %b0 : tensor<8x4xf32>, tensor<1x4xf32>) outs(%e : tensor<8x4xf32>) attrs = {epl.work = #forward} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<8x4xf32> loc("model.py":3:1)
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (0, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %b1 : tensor<8x4xf32>, tensor<1x4xf32>) outs(%e : tensor<8x4xf32>) attrs = {epl.work = #forward} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<8x4xf32> loc("model.py":3:1)
  return %0, %1 : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

#forward = #epl.work<@tg0, forward>
epl.mesh @mesh axes ["data"=2]

// Of as many bytes the first dimension of the op wins.
func.func @tie(%x: tensor<8x4xf32> {epl.name = "x", epl.sharding = #epl.sharding<@mesh, [{"data"}, {}]>},
               %y: tensor<8x4xf32> {epl.name = "y", epl.sharding = #epl.sharding<@mesh, [{}, {"data"}]>}) -> tensor<8x4xf32> {
  // expected-remark@+1 {{axis "data": addf conflicts.mlir:42 keeps x f32[8/data, 4] (128 bytes); dropped: y f32[8, 4/data] (128 bytes), as many, but a later dimension of the op}}
  %0 = arith.addf %x, %y {epl.work = #forward} : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

#forward = #epl.work<@tg0, forward>
epl.mesh @mesh axes ["data"=2]

// The user's word wins.
func.func @constrained(%x: tensor<8x4xf32> {epl.name = "x", epl.sharding = #epl.sharding<@mesh, [{"data"}, {}]>}) -> tensor<8x4xf32> {
  // expected-remark@+1 {{axis "data": constrain conflicts.mlir:54 says dimension 1; dropped: x f32[8/data, 4]}}
  %0 = epl.constrain %x to <[{}, {"data"} ]> {epl.work = #forward} : tensor<8x4xf32>
  %1 = math.exp %0 {epl.work = #forward} : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// -----

#forward = #epl.work<@tg0, forward>
epl.mesh @mesh axes ["data"=2]

// A state comes back as it came in.
func.func @kept(%w: tensor<8x4xf32> {epl.role = "state", epl.name = "w", epl.sharding = #epl.sharding<@mesh, [{"data"}, {}]>},
                %g: tensor<8x4xf32> {epl.name = "g", epl.sharding = #epl.sharding<@mesh, [{}, {"data"}]>}) -> (tensor<8x4xf32> {epl.updates = 0 : i64}) {
  %0 = math.exp %g {epl.work = #forward} : tensor<8x4xf32>
  // expected-remark@+1 {{axis "data": between steps w f32[8/data, 4] is kept so; dropped: its update by exp conflicts.mlir:67 f32[8, 4/data]}}
  return %0 : tensor<8x4xf32>
}

// -----

#forward = #epl.work<@tg0, forward>
epl.mesh @mesh axes ["data"=2]

// What the op needs whole is no conflict, nor is a value that nobody has split.
func.func @none(%x: tensor<8x4xf32> {epl.sharding = #epl.sharding<@mesh, [{}, {"data"}]>}, %e: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = linalg.softmax {epl.work = #forward} dimension(1) ins(%x : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
