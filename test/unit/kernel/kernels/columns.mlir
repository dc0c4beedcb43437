// Reductions over columns and over dimensions in the middle.

#rc = affine_map<(d0, d1) -> (d0, d1)>
#cr = affine_map<(d0, d1) -> (d1, d0)>
#r = affine_map<(d0, d1) -> (d0)>
#c = affine_map<(d0, d1) -> (d1)>
#none = affine_map<(d0, d1) -> ()>
#v = affine_map<(d0) -> (d0)>

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
