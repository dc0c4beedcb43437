// What moves data, or reads it elsewhere than it writes; contractions that no library takes.

#rc = affine_map<(d0, d1) -> (d0, d1)>
#cr = affine_map<(d0, d1) -> (d1, d0)>
#r = affine_map<(d0, d1) -> (d0)>
#c = affine_map<(d0, d1) -> (d1)>
#rev = affine_map<(d0, d1) -> (d0, -d1 + $C - 1)>

epl.mesh @mesh axes ["data"=2, "model"=4]

// A permuted, a reversed and a sliced operand.
epl.kernel @permuted fusion {
^bb0(%x: tensor<$Cx$Rxf32>, %y: tensor<$Rx$Cxf32>, %w: tensor<2x$Rx$Cxf32>):
  %e = tensor.empty() : tensor<$Rx$Cxf32>
  %slice = tensor.extract_slice %w[1, 0, 0] [1, $R, $C] [1, 1, 1] : tensor<2x$Rx$Cxf32> to tensor<$Rx$Cxf32>
  %z = linalg.generic {indexing_maps = [#cr, #rev, #rc, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y, %slice : tensor<$Cx$Rxf32>, tensor<$Rx$Cxf32>, tensor<$Rx$Cxf32>) outs(%e : tensor<$Rx$Cxf32>) {
  ^bb0(%in: f32, %in1: f32, %in2: f32, %out: f32):
    %p = arith.addf %in, %in1 : f32
    %q = arith.mulf %p, %in2 : f32
    linalg.yield %q : f32
  } -> tensor<$Rx$Cxf32>
  epl.yield %z : tensor<$Rx$Cxf32>
}

// A result that may not take its operand's place: the operand is read transposed.
epl.kernel @crossed fusion {
^bb0(%x: tensor<$Rx$Rxf32>):
  %e = tensor.empty() : tensor<$Rx$Rxf32>
  %y = linalg.generic {indexing_maps = [#cr, #rc, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%x, %x : tensor<$Rx$Rxf32>, tensor<$Rx$Rxf32>) outs(%e : tensor<$Rx$Rxf32>) {
  ^bb0(%in: f32, %in1: f32, %out: f32):
    %q = arith.subf %in, %in1 : f32
    linalg.yield %q : f32
  } -> tensor<$Rx$Rxf32>
  epl.yield %y : tensor<$Rx$Rxf32>
} {in_place = array<i32: 0>}

// A gather, and the rank's coordinate.
epl.kernel @embedding fusion {
^bb0(%table: tensor<7x$Cxf32>, %ids: tensor<$Rxi32>):
  %e = tensor.empty() : tensor<$Rx$Cxf32>
  %ei = tensor.empty() : tensor<$Rx$Cxi32>
  %axis = epl.axis_index @mesh "model"
  %width = arith.constant 1000 : index
  %offset = arith.muli %axis, %width : index
  %y = linalg.generic {indexing_maps = [#r, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%ids : tensor<$Rxi32>) outs(%e : tensor<$Rx$Cxf32>) {
  ^bb0(%in: i32, %out: f32):
    %i = arith.index_cast %in : i32 to index
    %j = linalg.index 1 : index
    %q = tensor.extract %table[%i, %j] : tensor<7x$Cxf32>
    linalg.yield %q : f32
  } -> tensor<$Rx$Cxf32>
  %z = linalg.generic {indexing_maps = [#rc], iterator_types = ["parallel", "parallel"]} outs(%ei : tensor<$Rx$Cxi32>) {
  ^bb0(%out: i32):
    %j = linalg.index 1 : index
    %k = arith.addi %j, %offset : index
    %q = arith.index_cast %k : index to i32
    linalg.yield %q : i32
  } -> tensor<$Rx$Cxi32>
  epl.yield %y, %z : tensor<$Rx$Cxf32>, tensor<$Rx$Cxi32>
}

// Parts of a value, the last one with nothing in it, and a reader of the whole.
epl.kernel @parts fusion {
^bb0(%x: tensor<$Rx$Cxf32>, %y: tensor<$Rx2xf32>, %none: tensor<$Rx0xf32>):
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<$Rx$Dxf32>
  %es = tensor.empty() : tensor<$Rxf32>
  %i0 = linalg.fill ins(%zero : f32) outs(%es : tensor<$Rxf32>) -> tensor<$Rxf32>
  %joined = epl.concatenate %y, %x, %y, %none dim 1
      : (tensor<$Rx2xf32>, tensor<$Rx$Cxf32>, tensor<$Rx2xf32>, tensor<$Rx0xf32>) -> tensor<$Rx$Dxf32>
  %sum = linalg.generic {indexing_maps = [#rc, #r], iterator_types = ["parallel", "reduction"]}
      ins(%joined : tensor<$Rx$Dxf32>) outs(%i0 : tensor<$Rxf32>) {
  ^bb0(%in: f32, %out: f32):
    %q = arith.addf %out, %in : f32
    linalg.yield %q : f32
  } -> tensor<$Rxf32>
  %z = linalg.generic {indexing_maps = [#rc, #r, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%joined, %sum : tensor<$Rx$Dxf32>, tensor<$Rxf32>) outs(%e : tensor<$Rx$Dxf32>) {
  ^bb0(%in: f32, %s: f32, %out: f32):
    %q = arith.addf %in, %s : f32
    linalg.yield %q : f32
  } -> tensor<$Rx$Dxf32>
  epl.yield %z : tensor<$Rx$Dxf32>
}

// A pad, and a strided insertion.
epl.kernel @padded fusion {
^bb0(%x: tensor<$Rx$Cxf32>, %into: tensor<7x9xf32>, %part: tensor<3x4xf32>):
  %two = arith.constant 2.0 : f32
  %p = tensor.pad %x low[1, 2] high[0, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %two : f32
  } : tensor<$Rx$Cxf32> to tensor<$Sx$Dxf32>
  %q = tensor.insert_slice %part into %into[1, 2] [3, 4] [2, 1] : tensor<3x4xf32> into tensor<7x9xf32>
  epl.yield %p, %q : tensor<$Sx$Dxf32>, tensor<7x9xf32>
}

// What is read again is the value behind both moves.
epl.kernel @overwritten fusion {
^bb0(%x: tensor<$Rx$Cxf32>, %y: tensor<$Rx$Dxf32>):
  %e = tensor.empty() : tensor<$Rx$Dxf32>
  %t = tensor.insert_slice %x into %y[0, 2] [$R, $C] [1, 1] : tensor<$Rx$Cxf32> into tensor<$Rx$Dxf32>
  %z = linalg.generic {indexing_maps = [#rc, #rc, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%t, %y : tensor<$Rx$Dxf32>, tensor<$Rx$Dxf32>) outs(%e : tensor<$Rx$Dxf32>) {
  ^bb0(%in: f32, %in1: f32, %out: f32):
    %q = arith.subf %in, %in1 : f32
    linalg.yield %q : f32
  } -> tensor<$Rx$Dxf32>
  epl.yield %z, %t : tensor<$Rx$Dxf32>, tensor<$Rx$Dxf32>
}

// Nothing at all.
epl.kernel @nothing fusion {
^bb0(%x: tensor<0x$Cxf32>):
  %e = tensor.empty() : tensor<0x$Cxf32>
  %y = linalg.generic {indexing_maps = [#rc, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<0x$Cxf32>) outs(%e : tensor<0x$Cxf32>) {
  ^bb0(%in: f32, %out: f32):
    %q = arith.addf %in, %in : f32
    linalg.yield %q : f32
  } -> tensor<0x$Cxf32>
  epl.yield %y : tensor<0x$Cxf32>
}

// Ops that move data, a payload with control flow, constants in memory.
epl.kernel @moves fusion {
^bb0(%x: tensor<$Rx$Cxf32>, %y: tensor<$Rx2xf32>):
  %zero = arith.constant 0.0 : f32
  %pair = arith.constant dense<[1.5, -2.5]> : tensor<2xf32>
  %flags = arith.constant dense<[true, false]> : tensor<2xi1>
  %e2 = tensor.empty() : tensor<$Rx2xf32>
  %joined = epl.concatenate %y, %x, %y dim 1 : (tensor<$Rx2xf32>, tensor<$Rx$Cxf32>, tensor<$Rx2xf32>) -> tensor<$Rx$Dxf32>
  %padded = tensor.pad %x low[1, 2] high[0, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<$Rx$Cxf32> to tensor<$Sx$Dxf32>
  %z = linalg.generic {indexing_maps = [#rc, #c, #c, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%y, %pair, %flags : tensor<$Rx2xf32>, tensor<2xf32>, tensor<2xi1>) outs(%e2 : tensor<$Rx2xf32>) {
  ^bb0(%in: f32, %k: f32, %f: i1, %out: f32):
    %j = linalg.index 1 : index
    %i = linalg.index 0 : index
    %q = scf.if %f -> f32 {
      %t = tensor.extract %y[%i, %j] : tensor<$Rx2xf32>
      scf.yield %t : f32
    } else {
      %t = arith.mulf %in, %k : f32
      scf.yield %t : f32
    }
    linalg.yield %q : f32
  } -> tensor<$Rx2xf32>
  %placed = tensor.insert_slice %z into %joined[0, 1] [$R, 2] [1, 1] : tensor<$Rx2xf32> into tensor<$Rx$Dxf32>
  epl.yield %padded, %placed : tensor<$Sx$Dxf32>, tensor<$Rx$Dxf32>
}

// A contraction that no library takes.
epl.kernel @product contraction {
^bb0(%x: tensor<$Rx$Cxi32>, %y: tensor<$Cx9xi32>, %acc: tensor<$Rx9xi32>):
  %z = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>,
      affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %y : tensor<$Rx$Cxi32>, tensor<$Cx9xi32>) outs(%acc : tensor<$Rx9xi32>) {
  ^bb0(%in: i32, %in1: i32, %out: i32):
    %p = arith.muli %in, %in1 : i32
    %q = arith.addi %out, %p : i32
    linalg.yield %q : i32
  } -> tensor<$Rx9xi32>
  epl.yield %z : tensor<$Rx9xi32>
}
