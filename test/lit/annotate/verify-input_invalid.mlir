// RUN: epl-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics --epl-verify-input

// The module.

// expected-error@+1 {{module has no public function, expected one}}
module {
}

// -----

// expected-note@+1 {{the first one, "a", is here}}
func.func @a() {
  return
}
// expected-error@+1 {{second public function "b", expected one}}
func.func @b() {
  return
}

// -----

// expected-error@+1 {{function "a" is private, expected one public function}}
func.func private @a() {
  return
}

// -----

func.func private @callee(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32> {epl.role = "constant"}) -> tensor<4xf32> {
  // expected-error@+1 {{call of "callee": calls must be inlined}}
  %0 = func.call @callee(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error@+1 {{'memref.global' op stands beside the step, expected one public function}}
memref.global @buffer : memref<4xf32>
func.func @main() {
  return
}

// -----

// expected-error@+1 {{function "main" has an unknown attribute "epl.default_strateg", expected one of epl.default_strategy, epl.scopes}}
func.func @main() attributes {epl.default_strateg = #epl.strategy<replicate, 1>} {
  return
}

// -----

// Arguments.

// expected-error@+1 {{argument 0 "lr" has type 'f32': expected a ranked tensor}}
func.func @main(%x: f32 {epl.role = "constant", epl.name = "lr"}) {
  return
}

// -----

// expected-error@+1 {{argument 0 has type 'tensor<*xf32>': expected a ranked tensor}}
func.func @main(%x: tensor<*xf32> {epl.role = "constant"}) {
  return
}

// -----

// expected-error@+1 {{argument 0 has type 'tensor<?x4xf32>': expected a static shape}}
func.func @main(%x: tensor<?x4xf32> {epl.role = "constant"}) {
  return
}

// -----

// expected-error@+1 {{argument 0 has type 'tensor<4xcomplex<f32>>': complex numbers are not supported}}
func.func @main(%x: tensor<4xcomplex<f32>> {epl.role = "constant"}) {
  return
}

// -----

// expected-error@+1 {{argument 0 has type 'tensor<4xui32>': expected elements of f16, bf16, f32, f64, i1, i8, i16, i32 or i64}}
func.func @main(%x: tensor<4xui32> {epl.role = "constant"}) {
  return
}

// -----

// expected-error@+1 {{argument 0 has type 'tensor<4xi7>': expected elements of}}
func.func @main(%x: tensor<4xi7> {epl.role = "constant"}) {
  return
}

// -----

// expected-error@+1 {{argument 0 "x" has no "epl.role", expected "state", "batch" or "constant"}}
func.func @main(%x: tensor<4xf32> {epl.name = "x"}) {
  return
}

// -----

// expected-error@+1 {{argument 0 is a batch without "epl.batch_dim"}}
func.func @main(%x: tensor<4xf32> {epl.role = "batch"}) {
  return
}

// -----

// expected-error@+1 {{argument 0 has "epl.batch_dim" but is no batch}}
func.func @main(%x: tensor<4xf32> {epl.role = "state", epl.batch_dim = 0 : i64}) {
  return
}

// -----

// expected-error@+1 {{argument 0 has batch dimension 1, expected a dimension of 'tensor<4xf32>'}}
func.func @main(%x: tensor<4xf32> {epl.role = "batch", epl.batch_dim = 1 : i64}) {
  return
}

// -----

// expected-error@+1 {{argument 0 has batch dimension -1, expected a dimension of 'tensor<4xf32>'}}
func.func @main(%x: tensor<4xf32> {epl.role = "batch", epl.batch_dim = -1 : i64}) {
  return
}

// -----

// Each argument reports for itself.
func.func @main(
    // expected-error@+1 {{argument 0 has no "epl.role"}}
    %x: tensor<4xf32>,
    // expected-error@+1 {{argument 1 is a batch without "epl.batch_dim"}}
    %y: tensor<4xf32> {epl.role = "batch"}) {
  return
}

// -----

// Results.

// expected-error@+1 {{result 0 "loss" has type 'f32': expected a ranked tensor}}
func.func @main() -> (f32 {epl.name = "loss"}) {
  %0 = arith.constant 0.0 : f32
  return %0 : f32
}

// -----

// expected-error@+1 {{result 0 updates argument 1, expected one of 1 arguments}}
func.func @main(%x: tensor<4xf32> {epl.role = "state"}) -> (tensor<4xf32> {epl.updates = 1 : i64}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{result 0 updates argument -1, expected one of 1 arguments}}
func.func @main(%x: tensor<4xf32> {epl.role = "state"}) -> (tensor<4xf32> {epl.updates = -1 : i64}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{result 0 updates argument 0 "x", expected an argument of role "state"}}
func.func @main(%x: tensor<4xf32> {epl.role = "constant", epl.name = "x"}) -> (tensor<4xf32> {epl.updates = 0 : i64}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{result 0 has type 'tensor<2xf32>', expected 'tensor<4xf32>' to update argument 0 "w"}}
func.func @main(
    // expected-note@+1 {{argument 0 "w" declared here}}
    %w: tensor<4xf32> {epl.role = "state", epl.name = "w"}, %x: tensor<2xf32> {epl.role = "constant"})
    -> (tensor<2xf32> {epl.updates = 0 : i64}) {
  return %x : tensor<2xf32>
}

// -----

// expected-error@+1 {{result 1 updates argument 0 "w", as result 0 does}}
func.func @main(%w: tensor<4xf32> {epl.role = "state", epl.name = "w"})
    -> (tensor<4xf32> {epl.updates = 0 : i64}, tensor<4xf32> {epl.updates = 0 : i64}) {
  return %w, %w : tensor<4xf32>, tensor<4xf32>
}

// -----

// Ops.

// expected-error@+1 {{function "main" has 2 blocks, expected 1}}
func.func @main() {
  cf.br ^bb1
^bb1:
  return
}

// -----

func.func @main(%x: tensor<4xf32> {epl.role = "constant"}) -> tensor<4xf32> {
  // expected-error@+1 {{'stablehlo.sort' op of dialect "stablehlo" is not supported, expected linalg, tensor, arith, math, scf or a scope}}
  %0 = "stablehlo.sort"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32> {epl.role = "constant"}) -> tensor<4xf32> {
  // expected-error@+1 {{'shape.shape_of' op of dialect "shape" is not supported}}
  %0 = shape.shape_of %x : tensor<4xf32> -> tensor<1xindex>
  return %x : tensor<4xf32>
}

// -----

// Inside bodies too.
#map = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<4xf32> {epl.role = "constant"}) -> tensor<4xf32> {
  %0 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel"]} outs(%x : tensor<4xf32>) {
  ^bb0(%out: f32):
    // expected-error@+1 {{'llvm.intr.exp' op of dialect "llvm" is not supported}}
    %1 = llvm.intr.exp(%out) : (f32) -> f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32> {epl.role = "constant"}) -> tensor<4xf32> {
  %0 = epl.sort %x dim 0 : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: f32, %b: f32):
    // expected-error@+1 {{'llvm.intr.exp' op of dialect "llvm" is not supported}}
    %e = llvm.intr.exp(%a) : (f32) -> f32
    %before = arith.cmpf olt, %e, %b : f32
    epl.yield %before : i1
  }
  return %0 : tensor<4xf32>
}

// -----

// Of linalg the structured ops only.
func.func @main(%x: tensor<4xf32> {epl.role = "constant"}, %y: tensor<4x1xf32> {epl.role = "constant"}) -> tensor<4xf32> {
  // expected-error@+1 {{'linalg.pack' op of dialect "linalg" is not supported}}
  %0 = linalg.pack %x inner_dims_pos = [0] inner_tiles = [1] into %y : tensor<4xf32> -> tensor<4x1xf32>
  return %x : tensor<4xf32>
}

// -----

// Of epl what front ends write only.
epl.mesh @mesh axes ["data"=2]
func.func @main(%x: tensor<4xf32> {epl.role = "constant"}) -> tensor<4xf32> {
  // expected-error@+1 {{'epl.reshard' op of dialect "epl" is not supported}}
  %0 = epl.reshard %x to <@mesh, [{}]> : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32> {epl.role = "constant"}) -> tensor<4xf32> {
  // expected-error@+1 {{'tensor.cast' op has result type 'tensor<?xf32>': expected a static shape}}
  %0 = tensor.cast %x : tensor<4xf32> to tensor<?xf32>
  %1 = tensor.cast %0 : tensor<?xf32> to tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

func.func @main() {
  // expected-error@+1 {{'tensor.empty' op has result type 'tensor<4xf80>': expected elements of}}
  %0 = tensor.empty() : tensor<4xf80>
  return
}

// -----

func.func @main() {
  // expected-error@+1 {{'arith.constant' op has result type 'vector<4xf32>': expected a ranked tensor}}
  %0 = arith.constant dense<0.0> : vector<4xf32>
  return
}

// -----

func.func @main(%c: tensor<i1> {epl.role = "constant"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %c1 step %c1 {
    // expected-error@+1 {{'epl.replicate' op is inside 'scf.for', expected the top level of the step}}
    epl.replicate {
    }
  }
  return
}

// -----

epl.mesh @mesh axes ["data"=2]
epl.mesh @other axes ["data"=2]
// expected-error@+1 {{argument 0 arrives on mesh @mesh, expected the only mesh of the module}}
func.func @main(%w: tensor<4xf32> {epl.role = "state", epl.arrives = #epl.sharding<@mesh, [{"data"} ]>}) {
  return
}

// -----

// expected-error@+1 {{argument 0 arrives on mesh @mesh, expected the only mesh of the module}}
func.func @main(%w: tensor<4xf32> {epl.role = "state", epl.arrives = #epl.sharding<@mesh, [{"data"} ]>}) {
  return
}

// -----

// expected-error@+1 {{expected at most 2^40 elements}}
func.func @huge(%x: tensor<9223372036854775807x3xf32> {epl.role = "constant"}) {
  return
}

// -----

// expected-error@+1 {{argument 0 has "epl.caller_shape", which passes write}}
func.func @main(%w: tensor<4x2xf32> {epl.role = "state", epl.caller_shape = array<i64: 8>}) {
  return
}

// -----

// expected-error@+1 {{result 0 has "epl.position", which passes write}}
func.func @main(%w: tensor<4x2xf32> {epl.role = "state"}) -> (tensor<4x2xf32> {epl.position = 0 : i64}) {
  return %w : tensor<4x2xf32>
}

// -----

func.func @main(%x: tensor<8x8xf32> {epl.role = "constant"}) -> tensor<8x6xf32> {
  %c = arith.constant 0.0 : f32
  // expected-error@+1 {{'tensor.pad' op has padding -1 of dimension 1, expected at least 0 ("tensor.extract_slice" cuts)}}
  %0 = tensor.pad %x low[0, 1] high[0, -1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %c : f32
  } : tensor<8x8xf32> to tensor<8x8xf32>
  %1 = tensor.extract_slice %0[0, 0] [8, 6] [1, 1] : tensor<8x8xf32> to tensor<8x6xf32>
  return %1 : tensor<8x6xf32>
}

// -----

func.func @main(%x: tensor<8xf32> {epl.role = "constant"}) -> tensor<f32> {
  %c = arith.constant 8 : index
  // expected-error@+1 {{'tensor.extract' op reads position 8 of dimension 0, expected a position in 'tensor<8xf32>'}}
  %0 = tensor.extract %x[%c] : tensor<8xf32>
  %1 = tensor.from_elements %0 : tensor<f32>
  return %1 : tensor<f32>
}

// -----

func.func @main(%x: tensor<f32> {epl.role = "constant"}) -> tensor<i1> {
  %0 = tensor.empty() : tensor<i1>
  %1 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}
      ins(%x : tensor<f32>) outs(%0 : tensor<i1>) {
  ^bb0(%a: f32, %b: i1):
    // expected-error@+1 {{'math.isinf' op is not supported, expected comparisons or "math.isfinite"}}
    %2 = math.isinf %a : f32
    linalg.yield %2 : i1
  } -> tensor<i1>
  return %1 : tensor<i1>
}

// -----

func.func @main(%x: tensor<4x2xf32> {epl.role = "constant"}) -> tensor<4x2xf32> {
  // expected-error@+1 {{'epl.loop_slice' op is of a loop over micro-batches, which only "epl-form-micro-batches" makes}}
  %0 = epl.loop_slice <0, trip_count = 4, micro_batches = true> %x : tensor<4x2xf32> -> tensor<2xf32>
  %1 = epl.loop_stack <0, trip_count = 4, micro_batches = true> %0 : tensor<2xf32> -> tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}

// -----

// expected-error@+2 {{result 0 has "epl.wanted" and updates an argument, which has its own sharding}}
epl.mesh @mesh axes ["data"=2]
func.func @main(%w: tensor<4xf32> {epl.role = "state"})
    -> (tensor<4xf32> {epl.updates = 0 : i64, epl.wanted = #epl.sharding<@mesh, [{"data"}]>}) {
  return %w : tensor<4xf32>
}

// -----

// expected-error@+2 {{result 0 is wanted partial, expected it complete}}
epl.mesh @mesh axes ["data"=2]
func.func @main(%w: tensor<4xf32> {epl.role = "constant"})
    -> (tensor<4xf32> {epl.wanted = #epl.sharding<@mesh, [{}], partial = sum{"data"}>}) {
  return %w : tensor<4xf32>
}

// -----

epl.mesh @mesh axes ["data"=3]
// expected-error@+1 {{dimension 0 of result 0 of size 4 is not divisible by 3, the size of its axes}}
func.func @main(%w: tensor<4xf32> {epl.role = "constant"})
    -> (tensor<4xf32> {epl.wanted = #epl.sharding<@mesh, [{"data"}]>}) {
  return %w : tensor<4xf32>
}
