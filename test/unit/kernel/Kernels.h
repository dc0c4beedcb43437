//===- Kernels.h - Kernels of every form, as text ------------------*- C++ -*-===//
#pragma once

namespace mlir::epl::test {

/// A module of kernels on tensors of $R rows and $C columns.
inline const char *const kKernels = R"mlir(
#rc = affine_map<(d0, d1) -> (d0, d1)>
#cr = affine_map<(d0, d1) -> (d1, d0)>
#r = affine_map<(d0, d1) -> (d0)>
#c = affine_map<(d0, d1) -> (d1)>
#r0 = affine_map<(d0, d1) -> (d0, 0)>
#none = affine_map<(d0, d1) -> ()>
#v = affine_map<(d0) -> (d0)>
#s = affine_map<() -> ()>
#rev = affine_map<(d0, d1) -> (d0, -d1 + $C - 1)>

epl.mesh @mesh axes ["data"=2, "model"=4]

// Elementwise on one layout, with a comparison in bytes.
epl.kernel @relu fusion {
^bb0(%x: tensor<$Rx$Cxf32>):
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<$Rx$Cxf32>
  %p = tensor.empty() : tensor<$Rx$Cxi1>
  %y:2 = linalg.generic {indexing_maps = [#rc, #rc, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<$Rx$Cxf32>) outs(%e, %p : tensor<$Rx$Cxf32>, tensor<$Rx$Cxi1>) {
  ^bb0(%in: f32, %out: f32, %out1: i1):
    %m = arith.maximumf %in, %zero : f32
    %g = arith.cmpf ogt, %in, %zero : f32
    linalg.yield %m, %g : f32, i1
  } -> (tensor<$Rx$Cxf32>, tensor<$Rx$Cxi1>)
  epl.yield %y#0, %y#1 : tensor<$Rx$Cxf32>, tensor<$Rx$Cxi1>
}

// A broadcast along rows and one along columns, through unit dimensions.
epl.kernel @bias_gelu fusion {
^bb0(%x: tensor<$Rx$Cxf32>, %bias: tensor<$Cxf32>, %scale: tensor<$Rx1xf32>):
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<$Rx$Cxf32>
  %bias2 = tensor.expand_shape %bias [[0, 1]] output_shape [1, $C] : tensor<$Cxf32> into tensor<1x$Cxf32>
  %b = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d1)>, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%bias2 : tensor<1x$Cxf32>) outs(%e : tensor<$Rx$Cxf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<$Rx$Cxf32>
  %t = linalg.generic {indexing_maps = [#rc, #rc, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%x, %b : tensor<$Rx$Cxf32>, tensor<$Rx$Cxf32>) outs(%e : tensor<$Rx$Cxf32>) {
  ^bb0(%in: f32, %bb: f32, %out: f32):
    %a = arith.addf %in, %bb : f32
    %h = math.tanh %a : f32
    linalg.yield %h : f32
  } -> tensor<$Rx$Cxf32>
  %y = linalg.generic {indexing_maps = [#rc, #r0, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%t, %scale : tensor<$Rx$Cxf32>, tensor<$Rx1xf32>) outs(%e : tensor<$Rx$Cxf32>) {
  ^bb0(%in: f32, %k: f32, %out: f32):
    %a = arith.addf %in, %one : f32
    %h = arith.mulf %a, %half : f32
    %i = arith.mulf %h, %k : f32
    linalg.yield %i : f32
  } -> tensor<$Rx$Cxf32>
  epl.yield %t, %y : tensor<$Rx$Cxf32>, tensor<$Rx$Cxf32>
}

// Two levels of row reductions, a costly value between them.
epl.kernel @softmax fusion {
^bb0(%x: tensor<$Rx$Cxf32>):
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<$Rx$Cxf32>
  %er = tensor.empty() : tensor<$Rxf32>
  %i0 = linalg.fill ins(%zero : f32) outs(%er : tensor<$Rxf32>) -> tensor<$Rxf32>
  %i1 = linalg.fill ins(%low : f32) outs(%er : tensor<$Rxf32>) -> tensor<$Rxf32>
  %m = linalg.generic {indexing_maps = [#rc, #r], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<$Rx$Cxf32>) outs(%i1 : tensor<$Rxf32>) {
  ^bb0(%in: f32, %out: f32):
    %q = arith.maximumf %out, %in : f32
    linalg.yield %q : f32
  } -> tensor<$Rxf32>
  %m2 = tensor.expand_shape %m [[0, 1]] output_shape [$R, 1] : tensor<$Rxf32> into tensor<$Rx1xf32>
  %ex = linalg.generic {indexing_maps = [#rc, #r0, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m2 : tensor<$Rx$Cxf32>, tensor<$Rx1xf32>) outs(%e : tensor<$Rx$Cxf32>) {
  ^bb0(%in: f32, %mm: f32, %out: f32):
    %d = arith.subf %in, %mm : f32
    %f = math.exp %d : f32
    linalg.yield %f : f32
  } -> tensor<$Rx$Cxf32>
  %s = linalg.generic {indexing_maps = [#rc, #r], iterator_types = ["parallel", "reduction"]}
      ins(%ex : tensor<$Rx$Cxf32>) outs(%i0 : tensor<$Rxf32>) {
  ^bb0(%in: f32, %out: f32):
    %q = arith.addf %out, %in : f32
    linalg.yield %q : f32
  } -> tensor<$Rxf32>
  %y = linalg.generic {indexing_maps = [#rc, #r, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%ex, %s : tensor<$Rx$Cxf32>, tensor<$Rxf32>) outs(%e : tensor<$Rx$Cxf32>) {
  ^bb0(%in: f32, %ss: f32, %out: f32):
    %d = arith.divf %in, %ss : f32
    linalg.yield %d : f32
  } -> tensor<$Rx$Cxf32>
  epl.yield %y, %m2 : tensor<$Rx$Cxf32>, tensor<$Rx1xf32>
}

// The mean of a loss over rows: a reduction across the rows of a row nest, then a scalar.
epl.kernel @loss fusion {
^bb0(%x: tensor<$Rx$Cxf32>, %label: tensor<$Rxi32>):
  %zero = arith.constant 0.0 : f32
  %count = arith.constant 128.0 : f32
  %e = tensor.empty() : tensor<$Rx$Cxf32>
  %er = tensor.empty() : tensor<$Rxf32>
  %es = tensor.empty() : tensor<f32>
  %i0 = linalg.fill ins(%zero : f32) outs(%er : tensor<$Rxf32>) -> tensor<$Rxf32>
  %is = linalg.fill ins(%zero : f32) outs(%es : tensor<f32>) -> tensor<f32>
  %hot = linalg.generic {indexing_maps = [#r, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%label : tensor<$Rxi32>) outs(%e : tensor<$Rx$Cxf32>) {
  ^bb0(%in: i32, %out: f32):
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i32
    %same = arith.cmpi eq, %in, %k : i32
    %f = arith.uitofp %same : i1 to f32
    linalg.yield %f : f32
  } -> tensor<$Rx$Cxf32>
  %row = linalg.generic {indexing_maps = [#rc, #rc, #r], iterator_types = ["parallel", "reduction"]}
      ins(%x, %hot : tensor<$Rx$Cxf32>, tensor<$Rx$Cxf32>) outs(%i0 : tensor<$Rxf32>) {
  ^bb0(%in: f32, %h: f32, %out: f32):
    %p = arith.mulf %in, %h : f32
    %q = arith.addf %out, %p : f32
    linalg.yield %q : f32
  } -> tensor<$Rxf32>
  %sum = linalg.generic {indexing_maps = [#v, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
      ins(%row : tensor<$Rxf32>) outs(%is : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %q = arith.addf %out, %in : f32
    linalg.yield %q : f32
  } -> tensor<f32>
  %mean = linalg.generic {indexing_maps = [#s, #s], iterator_types = []} ins(%sum : tensor<f32>) outs(%es : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %q = arith.divf %in, %count : f32
    linalg.yield %q : f32
  } -> tensor<f32>
  epl.yield %mean, %row : tensor<f32>, tensor<$Rxf32>
}

// Columns: a masked gradient and its sum over rows, then a value that needs the sum.
epl.kernel @bias_gradient fusion {
^bb0(%x: tensor<$Rx$Cxf32>, %p: tensor<$Rx$Cxi1>, %old: tensor<$Cxf32>):
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<$Rx$Cxf32>
  %ec = tensor.empty() : tensor<$Cxf32>
  %i0 = linalg.fill ins(%zero : f32) outs(%ec : tensor<$Cxf32>) -> tensor<$Cxf32>
  %g = linalg.generic {indexing_maps = [#rc, #rc, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%x, %p : tensor<$Rx$Cxf32>, tensor<$Rx$Cxi1>) outs(%e : tensor<$Rx$Cxf32>) {
  ^bb0(%in: f32, %keep: i1, %out: f32):
    %q = arith.select %keep, %in, %zero : f32
    linalg.yield %q : f32
  } -> tensor<$Rx$Cxf32>
  %sum = linalg.generic {indexing_maps = [#cr, #r], iterator_types = ["parallel", "reduction"]}
      ins(%g : tensor<$Rx$Cxf32>) outs(%i0 : tensor<$Cxf32>) {
  ^bb0(%in: f32, %out: f32):
    %q = arith.addf %out, %in : f32
    linalg.yield %q : f32
  } -> tensor<$Cxf32>
  %new = linalg.generic {indexing_maps = [#v, #v, #v], iterator_types = ["parallel"]}
      ins(%sum, %old : tensor<$Cxf32>, tensor<$Cxf32>) outs(%ec : tensor<$Cxf32>) {
  ^bb0(%in: f32, %o: f32, %out: f32):
    %q = arith.subf %o, %in : f32
    linalg.yield %q : f32
  } -> tensor<$Cxf32>
  epl.yield %g, %sum, %new : tensor<$Rx$Cxf32>, tensor<$Cxf32>, tensor<$Cxf32>
}

// Column sums of integers, with the row's number in them, and what is summed.
epl.kernel @integer_columns fusion {
^bb0(%x: tensor<$Rx$Cxi32>):
  %zero = arith.constant dense<0> : tensor<$Cxi32>
  %e = tensor.empty() : tensor<$Rx$Cxi32>
  %y = linalg.generic {indexing_maps = [#rc, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<$Rx$Cxi32>) outs(%e : tensor<$Rx$Cxi32>) {
  ^bb0(%in: i32, %out: i32):
    %i = linalg.index 0 : index
    %k = arith.index_cast %i : index to i32
    %q = arith.muli %in, %k : i32
    linalg.yield %q : i32
  } -> tensor<$Rx$Cxi32>
  %sum = linalg.generic {indexing_maps = [#rc, #c], iterator_types = ["reduction", "parallel"]}
      ins(%y : tensor<$Rx$Cxi32>) outs(%zero : tensor<$Cxi32>) {
  ^bb0(%in: i32, %out: i32):
    %q = arith.addi %out, %in : i32
    linalg.yield %q : i32
  } -> tensor<$Cxi32>
  epl.yield %y, %sum : tensor<$Rx$Cxi32>, tensor<$Cxi32>
}

// Row and column reductions together, as in the backward pass of a layer norm.
epl.kernel @norm_gradient fusion {
^bb0(%x: tensor<$Rx$Cxf32>, %dy: tensor<$Rx$Cxf32>):
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<$Rx$Cxf32>
  %er = tensor.empty() : tensor<$Rxf32>
  %ec = tensor.empty() : tensor<$Cxf32>
  %ir = linalg.fill ins(%zero : f32) outs(%er : tensor<$Rxf32>) -> tensor<$Rxf32>
  %ic = linalg.fill ins(%zero : f32) outs(%ec : tensor<$Cxf32>) -> tensor<$Cxf32>
  %d = linalg.generic {indexing_maps = [#rc, #rc, #r], iterator_types = ["parallel", "reduction"]}
      ins(%x, %dy : tensor<$Rx$Cxf32>, tensor<$Rx$Cxf32>) outs(%ir : tensor<$Rxf32>) {
  ^bb0(%in: f32, %in1: f32, %out: f32):
    %p = arith.mulf %in, %in1 : f32
    %q = arith.addf %out, %p : f32
    linalg.yield %q : f32
  } -> tensor<$Rxf32>
  %dx = linalg.generic {indexing_maps = [#rc, #r, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%dy, %d : tensor<$Rx$Cxf32>, tensor<$Rxf32>) outs(%e : tensor<$Rx$Cxf32>) {
  ^bb0(%in: f32, %in1: f32, %out: f32):
    %q = arith.subf %in, %in1 : f32
    linalg.yield %q : f32
  } -> tensor<$Rx$Cxf32>
  %dg = linalg.generic {indexing_maps = [#cr, #cr, #r], iterator_types = ["parallel", "reduction"]}
      ins(%x, %dx : tensor<$Rx$Cxf32>, tensor<$Rx$Cxf32>) outs(%ic : tensor<$Cxf32>) {
  ^bb0(%in: f32, %in1: f32, %out: f32):
    %p = arith.mulf %in, %in1 : f32
    %q = arith.addf %out, %p : f32
    linalg.yield %q : f32
  } -> tensor<$Cxf32>
  epl.yield %dx, %dg : tensor<$Rx$Cxf32>, tensor<$Cxf32>
}

// A sum over everything, onto an init that is an input.
epl.kernel @total fusion {
^bb0(%x: tensor<$Rx$Cxf32>, %init: tensor<f32>):
  %y = linalg.generic {indexing_maps = [#rc, #none], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<$Rx$Cxf32>) outs(%init : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %q = arith.addf %out, %in : f32
    linalg.yield %q : f32
  } -> tensor<f32>
  epl.yield %y : tensor<f32>
}

// Several results and a payload that is no single combiner.
epl.kernel @argmax fusion {
^bb0(%x: tensor<$Rx$Cxf32>):
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i32
  %er = tensor.empty() : tensor<$Rxf32>
  %ei = tensor.empty() : tensor<$Rxi32>
  %i0 = linalg.fill ins(%low : f32) outs(%er : tensor<$Rxf32>) -> tensor<$Rxf32>
  %i1 = linalg.fill ins(%zero : i32) outs(%ei : tensor<$Rxi32>) -> tensor<$Rxi32>
  %y:2 = linalg.generic {indexing_maps = [#rc, #r, #r], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<$Rx$Cxf32>) outs(%i0, %i1 : tensor<$Rxf32>, tensor<$Rxi32>) {
  ^bb0(%in: f32, %best: f32, %at: i32):
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i32
    %gt = arith.cmpf ogt, %in, %best : f32
    %a = arith.select %gt, %in, %best : f32
    %b = arith.select %gt, %k, %at : i32
    linalg.yield %a, %b : f32, i32
  } -> (tensor<$Rxf32>, tensor<$Rxi32>)
  epl.yield %y#0, %y#1 : tensor<$Rxf32>, tensor<$Rxi32>
}

// The same along columns: all lanes at once.
epl.kernel @argmax_columns fusion {
^bb0(%x: tensor<$Rx$Cxf32>):
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i32
  %er = tensor.empty() : tensor<$Cxf32>
  %ei = tensor.empty() : tensor<$Cxi32>
  %i0 = linalg.fill ins(%low : f32) outs(%er : tensor<$Cxf32>) -> tensor<$Cxf32>
  %i1 = linalg.fill ins(%zero : i32) outs(%ei : tensor<$Cxi32>) -> tensor<$Cxi32>
  %y:2 = linalg.generic {indexing_maps = [#cr, #r, #r], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<$Rx$Cxf32>) outs(%i0, %i1 : tensor<$Cxf32>, tensor<$Cxi32>) {
  ^bb0(%in: f32, %best: f32, %at: i32):
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i32
    %gt = arith.cmpf ogt, %in, %best : f32
    %a = arith.select %gt, %in, %best : f32
    %b = arith.select %gt, %k, %at : i32
    linalg.yield %a, %b : f32, i32
  } -> (tensor<$Cxf32>, tensor<$Cxi32>)
  epl.yield %y#0, %y#1 : tensor<$Cxf32>, tensor<$Cxi32>
}

// A reduction over the middle dimension, and one over the outer and the inner one.
epl.kernel @middle fusion {
^bb0(%x: tensor<3x$Rx$Cxf32>):
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<3x$Cxf32>
  %er = tensor.empty() : tensor<$Rxf32>
  %i0 = linalg.fill ins(%one : f32) outs(%e : tensor<3x$Cxf32>) -> tensor<3x$Cxf32>
  %i1 = linalg.fill ins(%one : f32) outs(%er : tensor<$Rxf32>) -> tensor<$Rxf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : tensor<3x$Rx$Cxf32>) outs(%i0 : tensor<3x$Cxf32>) {
  ^bb0(%in: f32, %out: f32):
    %q = arith.minimumf %out, %in : f32
    linalg.yield %q : f32
  } -> tensor<3x$Cxf32>
  %z = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d0, d2)>, affine_map<(d0, d1, d2) -> (d0)>],
      iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%x : tensor<3x$Rx$Cxf32>) outs(%i1 : tensor<$Rxf32>) {
  ^bb0(%in: f32, %out: f32):
    %q = arith.addf %out, %in : f32
    linalg.yield %q : f32
  } -> tensor<$Rxf32>
  epl.yield %y, %z : tensor<3x$Cxf32>, tensor<$Rxf32>
}

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

// Transposes: of every width of element, and in batches.
epl.kernel @transpose_f32 fusion {
^bb0(%x: tensor<$Rx$Cxf32>):
  %e = tensor.empty() : tensor<$Cx$Rxf32>
  %y = linalg.generic {indexing_maps = [#cr, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<$Rx$Cxf32>) outs(%e : tensor<$Cx$Rxf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<$Cx$Rxf32>
  epl.yield %y : tensor<$Cx$Rxf32>
}
epl.kernel @transpose_f64 fusion {
^bb0(%x: tensor<$Rx$Cxf64>):
  %e = tensor.empty() : tensor<$Cx$Rxf64>
  %y = linalg.generic {indexing_maps = [#cr, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<$Rx$Cxf64>) outs(%e : tensor<$Cx$Rxf64>) {
  ^bb0(%in: f64, %out: f64):
    linalg.yield %in : f64
  } -> tensor<$Cx$Rxf64>
  epl.yield %y : tensor<$Cx$Rxf64>
}
epl.kernel @transpose_i32 fusion {
^bb0(%x: tensor<$Rx$Cxi32>):
  %e = tensor.empty() : tensor<$Cx$Rxi32>
  %y = linalg.generic {indexing_maps = [#cr, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<$Rx$Cxi32>) outs(%e : tensor<$Cx$Rxi32>) {
  ^bb0(%in: i32, %out: i32):
    linalg.yield %in : i32
  } -> tensor<$Cx$Rxi32>
  epl.yield %y : tensor<$Cx$Rxi32>
}
epl.kernel @transpose_i64 fusion {
^bb0(%x: tensor<$Rx$Cxi64>):
  %e = tensor.empty() : tensor<$Cx$Rxi64>
  %y = linalg.generic {indexing_maps = [#cr, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<$Rx$Cxi64>) outs(%e : tensor<$Cx$Rxi64>) {
  ^bb0(%in: i64, %out: i64):
    linalg.yield %in : i64
  } -> tensor<$Cx$Rxi64>
  epl.yield %y : tensor<$Cx$Rxi64>
}
epl.kernel @transpose_i1 fusion {
^bb0(%x: tensor<$Rx$Cxi1>):
  %e = tensor.empty() : tensor<$Cx$Rxi1>
  %y = linalg.generic {indexing_maps = [#cr, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<$Rx$Cxi1>) outs(%e : tensor<$Cx$Rxi1>) {
  ^bb0(%in: i1, %out: i1):
    linalg.yield %in : i1
  } -> tensor<$Cx$Rxi1>
  epl.yield %y : tensor<$Cx$Rxi1>
}
epl.kernel @transpose_bf16 fusion {
^bb0(%x: tensor<$Rx$Cxbf16>):
  %e = tensor.empty() : tensor<$Cx$Rxbf16>
  %y = linalg.generic {indexing_maps = [#cr, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<$Rx$Cxbf16>) outs(%e : tensor<$Cx$Rxbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    linalg.yield %in : bf16
  } -> tensor<$Cx$Rxbf16>
  epl.yield %y : tensor<$Cx$Rxbf16>
}
epl.kernel @transpose_batches fusion {
^bb0(%x: tensor<3x$Rx1x$Cxf32>):
  %e = tensor.empty() : tensor<3x$Cx$Rx1xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<3x$Rx1x$Cxf32>) outs(%e : tensor<3x$Cx$Rx1xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<3x$Cx$Rx1xf32>
  epl.yield %y : tensor<3x$Cx$Rx1xf32>
}
epl.kernel @transpose_outer fusion {
^bb0(%x: tensor<$Cx2x$Rxf32>):
  %e = tensor.empty() : tensor<$Rx2x$Cxf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d1, d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<$Cx2x$Rxf32>) outs(%e : tensor<$Rx2x$Cxf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<$Rx2x$Cxf32>
  epl.yield %y : tensor<$Rx2x$Cxf32>
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

// Wide types.
epl.kernel @wide fusion {
^bb0(%x: tensor<$Rx$Cxf64>, %n: tensor<$Rx$Cxi64>):
  %low = arith.constant 0xFFF0000000000000 : f64
  %zero = arith.constant 0 : i64
  %er = tensor.empty() : tensor<$Rxf64>
  %ei = tensor.empty() : tensor<$Rxi64>
  %e = tensor.empty() : tensor<$Rx$Cxf64>
  %i0 = linalg.fill ins(%low : f64) outs(%er : tensor<$Rxf64>) -> tensor<$Rxf64>
  %i1 = linalg.fill ins(%zero : i64) outs(%ei : tensor<$Rxi64>) -> tensor<$Rxi64>
  %m = linalg.generic {indexing_maps = [#rc, #r], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<$Rx$Cxf64>) outs(%i0 : tensor<$Rxf64>) {
  ^bb0(%in: f64, %out: f64):
    %q = arith.maximumf %out, %in : f64
    linalg.yield %q : f64
  } -> tensor<$Rxf64>
  %k = linalg.generic {indexing_maps = [#rc, #r], iterator_types = ["parallel", "reduction"]}
      ins(%n : tensor<$Rx$Cxi64>) outs(%i1 : tensor<$Rxi64>) {
  ^bb0(%in: i64, %out: i64):
    %q = arith.addi %out, %in : i64
    linalg.yield %q : i64
  } -> tensor<$Rxi64>
  %y = linalg.generic {indexing_maps = [#rc, #r, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<$Rx$Cxf64>, tensor<$Rxf64>) outs(%e : tensor<$Rx$Cxf64>) {
  ^bb0(%in: f64, %mm: f64, %out: f64):
    %d = arith.subf %in, %mm : f64
    %f = math.exp %d : f64
    %g = math.sin %f : f64
    linalg.yield %g : f64
  } -> tensor<$Rx$Cxf64>
  epl.yield %y, %m, %k : tensor<$Rx$Cxf64>, tensor<$Rxf64>, tensor<$Rxi64>
}

// Narrow floats: computed in f32, summed in f32 and in their own type.
epl.kernel @narrow fusion {
^bb0(%x: tensor<$Rx$Cxbf16>, %h: tensor<$Rx$Cxf16>):
  %zero = arith.constant 0.0 : f32
  %zerob = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<$Rx$Cxbf16>
  %er = tensor.empty() : tensor<$Rxf32>
  %eb = tensor.empty() : tensor<$Rxbf16>
  %i0 = linalg.fill ins(%zero : f32) outs(%er : tensor<$Rxf32>) -> tensor<$Rxf32>
  %i1 = linalg.fill ins(%zerob : bf16) outs(%eb : tensor<$Rxbf16>) -> tensor<$Rxbf16>
  %y = linalg.generic {indexing_maps = [#rc, #rc, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%x, %h : tensor<$Rx$Cxbf16>, tensor<$Rx$Cxf16>) outs(%e : tensor<$Rx$Cxbf16>) {
  ^bb0(%in: bf16, %in1: f16, %out: bf16):
    %w = arith.extf %in1 : f16 to f32
    %n = arith.truncf %w : f32 to bf16
    %p = arith.mulf %in, %n : bf16
    %q = math.tanh %p : bf16
    linalg.yield %q : bf16
  } -> tensor<$Rx$Cxbf16>
  %s = linalg.generic {indexing_maps = [#rc, #r], iterator_types = ["parallel", "reduction"]}
      ins(%y : tensor<$Rx$Cxbf16>) outs(%i0 : tensor<$Rxf32>) {
  ^bb0(%in: bf16, %out: f32):
    %w = arith.extf %in : bf16 to f32
    %q = arith.addf %out, %w : f32
    linalg.yield %q : f32
  } -> tensor<$Rxf32>
  %m = linalg.generic {indexing_maps = [#rc, #r], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<$Rx$Cxbf16>) outs(%i1 : tensor<$Rxbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %q = arith.maximumf %out, %in : bf16
    linalg.yield %q : bf16
  } -> tensor<$Rxbf16>
  epl.yield %y, %s, %m : tensor<$Rx$Cxbf16>, tensor<$Rxf32>, tensor<$Rxbf16>
}

// An optimizer: scalars, and parameters of several sizes that are updated in place.
epl.kernel @adam fusion {
^bb0(%count: tensor<i32>, %g0: tensor<$Rx$Cxf32>, %m0: tensor<$Rx$Cxf32>, %p0: tensor<$Rx$Cxf32>, %g1: tensor<$Cxf32>, %p1: tensor<$Cxf32>):
  %one = arith.constant 1 : i32
  %onef = arith.constant 1.0 : f32
  %beta = arith.constant 0.9 : f32
  %rate = arith.constant dense<0.1> : tensor<f32>
  %es = tensor.empty() : tensor<i32>
  %ef = tensor.empty() : tensor<f32>
  %e = tensor.empty() : tensor<$Rx$Cxf32>
  %ec = tensor.empty() : tensor<$Cxf32>
  %next = linalg.generic {indexing_maps = [#s, #s], iterator_types = []} ins(%count : tensor<i32>) outs(%es : tensor<i32>) {
  ^bb0(%in: i32, %out: i32):
    %q = arith.addi %in, %one : i32
    linalg.yield %q : i32
  } -> tensor<i32>
  %correction = linalg.generic {indexing_maps = [#s, #s], iterator_types = []} ins(%next : tensor<i32>) outs(%ef : tensor<f32>) {
  ^bb0(%in: i32, %out: f32):
    %f = arith.sitofp %in : i32 to f32
    %p = math.powf %beta, %f : f32
    %q = arith.subf %onef, %p : f32
    linalg.yield %q : f32
  } -> tensor<f32>
  %m = linalg.generic {indexing_maps = [#rc, #rc, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%m0, %g0 : tensor<$Rx$Cxf32>, tensor<$Rx$Cxf32>) outs(%e : tensor<$Rx$Cxf32>) {
  ^bb0(%in: f32, %g: f32, %out: f32):
    %a = arith.mulf %in, %beta : f32
    %b = arith.addf %a, %g : f32
    linalg.yield %b : f32
  } -> tensor<$Rx$Cxf32>
  %p = linalg.generic {indexing_maps = [#rc, #rc, #none, #none, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%p0, %m, %correction, %rate : tensor<$Rx$Cxf32>, tensor<$Rx$Cxf32>, tensor<f32>, tensor<f32>) outs(%e : tensor<$Rx$Cxf32>) {
  ^bb0(%in: f32, %mm: f32, %c: f32, %r: f32, %out: f32):
    %a = arith.divf %mm, %c : f32
    %b = arith.mulf %a, %r : f32
    %q = arith.subf %in, %b : f32
    linalg.yield %q : f32
  } -> tensor<$Rx$Cxf32>
  %q1 = linalg.generic {indexing_maps = [#v, #v, #v], iterator_types = ["parallel"]}
      ins(%p1, %g1 : tensor<$Cxf32>, tensor<$Cxf32>) outs(%ec : tensor<$Cxf32>) {
  ^bb0(%in: f32, %g: f32, %out: f32):
    %q = arith.subf %in, %g : f32
    linalg.yield %q : f32
  } -> tensor<$Cxf32>
  epl.yield %next, %m, %p, %q1 : tensor<i32>, tensor<$Rx$Cxf32>, tensor<$Rx$Cxf32>, tensor<$Cxf32>
} {in_place = array<i32: 0, 2, 3, 5>}

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

// Columns that are two dimensions, and that a factor keeps two.
epl.kernel @grouped_sum fusion {
^bb0(%x: tensor<$Rx4x$Cxf32>, %k: tensor<4xf32>):
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x$Cxf32>
  %i0 = linalg.generic {indexing_maps = [#none, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%zero : f32) outs(%e : tensor<4x$Cxf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4x$Cxf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>],
      iterator_types = ["reduction", "parallel", "parallel"]}
      ins(%x : tensor<$Rx4x$Cxf32>) outs(%i0 : tensor<4x$Cxf32>) {
  ^bb0(%in: f32, %out: f32):
    %q = arith.addf %out, %in : f32
    linalg.yield %q : f32
  } -> tensor<4x$Cxf32>
  epl.yield %y : tensor<4x$Cxf32>
}
epl.kernel @grouped_scaled_sum fusion {
^bb0(%x: tensor<$Rx4x$Cxf32>, %k: tensor<4xf32>):
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x$Cxf32>
  %i0 = linalg.fill ins(%zero : f32) outs(%e : tensor<4x$Cxf32>) -> tensor<4x$Cxf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1)>,
      affine_map<(d0, d1, d2) -> (d1, d2)>], iterator_types = ["reduction", "parallel", "parallel"]}
      ins(%x, %k : tensor<$Rx4x$Cxf32>, tensor<4xf32>) outs(%i0 : tensor<4x$Cxf32>) {
  ^bb0(%in: f32, %kk: f32, %out: f32):
    %p = arith.mulf %in, %kk : f32
    %q = arith.addf %out, %p : f32
    linalg.yield %q : f32
  } -> tensor<4x$Cxf32>
  epl.yield %y : tensor<4x$Cxf32>
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
)mlir";

} // namespace mlir::epl::test
