// RUN: epl-opt %s --epl-lower-kernels=cpu=x86-64-v4 | FileCheck %s

// Two batches of 100 columns are two blocks of 64 each. Squares of 16 are loaded, shuffled in four stages and
// stored; lines are masked, as 16 does not divide 100.
// CHECK: epl.kernel @batches fusion
// CHECK: extent = 4 : i64, flops = {{[0-9]+}} : i64, form = "transpose"
// CHECK-LABEL: func.func private @batches.body
// CHECK-COUNT-16: vector.maskedload {{.*}} into vector<16xf32>
// CHECK-COUNT-64: vector.shuffle
// CHECK-COUNT-16: vector.maskedstore
epl.kernel @batches fusion {
^bb0(%x: tensor<2x32x100xf32>):
  %e = tensor.empty() : tensor<2x100x32xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<2x32x100xf32>) outs(%e : tensor<2x100x32xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x100x32xf32>
  epl.yield %y : tensor<2x100x32xf32>
}

// Registers hold 8 lanes of 64 bits; whole squares need no masks.
// CHECK: epl.kernel @wide fusion
// CHECK: form = "transpose"
// CHECK-LABEL: func.func private @wide.body
// CHECK-COUNT-8: vector.load {{.*}}, vector<8xf64>
// CHECK-COUNT-24: vector.shuffle
// CHECK-COUNT-8: vector.store
epl.kernel @wide fusion {
^bb0(%x: tensor<16x24xf64>):
  %e = tensor.empty() : tensor<24x16xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<16x24xf64>) outs(%e : tensor<24x16xf64>) {
  ^bb0(%in: f64, %out: f64):
    linalg.yield %in : f64
  } -> tensor<24x16xf64>
  epl.yield %y : tensor<24x16xf64>
}

// A matrix smaller than a square goes row by row.
// CHECK: epl.kernel @small fusion
// CHECK: form = "row"
epl.kernel @small fusion {
^bb0(%x: tensor<100x3xf32>):
  %e = tensor.empty() : tensor<3x100xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<100x3xf32>) outs(%e : tensor<3x100xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<3x100xf32>
  epl.yield %y : tensor<3x100xf32>
}
