// Reductions over rows, over everything, and across the rows of a row nest.

#rc = affine_map<(d0, d1) -> (d0, d1)>
#cr = affine_map<(d0, d1) -> (d1, d0)>
#r = affine_map<(d0, d1) -> (d0)>
#r0 = affine_map<(d0, d1) -> (d0, 0)>
#none = affine_map<(d0, d1) -> ()>
#v = affine_map<(d0) -> (d0)>
#s = affine_map<() -> ()>
#brc = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#cbr = affine_map<(d0, d1, d2) -> (d1, d2, d0)>
#rcb = affine_map<(d0, d1, d2) -> (d2, d0, d1)>
#br = affine_map<(d0, d1, d2) -> (d0, d1)>
#bc = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d0)>
#c = affine_map<(d0, d1, d2) -> (d2)>

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

// The same with rows of two dimensions that are no single one (the offset changes with the first only), and
// the sum over both.
epl.kernel @norm_gradient_of_blocks fusion {
^bb0(%x: tensor<3x$Rx$Cxf32>, %offset: tensor<3x$Cxf32>):
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x$Rx$Cxf32>
  %er = tensor.empty() : tensor<3x$Rxf32>
  %ec = tensor.empty() : tensor<$Cxf32>
  %ir = linalg.fill ins(%zero : f32) outs(%er : tensor<3x$Rxf32>) -> tensor<3x$Rxf32>
  %ic = linalg.fill ins(%zero : f32) outs(%ec : tensor<$Cxf32>) -> tensor<$Cxf32>
  %d = linalg.generic {indexing_maps = [#brc, #bc, #br], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %offset : tensor<3x$Rx$Cxf32>, tensor<3x$Cxf32>) outs(%ir : tensor<3x$Rxf32>) {
  ^bb0(%in: f32, %in1: f32, %out: f32):
    %p = arith.mulf %in, %in1 : f32
    %q = arith.addf %out, %p : f32
    linalg.yield %q : f32
  } -> tensor<3x$Rxf32>
  %dx = linalg.generic {indexing_maps = [#brc, #br, #brc], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %d : tensor<3x$Rx$Cxf32>, tensor<3x$Rxf32>) outs(%e : tensor<3x$Rx$Cxf32>) {
  ^bb0(%in: f32, %in1: f32, %out: f32):
    %q = arith.subf %in, %in1 : f32
    linalg.yield %q : f32
  } -> tensor<3x$Rx$Cxf32>
  %dg = linalg.generic {indexing_maps = [#cbr, #b], iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%dx : tensor<3x$Rx$Cxf32>) outs(%ic : tensor<$Cxf32>) {
  ^bb0(%in: f32, %out: f32):
    %q = arith.addf %out, %in : f32
    linalg.yield %q : f32
  } -> tensor<$Cxf32>
  epl.yield %dx, %dg : tensor<3x$Rx$Cxf32>, tensor<$Cxf32>
}

// Rows that are blocks themselves, with a loop of their own outside the innermost one.
epl.kernel @block_gradient fusion {
^bb0(%x: tensor<$Rx3x$Cxf32>, %gain: tensor<$Cxf32>):
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<$Rx3x$Cxf32>
  %er = tensor.empty() : tensor<$Rxf32>
  %ec = tensor.empty() : tensor<3x$Cxf32>
  %ir = linalg.fill ins(%zero : f32) outs(%er : tensor<$Rxf32>) -> tensor<$Rxf32>
  %ic = linalg.fill ins(%zero : f32) outs(%ec : tensor<3x$Cxf32>) -> tensor<3x$Cxf32>
  %d = linalg.generic {indexing_maps = [#brc, #b], iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%x : tensor<$Rx3x$Cxf32>) outs(%ir : tensor<$Rxf32>) {
  ^bb0(%in: f32, %out: f32):
    %q = arith.addf %out, %in : f32
    linalg.yield %q : f32
  } -> tensor<$Rxf32>
  %dx = linalg.generic {indexing_maps = [#brc, #b, #c, #brc], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %d, %gain : tensor<$Rx3x$Cxf32>, tensor<$Rxf32>, tensor<$Cxf32>) outs(%e : tensor<$Rx3x$Cxf32>) {
  ^bb0(%in: f32, %in1: f32, %g: f32, %out: f32):
    %p = arith.mulf %in1, %g : f32
    %q = arith.subf %in, %p : f32
    linalg.yield %q : f32
  } -> tensor<$Rx3x$Cxf32>
  %dg = linalg.generic {indexing_maps = [#rcb, #br], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%dx : tensor<$Rx3x$Cxf32>) outs(%ic : tensor<3x$Cxf32>) {
  ^bb0(%in: f32, %out: f32):
    %q = arith.addf %out, %in : f32
    linalg.yield %q : f32
  } -> tensor<3x$Cxf32>
  epl.yield %dx, %dg : tensor<$Rx3x$Cxf32>, tensor<3x$Cxf32>
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
