// Kernels on one layout, with broadcasts; several types; results in place.

#rc = affine_map<(d0, d1) -> (d0, d1)>
#r = affine_map<(d0, d1) -> (d0)>
#r0 = affine_map<(d0, d1) -> (d0, 0)>
#none = affine_map<(d0, d1) -> ()>
#v = affine_map<(d0) -> (d0)>
#s = affine_map<() -> ()>

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

// The same for tensors of two sizes: one function, unless one of them is shorter than a vector.
epl.kernel @negate fusion {
^bb0(%x: tensor<$Rx$Cxf32>):
  %e = tensor.empty() : tensor<$Rx$Cxf32>
  %y = linalg.generic {indexing_maps = [#rc, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<$Rx$Cxf32>) outs(%e : tensor<$Rx$Cxf32>) {
  ^bb0(%in: f32, %out: f32):
    %q = arith.negf %in : f32
    linalg.yield %q : f32
  } -> tensor<$Rx$Cxf32>
  epl.yield %y : tensor<$Rx$Cxf32>
}

epl.kernel @negate_more fusion {
^bb0(%x: tensor<$Sx$Dxf32>):
  %e = tensor.empty() : tensor<$Sx$Dxf32>
  %y = linalg.generic {indexing_maps = [#rc, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<$Sx$Dxf32>) outs(%e : tensor<$Sx$Dxf32>) {
  ^bb0(%in: f32, %out: f32):
    %q = arith.negf %in : f32
    linalg.yield %q : f32
  } -> tensor<$Sx$Dxf32>
  epl.yield %y : tensor<$Sx$Dxf32>
}
