// RUN: epl-opt %s -split-input-file -verify-diagnostics -epl-verify-sharded

epl.mesh @mesh axes ["data"=2]
func.func @missing(%x: tensor<8xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}]>}) {
  // expected-error@+1 {{result 0 has no "epl.sharding"}}
  %0 = math.exp %x : tensor<8xf32>
  return
}

// -----

epl.mesh @mesh axes ["data"=2]
func.func @operands(%x: tensor<8xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}]>},
                    %y: tensor<8xf32> {epl.sharding = #epl.sharding<@mesh, [{}]>}) {
  // expected-error@+1 {{operand 1 is replicated on axis "data", expected sharded on dimension 0}}
  %0 = arith.addf %x, %y {epl.factors = {data = 0 : i64}, epl.sharding = [#epl.sharding<@mesh, [{"data"}]>]} : tensor<8xf32>
  return
}

// -----

epl.mesh @mesh axes ["data"=2]
func.func @blocked(%x: tensor<8x4xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {}]>},
                   %y: tensor<8x4xf32> {epl.sharding = #epl.sharding<@mesh, [{}, {}]>}) {
  // expected-error@+1 {{operand 0 is sharded on dimension 0 on axis "data", expected replicated}}
  %0 = linalg.softmax {epl.sharding = [#epl.sharding<@mesh, [{}, {}]>]} dimension(1)
      ins(%x : tensor<8x4xf32>) outs(%y : tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

epl.mesh @mesh axes ["data"=2]
func.func @result(%x: tensor<8xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}]>}) {
  // expected-error@+1 {{result 0 is replicated on axis "data", expected sharded on dimension 0}}
  %0 = math.exp %x {epl.factors = {data = 0 : i64}, epl.sharding = [#epl.sharding<@mesh, [{}]>]} : tensor<8xf32>
  return
}

// -----

epl.mesh @mesh axes ["data"=2]
func.func @reduction(%x: tensor<8xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}]>},
                     %m: tensor<f32> {epl.sharding = #epl.sharding<@mesh, []>}) {
  // expected-error@+1 {{result 0 is pending sum on axis "data", expected pending max}}
  %0 = linalg.reduce { arith.maximumf } ins(%x : tensor<8xf32>) outs(%m : tensor<f32>) dimensions = [0]
      {epl.factors = {data = 0 : i64}, epl.sharding = [#epl.sharding<@mesh, [], partial = sum{"data"}>]}
  return
}

// -----

// The initial value would be added twice.
epl.mesh @mesh axes ["data"=2]
func.func @init(%x: tensor<8xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}]>},
                %s: tensor<f32> {epl.sharding = #epl.sharding<@mesh, []>}) {
  // expected-error@+1 {{shards a reduction over axis "data" that starts from a value that is not neutral}}
  %0 = linalg.reduce { arith.addf } ins(%x : tensor<8xf32>) outs(%s : tensor<f32>) dimensions = [0]
      {epl.factors = {data = 0 : i64}, epl.sharding = [#epl.sharding<@mesh, [], partial = sum{"data"}>]}
  return
}

// -----

epl.mesh @mesh axes ["data"=2]
func.func @not_linear(%x: tensor<8xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}]>}) {
  %z = arith.constant {epl.sharding = [#epl.sharding<@mesh, []>]} dense<0.0> : tensor<f32>
  %0 = linalg.reduce { arith.addf } ins(%x : tensor<8xf32>) outs(%z : tensor<f32>) dimensions = [0]
      {epl.factors = {data = 0 : i64}, epl.sharding = [#epl.sharding<@mesh, [], partial = sum{"data"}>]}
  // expected-error@+1 {{has a partial operand on axis "data" that it is not linear in}}
  %1 = math.exp %0 {epl.sharding = [#epl.sharding<@mesh, []>]} : tensor<f32>
  return
}

// -----

epl.mesh @mesh axes ["data"=2]
func.func @captured(%x: tensor<8xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}]>},
                    %init: tensor<4xf32> {epl.sharding = #epl.sharding<@mesh, [{}]>}) {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      outs(%init : tensor<4xf32>) attrs = {epl.sharding = [#epl.sharding<@mesh, [{}]>]} {
  ^bb0(%out: f32):
    %c0 = arith.constant 0 : index
    // expected-error@+1 {{captured tensor is sharded on dimension 0 on axis "data", expected replicated}}
    %1 = tensor.extract %x[%c0] : tensor<8xf32>
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  return
}

// -----

epl.mesh @mesh axes ["data"=2]
func.func @partial_result(%x: tensor<8xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}]>}) -> tensor<f32> {
  %z = arith.constant {epl.sharding = [#epl.sharding<@mesh, []>]} dense<0.0> : tensor<f32>
  %0 = linalg.reduce { arith.addf } ins(%x : tensor<8xf32>) outs(%z : tensor<f32>) dimensions = [0]
      {epl.factors = {data = 0 : i64}, epl.sharding = [#epl.sharding<@mesh, [], partial = sum{"data"}>]}
  // expected-error@+1 {{operand 0 is pending sum on axis "data", expected replicated}}
  return %0 : tensor<f32>
}

// -----

epl.mesh @mesh axes ["data"=2]
func.func @tied_result(%x: tensor<8xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}]>},
                       %s: tensor<8xf32> {epl.sharding = #epl.sharding<@mesh, [{}]>})
    -> (tensor<8xf32> {epl.updates = 1 : i64}) {
  // expected-error@+1 {{operand 0 is sharded on dimension 0 on axis "data", expected replicated}}
  return %x : tensor<8xf32>
}

// -----

epl.mesh @mesh axes ["data"=2]
func.func @no_factor(%x: tensor<8xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}]>}) {
  // expected-error@+1 {{shards factor 3 over axis "data", expected one of the 1 of its rule}}
  %0 = math.exp %x {epl.factors = {data = 3 : i64}, epl.sharding = [#epl.sharding<@mesh, [{"data"}]>]} : tensor<8xf32>
  return
}
