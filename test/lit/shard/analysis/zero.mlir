// RUN: epl-opt %s -epl-propagate | FileCheck %s

// A sum over a sharded factor starts on every member, so its initial value must be known to be zero. Each
// function makes an initial value in another way; the reduction is sharded (and its result partial) if it is
// known to be neutral.

epl.mesh @mesh axes ["data"=2]

!x = tensor<8x4xf32>
!v = tensor<4xf32>
#batch = #epl.sharding<@mesh, [{"data"}, {}]>

// CHECK-LABEL: func.func @zeros
func.func @zeros(%x: !x {epl.sharding = #batch}, %c: tensor<4xi1>, %n: !v) {
  %f0 = arith.constant 0.0 : f32
  %empty = tensor.empty() : !v
  %fill = linalg.fill ins(%f0 : f32) outs(%empty : !v) -> !v
  // CHECK: linalg.reduce {{.*}} partial = sum{"data"}>
  %0 = linalg.reduce { arith.addf } ins(%x : !x) outs(%fill : !v) dimensions = [0]
  %constant = arith.constant dense<0.0> : tensor<f32>
  %broadcast = linalg.broadcast ins(%constant : tensor<f32>) outs(%empty : !v) dimensions = [0]
  // CHECK: linalg.reduce {{.*}} partial = sum{"data"}>
  %1 = linalg.reduce { arith.addf } ins(%x : !x) outs(%broadcast : !v) dimensions = [0]
  %square = arith.constant dense<-0.0> : tensor<2x2xf32>
  %reshape = tensor.collapse_shape %square [[0, 1]] : tensor<2x2xf32> into !v
  // CHECK: linalg.reduce {{.*}} partial = sum{"data"}>
  %2 = linalg.reduce { arith.addf } ins(%x : !x) outs(%reshape : !v) dimensions = [0]
  %select = arith.select %c, %fill, %broadcast : tensor<4xi1>, !v
  // CHECK: linalg.reduce {{.*}} partial = sum{"data"}>
  %3 = linalg.reduce { arith.addf } ins(%x : !x) outs(%select : !v) dimensions = [0]
  %product = arith.mulf %n, %fill : !v
  // CHECK: linalg.reduce {{.*}} partial = sum{"data"}>
  %4 = linalg.reduce { arith.addf } ins(%x : !x) outs(%product : !v) dimensions = [0]
  // The body of a fill may name the constant itself.
  %body = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      outs(%empty : !v) {
  ^bb0(%out: f32):
    linalg.yield %f0 : f32
  } -> !v
  // CHECK: linalg.reduce {{.*}} partial = sum{"data"}>
  %5 = linalg.reduce { arith.addf } ins(%x : !x) outs(%body : !v) dimensions = [0]
  return
}

// CHECK-LABEL: func.func @not_zeros
func.func @not_zeros(%x: !x {epl.sharding = #batch}, %c: tensor<4xi1>, %n: !v) {
  %zero = arith.constant dense<0.0> : !v
  %one = arith.constant dense<1.0> : !v
  %empty = tensor.empty() : !v
  // CHECK: linalg.reduce {{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]}
  %0 = linalg.reduce { arith.addf } ins(%x : !x) outs(%n : !v) dimensions = [0]
  // CHECK: linalg.reduce {{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]}
  %1 = linalg.reduce { arith.addf } ins(%x : !x) outs(%one : !v) dimensions = [0]
  // CHECK: linalg.reduce {{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]}
  %2 = linalg.reduce { arith.addf } ins(%x : !x) outs(%empty : !v) dimensions = [0]
  %select = arith.select %c, %zero, %one : tensor<4xi1>, !v
  // CHECK: linalg.reduce {{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]}
  %3 = linalg.reduce { arith.addf } ins(%x : !x) outs(%select : !v) dimensions = [0]
  %exp = math.exp %zero : !v
  // CHECK: linalg.reduce {{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]}
  %4 = linalg.reduce { arith.addf } ins(%x : !x) outs(%exp : !v) dimensions = [0]
  return
}

// Products start from one; maxima and minima may take any value more than once.
// CHECK-LABEL: func.func @other_reductions
func.func @other_reductions(%x: !x {epl.sharding = #batch}, %k: tensor<8x4xi32> {epl.sharding = #batch},
                            %n: !v, %m: tensor<4xi32>) {
  %f1 = arith.constant 1.0 : f32
  %empty = tensor.empty() : !v
  %ones = linalg.fill ins(%f1 : f32) outs(%empty : !v) -> !v
  // CHECK: linalg.reduce {{.*}} partial = prod{"data"}>
  %0 = linalg.reduce { arith.mulf } ins(%x : !x) outs(%ones : !v) dimensions = [0]
  // CHECK: linalg.reduce {{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]}
  %1 = linalg.reduce { arith.mulf } ins(%x : !x) outs(%n : !v) dimensions = [0]
  %ones_i32 = arith.constant dense<1> : tensor<4xi32>
  // CHECK: linalg.reduce {{.*}} partial = prod{"data"}>
  %2 = linalg.reduce { arith.muli } ins(%k : tensor<8x4xi32>) outs(%ones_i32 : tensor<4xi32>) dimensions = [0]
  // CHECK: linalg.reduce {{.*}} partial = max{"data"}>
  %3 = linalg.reduce { arith.maximumf } ins(%x : !x) outs(%n : !v) dimensions = [0]
  // CHECK: linalg.reduce {{.*}} partial = min{"data"}>
  %4 = linalg.reduce { arith.minsi } ins(%k : tensor<8x4xi32>) outs(%m : tensor<4xi32>) dimensions = [0]
  return
}
