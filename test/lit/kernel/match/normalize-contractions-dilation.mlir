// RUN: epl-opt %s --epl-normalize-contractions | FileCheck %s
// RUN: epl-opt %s --epl-normalize-contractions --epl-form-kernels | FileCheck %s --check-prefix=KERNELS

epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!dy = !epl.dist<tensor<4x5x6xf32>, <@mesh, [{}, {}, {}]>>
!w = !epl.dist<tensor<3x2x6xf32>, <@mesh, [{}, {}, {}]>>
!dx = !epl.dist<tensor<4x12x2xf32>, <@mesh, [{}, {}, {}]>>
!x = !epl.dist<tensor<4x11x2xf32>, <@mesh, [{}, {}, {}]>>
#read = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 + d3, d4)>
#taps = affine_map<(d0, d1, d2, d3, d4) -> (d3, d2, d4)>
#write = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>
#turned = affine_map<(d0, d1, d2) -> (-d0 + 2, d1, d2)>
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#windows = affine_map<(d0, d1, d2, d3, d4) -> (d3, d0 + d4, d1)>
#grouped = affine_map<(d0, d1, d2, d3, d4) -> (d3, d4, d1, d2)>
#grads = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>

// The gradient of what a convolution with stride 2 reads. Zeros before and behind the elements become padding,
// so that those between are all that the insertion adds; its kernel does that. The weights are read where they
// are: the sum goes the other way through the elements.
// CHECK-DAG: #[[BACK:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 + -d3 + 2, d4)>
// CHECK-DAG: #[[TAPS:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d3, d2, d4)>
// CHECK-LABEL: func.func @operand
// CHECK: ^bb0(%[[DY:.*]]: tensor<4x5x6xf32>, %[[W:.*]]: tensor<3x2x6xf32>):
// CHECK: %[[PAD:.*]] = tensor.pad %[[DY]] low[0, 1, 0] high[0, 1, 0]
// CHECK: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : tensor<4x14x6xf32>
// CHECK: %[[SPREAD:.*]] = tensor.insert_slice %[[PAD]] into %[[ZEROS]][0, 1, 0] [4, 7, 6] [1, 2, 1]
// CHECK: linalg.generic {indexing_maps = [#[[BACK]], #[[TAPS]], #{{.*}}]{{.*}} ins(%[[SPREAD]], %[[W]] :

// KERNELS-LABEL: func.func @operand
// KERNELS: %[[PAD:.*]] = epl.cluster fusion
// KERNELS-NEXT: ^bb0(%{{.*}}: tensor<4x5x6xf32>):
// KERNELS: epl.cluster contraction(%[[PAD]], %{{.*}})
// KERNELS-NEXT: ^bb0(%[[IN:.*]]: tensor<4x7x6xf32>, %{{.*}}: tensor<3x2x6xf32>):
// KERNELS: tensor.insert_slice %[[IN]] into
func.func @operand(%arg0: !dy, %arg1: !w) -> !dx {
  %r = epl.task <@tg0, backward> (%arg0, %arg1) : (!dy, !w) -> !dx {
  ^bb0(%dy: tensor<4x5x6xf32>, %w: tensor<3x2x6xf32>):
    %zeros = arith.constant dense<0.0> : tensor<4x14x6xf32>
    %spread = tensor.insert_slice %dy into %zeros[0, 3, 0] [4, 5, 6] [1, 2, 1] : tensor<4x5x6xf32> into tensor<4x14x6xf32>
    %e = tensor.empty() : tensor<3x2x6xf32>
    %reversed = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%w : tensor<3x2x6xf32>) outs(%e : tensor<3x2x6xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<3x2x6xf32>
    %start = arith.constant dense<0.0> : tensor<4x12x2xf32>
    %0 = linalg.generic {indexing_maps = [#read, #taps, #write], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%spread, %reversed : tensor<4x14x6xf32>, tensor<3x2x6xf32>) outs(%start : tensor<4x12x2xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<4x12x2xf32>
    epl.yield %0 : tensor<4x12x2xf32>
  }
  return %r : !dx
}

// The gradient of the weights, of two groups: what splits channels goes before the insertion.
// CHECK-LABEL: func.func @weights
// CHECK: ^bb0(%[[X:.*]]: tensor<4x11x2xf32>, %[[DY:.*]]: tensor<4x5x6xf32>):
// CHECK: %[[GROUPS:.*]] = tensor.expand_shape %[[DY]] {{\[}}[0], [1], [2, 3]] output_shape [4, 5, 2, 3]
// CHECK: %[[SPREAD:.*]] = tensor.insert_slice %[[GROUPS]] into %{{.*}}[0, 0, 0, 0] [4, 5, 2, 3] [1, 2, 1, 1]
// CHECK: ins(%[[X]], %[[SPREAD]] : tensor<4x11x2xf32>, tensor<4x9x2x3xf32>)
func.func @weights(%arg0: !x, %arg1: !dy) -> !epl.dist<tensor<3x2x3xf32>, <@mesh, [{}, {}, {}]>> {
  %r = epl.task <@tg0, backward> (%arg0, %arg1) : (!x, !dy) -> !epl.dist<tensor<3x2x3xf32>, <@mesh, [{}, {}, {}]>> {
  ^bb0(%x: tensor<4x11x2xf32>, %dy: tensor<4x5x6xf32>):
    %zeros = arith.constant dense<0.0> : tensor<4x9x6xf32>
    %spread = tensor.insert_slice %dy into %zeros[0, 0, 0] [4, 5, 6] [1, 2, 1] : tensor<4x5x6xf32> into tensor<4x9x6xf32>
    %groups = tensor.expand_shape %spread [[0], [1], [2, 3]] output_shape [4, 9, 2, 3] : tensor<4x9x6xf32> into tensor<4x9x2x3xf32>
    %start = arith.constant dense<0.0> : tensor<3x2x3xf32>
    %0 = linalg.generic {indexing_maps = [#windows, #grouped, #grads], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%x, %groups : tensor<4x11x2xf32>, tensor<4x9x2x3xf32>) outs(%start : tensor<3x2x3xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<3x2x3xf32>
    epl.yield %0 : tensor<3x2x3xf32>
  }
  return %r : !epl.dist<tensor<3x2x3xf32>, <@mesh, [{}, {}, {}]>>
}

// What is inserted into something else than zeros, and what others read as it is, stays an op of its own.
// CHECK-LABEL: func.func @keep
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 3, 0]
// KERNELS-LABEL: func.func @keep
// KERNELS: %[[SPREAD:.*]] = epl.cluster fusion
// KERNELS: tensor.insert_slice
// KERNELS: epl.cluster contraction(%[[SPREAD]],
// KERNELS-NOT: tensor.insert_slice
func.func @keep(%arg0: !dy, %arg1: !w, %arg2: !epl.dist<tensor<4x14x6xf32>, <@mesh, [{}, {}, {}]>>) -> !dx {
  %r = epl.task <@tg0, backward> (%arg0, %arg1, %arg2) : (!dy, !w, !epl.dist<tensor<4x14x6xf32>, <@mesh, [{}, {}, {}]>>) -> !dx {
  ^bb0(%dy: tensor<4x5x6xf32>, %w: tensor<3x2x6xf32>, %others: tensor<4x14x6xf32>):
    %spread = tensor.insert_slice %dy into %others[0, 3, 0] [4, 5, 6] [1, 2, 1] : tensor<4x5x6xf32> into tensor<4x14x6xf32>
    %start = arith.constant dense<0.0> : tensor<4x12x2xf32>
    %0 = linalg.generic {indexing_maps = [#read, #taps, #write], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%spread, %w : tensor<4x14x6xf32>, tensor<3x2x6xf32>) outs(%start : tensor<4x12x2xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<4x12x2xf32>
    epl.yield %0 : tensor<4x12x2xf32>
  }
  return %r : !dx
}
