// RUN: epl-opt %s -split-input-file -epl-propagate=print-rules -verify-diagnostics=only-expected -o /dev/null

// The factor rule of each op: those derived from linalg, the rules by hand, and what has none.

epl.mesh @mesh axes ["data"=2]

func.func @matmul(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>, %init: tensor<4x6xf32>) -> tensor<4x6xf32> {
  // expected-remark@+1 {{rule ([d0, d2], [d2, d1], [d0, d1]) -> ([d0, d1]) reduces d2 by sum}}
  %0 = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%init : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// A constant in a map stands for a dimension of one element; a transposed result follows its map.
func.func @broadcast_transpose(%a: tensor<1x8xf32>, %init: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-remark@+1 {{rule ([_, d1], [d1, d0]) -> ([d1, d0])}}
  %0 = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d1, d0)>],
      iterator_types = ["parallel", "parallel"]} ins(%a : tensor<1x8xf32>) outs(%init : tensor<8x4xf32>) {
  ^bb0(%x: f32, %out: f32):
    linalg.yield %x : f32
  } -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// Every result has its own combiner.
func.func @sum_and_max(%a: tensor<4x8xf32>, %s: tensor<8xf32>, %m: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // expected-remark@+1 {{rule ([d0, d1], [d1], [d1]) -> ([d1], [d1]) reduces d0 by sum, max}}
  %0:2 = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>],
      iterator_types = ["reduction", "parallel"]}
      ins(%a : tensor<4x8xf32>) outs(%s, %m : tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%x: f32, %acc: f32, %max: f32):
    %1 = arith.addf %acc, %x : f32
    %2 = arith.maximumf %max, %x : f32
    linalg.yield %1, %2 : f32, f32
  } -> (tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}

func.func @other_combiners(%a: tensor<8xi1>, %i: tensor<i1>, %b: tensor<8xi32>, %j: tensor<i32>) {
  // expected-remark@+1 {{rule ([d0], []) -> ([]) reduces d0 by all}}
  %0 = linalg.reduce { arith.andi } ins(%a : tensor<8xi1>) outs(%i : tensor<i1>) dimensions = [0]
  // expected-remark@+1 {{rule ([d0], []) -> ([]) reduces d0 by any}}
  %1 = linalg.reduce { arith.ori } ins(%a : tensor<8xi1>) outs(%i : tensor<i1>) dimensions = [0]
  // expected-remark@+1 {{rule ([d0], []) -> ([]) reduces d0 by min}}
  %2 = linalg.reduce { arith.minsi } ins(%b : tensor<8xi32>) outs(%j : tensor<i32>) dimensions = [0]
  // expected-remark@+1 {{rule ([d0], []) -> ([]) reduces d0 by prod}}
  %3 = linalg.reduce { arith.muli } ins(%b : tensor<8xi32>) outs(%j : tensor<i32>) dimensions = [0]
  // A sum of i1 is an exclusive or, an unsigned maximum is not the collective's, bits are no truth values.
  // expected-remark@+1 {{rule ([_], []) -> ([])}}
  %4 = linalg.reduce { arith.addi } ins(%a : tensor<8xi1>) outs(%i : tensor<i1>) dimensions = [0]
  // expected-remark@+1 {{rule ([_], []) -> ([])}}
  %5 = linalg.reduce { arith.maxui } ins(%b : tensor<8xi32>) outs(%j : tensor<i32>) dimensions = [0]
  // expected-remark@+1 {{rule ([_], []) -> ([])}}
  %6 = linalg.reduce { arith.andi } ins(%b : tensor<8xi32>) outs(%j : tensor<i32>) dimensions = [0]
  return
}

// acc - (-x) is a sum to people only.
func.func @unmatched_reduction(%a: tensor<8x4xf32>, %init: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark@+1 {{rule ([_, d1], [d1]) -> ([d1])}}
  %0 = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>],
      iterator_types = ["reduction", "parallel"]} ins(%a : tensor<8x4xf32>) outs(%init : tensor<4xf32>) {
  ^bb0(%x: f32, %acc: f32):
    %1 = arith.negf %x : f32
    %2 = arith.subf %acc, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// The two results of an argmax depend on each other.
func.func @argmax(%a: tensor<8x4xf32>, %m: tensor<4xf32>, %i: tensor<4xindex>) -> (tensor<4xf32>, tensor<4xindex>) {
  // expected-remark@+1 {{rule ([_, d1], [d1], [d1]) -> ([d1], [d1])}}
  %0:2 = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>],
      iterator_types = ["reduction", "parallel"]}
      ins(%a : tensor<8x4xf32>) outs(%m, %i : tensor<4xf32>, tensor<4xindex>) {
  ^bb0(%x: f32, %max: f32, %at: index):
    %1 = linalg.index 0 : index
    %2 = arith.cmpf ogt, %x, %max : f32
    %3 = arith.select %2, %x, %max : f32
    %4 = arith.select %2, %1, %at : index
    linalg.yield %3, %4 : f32, index
  } -> (tensor<4xf32>, tensor<4xindex>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xindex>
}

// Windows block the loops in them; batch and features stay.
func.func @conv(%a: tensor<2x8x8x3xf32>, %k: tensor<3x3x3x4xf32>, %init: tensor<2x6x6x4xf32>) -> tensor<2x6x6x4xf32> {
  // expected-remark@+1 {{rule ([d0, _, _, d6], [_, _, d6, d3], [d0, _, _, d3]) -> ([d0, _, _, d3]) reduces d6 by sum}}
  %0 = linalg.conv_2d_nhwc_hwcf ins(%a, %k : tensor<2x8x8x3xf32>, tensor<3x3x3x4xf32>)
      outs(%init : tensor<2x6x6x4xf32>) -> tensor<2x6x6x4xf32>
  return %0 : tensor<2x6x6x4xf32>
}

// A diagonal is not made of slices.
func.func @diagonal(%a: tensor<8x8x4xf32>, %init: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-remark@+1 {{rule ([_, _, d1], [_, d1]) -> ([_, d1])}}
  %0 = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%a : tensor<8x8x4xf32>) outs(%init : tensor<8x4xf32>) {
  ^bb0(%x: f32, %out: f32):
    linalg.yield %x : f32
  } -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// A position is allowed: localize adds where the part begins. So is reading %out in a parallel op.
func.func @index_and_out(%init: tensor<8xi32>) -> tensor<8xi32> {
  // expected-remark@+1 {{rule ([d0]) -> ([d0])}}
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      outs(%init : tensor<8xi32>) {
  ^bb0(%out: i32):
    %1 = linalg.index 0 : index
    %2 = arith.index_cast %1 : index to i32
    %3 = arith.addi %2, %out : i32
    linalg.yield %3 : i32
  } -> tensor<8xi32>
  return %0 : tensor<8xi32>
}

// -----

// Reshapes: the first dimension of a group that is not 1 is its major part; the others are blocked.

epl.mesh @mesh axes ["data"=2]

func.func @reshapes(%a: tensor<8x6xf32>, %b: tensor<1x4x2x6xf32>, %s: tensor<f32>) {
  // expected-remark@+1 {{rule ([d0, d1]) -> ([d0, _, d1])}}
  %0 = tensor.expand_shape %a [[0, 1], [2]] output_shape [2, 4, 6] : tensor<8x6xf32> into tensor<2x4x6xf32>
  // expected-remark@+1 {{rule ([d0, d1]) -> ([_, d0, _, d1])}}
  %1 = tensor.expand_shape %a [[0, 1, 2], [3]] output_shape [1, 4, 2, 6] : tensor<8x6xf32> into tensor<1x4x2x6xf32>
  // expected-remark@+1 {{rule ([_, d0, _, d1]) -> ([d0, d1])}}
  %2 = tensor.collapse_shape %b [[0, 1, 2], [3]] : tensor<1x4x2x6xf32> into tensor<8x6xf32>
  // expected-remark@+1 {{rule ([]) -> ([_, _])}}
  %3 = tensor.expand_shape %s [] output_shape [1, 1] : tensor<f32> into tensor<1x1xf32>
  return
}

// -----

// Slices: dimensions in full are parallel, cut or strided ones blocked.

epl.mesh @mesh axes ["data"=2]

func.func @slices(%a: tensor<8x6x4xf32>, %p: tensor<8x4xf32>, %n: index) {
  // expected-remark@+1 {{rule ([d0, _, d1]) -> ([d0, _, d1])}}
  %0 = tensor.extract_slice %a[0, 2, 0] [8, 2, 4] [1, 1, 1] : tensor<8x6x4xf32> to tensor<8x2x4xf32>
  // expected-remark@+1 {{rule ([d0, _, d1]) -> ([d0, d1])}}
  %1 = tensor.extract_slice %a[0, 2, 0] [8, 1, 4] [1, 1, 1] : tensor<8x6x4xf32> to tensor<8x4xf32>
  // expected-remark@+1 {{rule ([_, d0, d1]) -> ([_, d0, d1])}}
  %2 = tensor.extract_slice %a[0, 0, 0] [4, 6, 4] [2, 1, 1] : tensor<8x6x4xf32> to tensor<4x6x4xf32>
  // expected-remark@+1 {{rule ([d0, _, d1], []) -> ([d0, _, d1])}}
  %3 = tensor.extract_slice %a[0, %n, 0] [8, 2, 4] [1, 1, 1] : tensor<8x6x4xf32> to tensor<8x2x4xf32>
  // expected-remark@+1 {{rule ([d0, d1], [d0, _, d1]) -> ([d0, _, d1])}}
  %4 = tensor.insert_slice %p into %a[0, 2, 0] [8, 1, 4] [1, 1, 1] : tensor<8x4xf32> into tensor<8x6x4xf32>
  return
}

func.func @pads(%a: tensor<8x6xf32>, %c: f32, %table: tensor<10xf32>) {
  // expected-remark@+1 {{rule ([d0, _]) -> ([d0, _])}}
  %0 = tensor.pad %a low[0, 1] high[0, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %c : f32
  } : tensor<8x6xf32> to tensor<8x9xf32>
  // Padding that depends on the position could be anything.
  // expected-remark@+1 {{rule ([_, _]) -> ([_, _])}}
  %1 = tensor.pad %a low[0, 1] high[0, 2] {
  ^bb0(%i: index, %j: index):
    %2 = tensor.extract %table[%j] : tensor<10xf32>
    tensor.yield %2 : f32
  } : tensor<8x6xf32> to tensor<8x9xf32>
  return
}

// Rows are sorted where they are; the sorted dimension must be there in full, however many are asked for.
func.func @sort(%a: tensor<8x6x4xf32>, %b: tensor<8x6x4xi32>) {
  // expected-remark@+1 {{rule ([d0, _, d1], [d0, _, d1]) -> ([d0, _, d1], [d0, _, d1])}}
  %0:2 = epl.sort %a, %b dim 1 : (tensor<8x6x4xf32>, tensor<8x6x4xi32>) -> (tensor<8x2x4xf32>, tensor<8x2x4xi32>) {
  ^bb0(%x: f32, %y: f32, %i: i32, %j: i32):
    %before = arith.cmpf olt, %x, %y : f32
    epl.yield %before : i1
  }
  return
}

// Matrices are taken whole, those of a batch by themselves, and right-hand sides too.
func.func @matrices(%a: tensor<8x6x6xf32>, %factors: tensor<8x6xf32>, %b: tensor<8x6x3xf32>, %c: tensor<8x3x6xf32>) {
  // expected-remark@+1 {{rule ([d0, _, _]) -> ([d0, _, _], [d0, _], [d0, _])}}
  %0:3 = epl.factorize lu %a : (tensor<8x6x6xf32>) -> (tensor<8x6x6xf32>, tensor<8x6xi32>, tensor<8x6xi32>)
  // expected-remark@+1 {{rule ([d0, _, _], [d0, _]) -> ([d0, _, _])}}
  %1 = epl.factorize orthogonal %a, %factors : (tensor<8x6x6xf32>, tensor<8x6xf32>) -> tensor<8x6x6xf32>
  // expected-remark@+1 {{rule ([d0, _, _], [d0, _, d1]) -> ([d0, _, d1])}}
  %2 = epl.triangular_solve %a, %b left lower : tensor<8x6x6xf32>, tensor<8x6x3xf32>
  // expected-remark@+1 {{rule ([d0, _, _], [d0, d1, _]) -> ([d0, d1, _])}}
  %3 = epl.triangular_solve %a, %c lower : tensor<8x6x6xf32>, tensor<8x3x6xf32>
  return
}

func.func @concatenate(%a: tensor<8x6xf32>, %b: tensor<8x2xf32>) -> tensor<8x8xf32> {
  // expected-remark@+1 {{rule ([d0, _], [d0, _]) -> ([d0, _])}}
  %0 = epl.concatenate %a, %b dim 1 : (tensor<8x6xf32>, tensor<8x2xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

// What is the same everywhere is made in any size; what is not is there in full.

epl.mesh @mesh axes ["data"=2]

func.func @uniform(%s: f32) {
  // expected-remark@+1 {{rule () -> ([d0, d1])}}
  %0 = tensor.empty() : tensor<8x4xf32>
  // expected-remark@+1 {{rule () -> ([d0])}}
  %1 = arith.constant dense<1.0> : tensor<2xf32>
  // expected-remark@+1 {{rule () -> ([_])}}
  %2 = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  // expected-remark@+1 {{rule ([]) -> ([d0])}}
  %3 = tensor.splat %s : tensor<8xf32>
  return
}

// Ops on tensors, element by element, and identities.
func.func @pointwise(%a: tensor<8x4xf32>, %b: tensor<8x4xf32>) {
  // expected-remark@+1 {{rule ([d0, d1], [d0, d1]) -> ([d0, d1])}}
  %0 = arith.addf %a, %b : tensor<8x4xf32>
  // expected-remark@+1 {{rule ([d0, d1]) -> ([d0, d1])}}
  %1 = math.exp %a : tensor<8x4xf32>
  // expected-remark@+1 {{rule ([d0, d1]) -> ([d0, d1])}}
  %2 = tensor.cast %a : tensor<8x4xf32> to tensor<8x4xf32>
  return
}

// Nothing is known about all others.
func.func @blocked(%a: tensor<8x4xf32>, %init: tensor<8x4xf32>, %n: index) {
  // expected-remark@+1 {{rule ([_, _], [_, _]) -> ([_, _])}}
  %0 = linalg.softmax dimension(1) ins(%a : tensor<8x4xf32>) outs(%init : tensor<8x4xf32>) -> tensor<8x4xf32>
  // expected-remark@+1 {{rule ([], [], [], [_, _]) -> ([_, _])}}
  %1 = scf.for %i = %n to %n step %n iter_args(%x = %a) -> tensor<8x4xf32> {
    scf.yield %x : tensor<8x4xf32>
  }
  // expected-remark@+1 {{rule ([_, _]) -> ([_, _])}}
  %2 = func.call @callee(%a) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}
func.func private @callee(tensor<8x4xf32>) -> tensor<8x4xf32>

// -----

// What is indexed is blocked. Windows that take a dimension as a whole, and batches, are parallel; so is what a
// gather looks up, while a scatter reduces what it adds up.

epl.mesh @mesh axes ["data"=2]

func.func @gather(%x: tensor<8x6xf32>, %i: tensor<2x4xi32>, %rows: tensor<8xi32>, %at: tensor<i32>) {
  // expected-remark@+1 {{rule ([_, d0], [d1, d2]) -> ([d1, d2, d0])}}
  %0 = epl.gather %x[%i] of [0] operand_dims [-1, 2] index_dims [0, 1] : (tensor<8x6xf32>, tensor<2x4xi32>) -> tensor<2x4x6xf32>
  // expected-remark@+1 {{rule ([d0, d1], [d0]) -> ([d0]) reduces d1 by sum}}
  %1 = epl.gather %x[%rows] of [1] operand_dims [0, -1] index_dims [0] : (tensor<8x6xf32>, tensor<8xi32>) -> tensor<8xf32>
  // expected-remark@+1 {{rule ([d2, d3], [d0, d1], [d0, d1]) -> ([d1, d0]) reduces d2, d3 by sum}}
  %2 = epl.gather %x[%i, %i] of [0, 1] operand_dims [-1, -1] index_dims [1, 0] : (tensor<8x6xf32>, tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<4x2xf32>
  // expected-remark@+1 {{rule ([d0, _], []) -> ([d0, _])}}
  %3 = epl.gather %x[%at] of [1] operand_dims [0, 1] index_dims [] : (tensor<8x6xf32>, tensor<i32>) -> tensor<8x3xf32>
  return
}

// Positions are factors of an operand too, if to sum what is read of its parts moves no more than the operand.
func.func @lookup(%x: tensor<64x6xf32>, %flags: tensor<64x6xi1>, %i: tensor<2x4xi32>, %at: tensor<i32>) {
  // expected-remark@+1 {{rule ([d3, d0], [d1, d2]) -> ([d1, d2, d0]) reduces d3 by sum}}
  %0 = epl.gather %x[%i] of [0] operand_dims [-1, 2] index_dims [0, 1] : (tensor<64x6xf32>, tensor<2x4xi32>) -> tensor<2x4x6xf32>
  // Windows of two rows would lie in two parts, booleans have no sum.
  // expected-remark@+1 {{rule ([_, d0], []) -> ([_, d0])}}
  %1 = epl.gather %x[%at] of [0] operand_dims [0, 1] index_dims [] : (tensor<64x6xf32>, tensor<i32>) -> tensor<2x6xf32>
  // expected-remark@+1 {{rule ([_, d0], [d1, d2]) -> ([d1, d2, d0])}}
  %2 = epl.gather %flags[%i] of [0] operand_dims [-1, 2] index_dims [0, 1] : (tensor<64x6xi1>, tensor<2x4xi32>) -> tensor<2x4x6xi1>
  return
}

func.func @scatter(%x: tensor<8x6xf32>, %i: tensor<2x4xi32>, %rows: tensor<8xi32>, %u: tensor<2x4x6xf32>, %v: tensor<8xf32>) {
  // expected-remark@+1 {{rule ([d2, d3, d0], [d1, d0], [d2, d3]) -> ([d1, d0]) reduces d2, d3 by sum}}
  %0 = epl.scatter add %u into %x[%i] of [0] operand_dims [-1, 2] index_dims [0, 1] : (tensor<2x4x6xf32>, tensor<8x6xf32>, tensor<2x4xi32>) -> tensor<8x6xf32>
  // expected-remark@+1 {{rule ([_, _, d0], [d1, d0], [_, _]) -> ([d1, d0])}}
  %1 = epl.scatter max %u into %x[%i] of [0] operand_dims [-1, 2] index_dims [0, 1] : (tensor<2x4x6xf32>, tensor<8x6xf32>, tensor<2x4xi32>) -> tensor<8x6xf32>
  // expected-remark@+1 {{rule ([d0], [d0, d1], [d0]) -> ([d0, d1])}}
  %2 = epl.scatter set %v into %x[%rows] of [1] operand_dims [0, -1] index_dims [0] : (tensor<8xf32>, tensor<8x6xf32>, tensor<8xi32>) -> tensor<8x6xf32>
  return
}
