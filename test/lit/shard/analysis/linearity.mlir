// RUN: epl-opt %s -epl-propagate | FileCheck %s

// Which ops a pending sum passes: each function makes one, %p, and reads it in one way. The result is partial
// if the op is linear in it.

epl.mesh @mesh axes ["data"=2]

!x = tensor<8x4xf32>
!v = tensor<4xf32>
#batch = #epl.sharding<@mesh, [{"data"}, {}]>

// CHECK-LABEL: func.func @scalar_ops
func.func @scalar_ops(%x: !x {epl.sharding = #batch}, %n: !v, %c: tensor<4xi1>) {
  %zero = arith.constant dense<0.0> : !v
  // CHECK: %[[P:.*]] = linalg.reduce {{.*}} partial = sum{"data"}>
  %p = linalg.reduce { arith.addf } ins(%x : !x) outs(%zero : !v) dimensions = [0]
  // Sums of partial values and of zero.
  // CHECK: arith.addf %[[P]], %[[P]] {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}], partial = sum{"data"}>]}
  %0 = arith.addf %p, %p : !v
  // CHECK: arith.subf %[[P]], %[[P]] {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}], partial = sum{"data"}>]}
  %1 = arith.subf %p, %p : !v
  // CHECK: arith.addf %[[P]], %{{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}], partial = sum{"data"}>]}
  %2 = arith.addf %p, %zero : !v
  // CHECK: arith.subf %{{.*}}, %[[P]] {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}], partial = sum{"data"}>]}
  %3 = arith.subf %zero, %p : !v
  // A complete value may be added by one member: placement says whether.
  // CHECK: arith.addf %[[P]], %{{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}], partial = sum{"data"}>]}
  %4 = arith.addf %p, %n : !v
  // CHECK: arith.subf %{{.*}}, %[[P]] {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}], partial = sum{"data"}>]}
  %5 = arith.subf %n, %p : !v
  // Products and quotients with one partial factor.
  // CHECK: arith.mulf %[[P]], %{{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}], partial = sum{"data"}>]}
  %6 = arith.mulf %p, %n : !v
  // CHECK: arith.mulf %{{.*}}, %[[P]] {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}], partial = sum{"data"}>]}
  %7 = arith.mulf %n, %p : !v
  // CHECK: arith.mulf %[[P]], %[[P]] {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]}
  %8 = arith.mulf %p, %p : !v
  // Zero times an infinite part is NaN, on one member only.
  // CHECK: arith.mulf %[[P]], %{{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}], partial = sum{"data"}>]}
  %9 = arith.mulf %p, %zero : !v
  // CHECK: arith.divf %[[P]], %{{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}], partial = sum{"data"}>]}
  %10 = arith.divf %p, %n : !v
  // CHECK: arith.divf %{{.*}}, %[[P]] {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]}
  %11 = arith.divf %n, %p : !v
  // Negation and widening; rounding does not commute with a sum.
  // CHECK: arith.negf %[[P]] {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}], partial = sum{"data"}>]}
  %12 = arith.negf %p : !v
  // CHECK: arith.extf %[[P]] {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}], partial = sum{"data"}>]}
  %13 = arith.extf %p : !v to tensor<4xf64>
  // CHECK: arith.truncf %[[P]] {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]}
  %14 = arith.truncf %p : !v to tensor<4xbf16>
  // CHECK: arith.select %{{.*}}, %[[P]], %[[P]] {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]}
  %15 = arith.select %c, %p, %p : tensor<4xi1>, !v
  // CHECK: math.exp %[[P]] {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]}
  %16 = math.exp %p : !v
  // CHECK: arith.maximumf %[[P]], %{{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]}
  %17 = arith.maximumf %p, %zero : !v
  return
}

// CHECK-LABEL: func.func @integers
func.func @integers(%x: tensor<8x4xi32> {epl.sharding = #batch}, %n: tensor<4xi32>) {
  %zero = arith.constant dense<0> : tensor<4xi32>
  // CHECK: %[[P:.*]] = linalg.reduce {{.*}} partial = sum{"data"}>
  %p = linalg.reduce { arith.addi } ins(%x : tensor<8x4xi32>) outs(%zero : tensor<4xi32>) dimensions = [0]
  // CHECK: arith.addi {{.*}}, partial = sum{"data"}>
  %0 = arith.addi %p, %p : tensor<4xi32>
  // CHECK: arith.subi {{.*}}, partial = sum{"data"}>
  %1 = arith.subi %p, %p : tensor<4xi32>
  // CHECK: arith.muli {{.*}}, partial = sum{"data"}>
  %2 = arith.muli %p, %n : tensor<4xi32>
  // A sum that wraps around differs from the sum of the widened parts.
  // CHECK: arith.extsi {{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]}
  %3 = arith.extsi %p : tensor<4xi32> to tensor<4xi64>
  // CHECK: arith.divsi {{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]}
  %4 = arith.divsi %p, %n : tensor<4xi32>
  return
}

// CHECK-LABEL: func.func @copies
func.func @copies(%x: !x {epl.sharding = #batch}, %n: tensor<2xf32>) {
  %zero = arith.constant dense<0.0> : !v
  %zero2 = arith.constant dense<0.0> : tensor<2xf32>
  %f0 = arith.constant 0.0 : f32
  %f1 = arith.constant 1.0 : f32
  %empty = tensor.empty() : tensor<2x4xf32>
  // CHECK: linalg.reduce {{.*}} partial = sum{"data"}>
  %p = linalg.reduce { arith.addf } ins(%x : !x) outs(%zero : !v) dimensions = [0]
  // CHECK: %[[B:.*]] = linalg.broadcast {{.*}}, partial = sum{"data"}>
  %b = linalg.broadcast ins(%p : !v) outs(%empty : tensor<2x4xf32>) dimensions = [0]
  %et = tensor.empty() : tensor<4x2xf32>
  // CHECK: linalg.transpose {{.*}}, partial = sum{"data"}>
  %t = linalg.transpose ins(%b : tensor<2x4xf32>) outs(%et : tensor<4x2xf32>) permutation = [1, 0]
  // CHECK: tensor.expand_shape {{.*}}, partial = sum{"data"}>
  %0 = tensor.expand_shape %p [[0, 1]] output_shape [2, 2] : !v into tensor<2x2xf32>
  // CHECK: tensor.collapse_shape {{.*}}, partial = sum{"data"}>
  %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<2x2xf32> into !v
  // CHECK: %[[S:.*]] = tensor.extract_slice {{.*}}, partial = sum{"data"}>
  %s = tensor.extract_slice %p[1] [2] [1] : !v to tensor<2xf32>
  // CHECK: tensor.insert_slice {{.*}}, partial = sum{"data"}>
  %2 = tensor.insert_slice %s into %zero[0] [2] [1] : tensor<2xf32> into !v
  // CHECK: tensor.insert_slice {{.*}}, partial = sum{"data"}>
  %3 = tensor.insert_slice %n into %p[0] [2] [1] : tensor<2xf32> into !v
  // CHECK: epl.concatenate {{.*}}, partial = sum{"data"}>
  %4 = epl.concatenate %s, %zero2 dim 0 : (tensor<2xf32>, tensor<2xf32>) -> !v
  // CHECK: epl.concatenate {{.*}}, partial = sum{"data"}>
  %5 = epl.concatenate %s, %n dim 0 : (tensor<2xf32>, tensor<2xf32>) -> !v
  // CHECK: tensor.pad
  // CHECK: } {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}], partial = sum{"data"}>]}
  %6 = tensor.pad %p low[1] high[0] {
  ^bb0(%i: index):
    tensor.yield %f0 : f32
  } : !v to tensor<5xf32>
  // CHECK: tensor.pad
  // CHECK: } {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]}
  %7 = tensor.pad %p low[1] high[0] {
  ^bb0(%i: index):
    tensor.yield %f1 : f32
  } : !v to tensor<5xf32>
  return
}

// Bodies: what flows through the accumulator of an inner reduction counts too.
// CHECK-LABEL: func.func @bodies
func.func @bodies(%x: !x {epl.sharding = #batch}, %w: tensor<4x3xf32>, %b: tensor<f32>) {
  %zero = arith.constant dense<0.0> : !v
  %f0 = arith.constant dense<0.0> : tensor<f32>
  %z3 = arith.constant dense<0.0> : tensor<3xf32>
  // CHECK: linalg.reduce {{.*}} partial = sum{"data"}>
  %p = linalg.reduce { arith.addf } ins(%x : !x) outs(%zero : !v) dimensions = [0]
  // CHECK: linalg.vecmat {{.*}}, partial = sum{"data"}>
  %0 = linalg.vecmat ins(%p, %w : !v, tensor<4x3xf32>) outs(%z3 : tensor<3xf32>) -> tensor<3xf32>
  // CHECK: linalg.reduce {{.*}}, partial = sum{"data"}>
  %1 = linalg.reduce { arith.addf } ins(%p : !v) outs(%f0 : tensor<f32>) dimensions = [0]
  // The initial value is complete.
  // CHECK: linalg.reduce {{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, []>]}
  %2 = linalg.reduce { arith.addf } ins(%p : !v) outs(%b : tensor<f32>) dimensions = [0]
  // CHECK: linalg.reduce {{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, []>]}
  %3 = linalg.reduce { arith.maximumf } ins(%p : !v) outs(%f0 : tensor<f32>) dimensions = [0]
  // acc * acc + x: linear once, not twice.
  // CHECK: linalg.generic {{.*}} attrs = {{.*}}epl.sharding = [#epl.sharding<@mesh, []>]}
  %4 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>],
      iterator_types = ["reduction"]} ins(%p : !v) outs(%f0 : tensor<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %5 = arith.mulf %acc, %acc : f32
    %6 = arith.addf %5, %a : f32
    linalg.yield %6 : f32
  } -> tensor<f32>
  // A branch in the body that reads it is opaque.
  // CHECK: linalg.generic {{.*}} attrs = {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]}
  %7 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
      iterator_types = ["parallel"]} ins(%p : !v) outs(%zero : !v) {
  ^bb0(%a: f32, %out: f32):
    %true = arith.constant true
    %5 = scf.if %true -> f32 {
      scf.yield %a : f32
    } else {
      scf.yield %a : f32
    }
    linalg.yield %5 : f32
  } -> !v
  return
}

// Only sums flow.
// CHECK-LABEL: func.func @max_does_not_flow
func.func @max_does_not_flow(%x: !x {epl.sharding = #batch}, %n: !v) {
  // CHECK: linalg.reduce {{.*}} partial = max{"data"}>
  %p = linalg.reduce { arith.maximumf } ins(%x : !x) outs(%n : !v) dimensions = [0]
  // CHECK: arith.negf {{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]}
  %0 = arith.negf %p : !v
  return
}

// Reads are linear in what is read, sums in what is added; positions and other combinations need the complete value.
// CHECK-LABEL: func.func @indexed
func.func @indexed(%x: !x {epl.sharding = #batch}, %n: !v, %i: tensor<2xi32>, %y: tensor<8xi32> {epl.sharding = #epl.sharding<@mesh, [{"data"}]>}) {
  %zero = arith.constant dense<0.0> : !v
  %none = arith.constant dense<0> : tensor<i32>
  // CHECK: linalg.reduce {{.*}} partial = sum{"data"}>
  %p = linalg.reduce { arith.addf } ins(%x : !x) outs(%zero : !v) dimensions = [0]
  // CHECK: epl.gather {{.*}}, partial = sum{"data"}>
  %0 = epl.gather %p[%i] of [0] operand_dims [-1] index_dims [0] : (!v, tensor<2xi32>) -> tensor<2xf32>
  // CHECK: epl.scatter add {{.*}}, partial = sum{"data"}>
  %1 = epl.scatter add %0 into %zero[%i] of [0] operand_dims [-1] index_dims [0] : (tensor<2xf32>, !v, tensor<2xi32>) -> !v
  // CHECK: epl.scatter add {{.*}}, partial = sum{"data"}>
  %2 = epl.scatter add %0 into %p[%i] of [0] operand_dims [-1] index_dims [0] : (tensor<2xf32>, !v, tensor<2xi32>) -> !v
  // CHECK: epl.scatter add {{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]}
  %3 = epl.scatter add %0 into %n[%i] of [0] operand_dims [-1] index_dims [0] : (tensor<2xf32>, !v, tensor<2xi32>) -> !v
  // CHECK: epl.scatter set {{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]}
  %4 = epl.scatter set %0 into %zero[%i] of [0] operand_dims [-1] index_dims [0] : (tensor<2xf32>, !v, tensor<2xi32>) -> !v
  // CHECK: linalg.reduce {{.*}} partial = sum{"data"}>
  %at = linalg.reduce { arith.addi } ins(%y : tensor<8xi32>) outs(%none : tensor<i32>) dimensions = [0]
  // CHECK: epl.gather {{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]}
  %5 = epl.gather %p[%at] of [0] operand_dims [0] index_dims [] : (!v, tensor<i32>) -> tensor<2xf32>
  return
}

// Each member adds its updates where nothing was before; else one member's would be added to what all have.
// CHECK-LABEL: func.func @sums
func.func @sums(%u: tensor<8xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}]>}, %i: tensor<8xi32>, %n: !v) {
  %zero = arith.constant dense<0.0> : !v
  // CHECK: epl.scatter add {{.*}}, partial = sum{"data"}>
  %0 = epl.scatter add %u into %zero[%i] of [0] operand_dims [-1] index_dims [0] : (tensor<8xf32>, !v, tensor<8xi32>) -> !v
  // CHECK: epl.scatter add {{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]}
  %1 = epl.scatter add %u into %n[%i] of [0] operand_dims [-1] index_dims [0] : (tensor<8xf32>, !v, tensor<8xi32>) -> !v
  // CHECK: epl.scatter max {{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]}
  %2 = epl.scatter max %u into %zero[%i] of [0] operand_dims [-1] index_dims [0] : (tensor<8xf32>, !v, tensor<8xi32>) -> !v
  return
}

// The results of an op are all pending or all complete: what is done on addends alone is not at hand elsewhere.
// CHECK-LABEL: func.func @results_of_both
func.func @results_of_both(%x: !x {epl.sharding = #epl.sharding<@mesh, [{"data"}, {}]>}, %n: !v) {
  %zero = arith.constant dense<0.0> : !v
  // CHECK: linalg.reduce {{.*}} partial = sum{"data"}>
  %p = linalg.reduce { arith.addf } ins(%x : !x) outs(%zero : !v) dimensions = [0]
  // CHECK: linalg.generic {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>, #epl.sharding<@mesh, [{}]>]
  %0:2 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%p, %n : !v, !v) outs(%zero, %n : !v, !v) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    linalg.yield %a, %d : f32, f32
  } -> (!v, !v)
  // CHECK: linalg.generic {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}], partial = sum{"data"}>, #epl.sharding<@mesh, [{}], partial = sum{"data"}>]
  %1:2 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%p, %n : !v, !v) outs(%zero, %zero : !v, !v) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    %m = arith.mulf %a, %b : f32
    linalg.yield %a, %m : f32, f32
  } -> (!v, !v)
  return
}

// What is solved is linear in the right-hand side, not in the matrix; a factorization is not linear at all.
// CHECK-LABEL: func.func @matrices
func.func @matrices(%x: tensor<8x4x4xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {}, {}]>}, %a: tensor<4x4xf32>) {
  %zero = arith.constant dense<0.0> : tensor<4x4xf32>
  // CHECK: %[[P:.*]] = linalg.reduce {{.*}} partial = sum{"data"}>
  %p = linalg.reduce { arith.addf } ins(%x : tensor<8x4x4xf32>) outs(%zero : tensor<4x4xf32>) dimensions = [0]
  // CHECK: epl.triangular_solve %{{.*}}, %[[P]] left {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}, {}], partial = sum{"data"}>]}
  %0 = epl.triangular_solve %a, %p left : tensor<4x4xf32>, tensor<4x4xf32>
  // CHECK: epl.triangular_solve %[[P]], %{{.*}} left {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}, {}]>]}
  %1 = epl.triangular_solve %p, %a left : tensor<4x4xf32>, tensor<4x4xf32>
  // CHECK: epl.factorize cholesky %[[P]] {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}, {}]>]}
  %2 = epl.factorize cholesky %p : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}
