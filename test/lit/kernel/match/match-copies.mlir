// RUN: epl-opt %s --epl-match-copies | FileCheck %s
// RUN: epl-opt %s --epl-match-copies --epl-lower-kernels | FileCheck %s --check-prefix=LOWER

// No code is made for copies, only for the others.
// LOWER-NOT: func.func private @{{row|window|flag|whole|parts}}
// LOWER-DAG: func.func private @columns
// LOWER-DAG: func.func private @strided
// LOWER-DAG: func.func private @more
// LOWER-DAG: func.func private @inner
// LOWER-DAG: func.func private @shifted

// CHECK-LABEL: epl.kernel @row fusion
// CHECK: {copies = [#epl.copy<from = 256, to = 0, size = 128>]}
epl.kernel @row fusion {
^bb0(%stack: tensor<24x8x4xf32>):
  %0 = tensor.extract_slice %stack[2, 0, 0] [1, 8, 4] [1, 1, 1] : tensor<24x8x4xf32> to tensor<8x4xf32>
  epl.yield %0 : tensor<8x4xf32>
}

// A part of one row, reshaped before and after.
// CHECK-LABEL: epl.kernel @window fusion
// CHECK: {copies = [#epl.copy<from = 200, to = 0, size = 32>]}
epl.kernel @window fusion {
^bb0(%x: tensor<80xf64>):
  %0 = tensor.expand_shape %x [[0, 1]] output_shape [10, 8] : tensor<80xf64> into tensor<10x8xf64>
  %1 = tensor.extract_slice %0[3, 1] [1, 4] [1, 1] : tensor<10x8xf64> to tensor<1x4xf64>
  %2 = tensor.collapse_shape %1 [[0, 1]] : tensor<1x4xf64> into tensor<4xf64>
  epl.yield %2 : tensor<4xf64>
}

// A boolean is a byte.
// CHECK-LABEL: epl.kernel @flag fusion
// CHECK: {copies = [#epl.copy<from = 3, to = 0, size = 2>]}
epl.kernel @flag fusion {
^bb0(%x: tensor<8xi1>):
  %0 = tensor.extract_slice %x[3] [2] [1] : tensor<8xi1> to tensor<2xi1>
  epl.yield %0 : tensor<2xi1>
}

// CHECK-LABEL: epl.kernel @whole fusion
// CHECK: {copies = [#epl.copy<from = 0, to = 0, size = 128>]}
epl.kernel @whole fusion {
^bb0(%x: tensor<8x1x4xf32>):
  %0 = tensor.extract_slice %x[0, 0, 0] [8, 1, 4] [1, 1, 1] : tensor<8x1x4xf32> to tensor<8x4xf32>
  epl.yield %0 : tensor<8x4xf32>
}

// CHECK-LABEL: epl.kernel @columns fusion
// CHECK-NOT: copies
// CHECK-LABEL: epl.kernel @strided fusion
// CHECK-NOT: copies
// CHECK-LABEL: epl.kernel @more fusion
// CHECK-NOT: copies
epl.kernel @columns fusion {
^bb0(%x: tensor<8x4xf32>):
  %0 = tensor.extract_slice %x[0, 1] [8, 2] [1, 1] : tensor<8x4xf32> to tensor<8x2xf32>
  epl.yield %0 : tensor<8x2xf32>
}
epl.kernel @strided fusion {
^bb0(%x: tensor<8xf32>):
  %0 = tensor.extract_slice %x[0] [4] [2] : tensor<8xf32> to tensor<4xf32>
  epl.yield %0 : tensor<4xf32>
}
epl.kernel @more fusion {
^bb0(%x: tensor<8xf32>):
  %0 = tensor.extract_slice %x[4] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %1 = math.absf %0 : tensor<4xf32>
  epl.yield %1 : tensor<4xf32>
}

// Parts of a concatenation follow each other where only dimensions of one element stand before the joined one.
// CHECK-LABEL: epl.kernel @parts fusion
// CHECK: {copies = [#epl.copy<from = 0, to = 0, size = 16>, #epl.copy<from = 0, to = 16, size = 0>,
// CHECK-SAME:       #epl.copy<from = 0, to = 16, size = 32>]}
epl.kernel @parts fusion {
^bb0(%a: tensor<1x1x4xf32>, %b: tensor<1x0x4xf32>, %c: tensor<2x4xf32>):
  %0 = tensor.expand_shape %c [[0, 1], [2]] output_shape [1, 2, 4] : tensor<2x4xf32> into tensor<1x2x4xf32>
  %1 = epl.concatenate %a, %b, %0 dim 1
    : (tensor<1x1x4xf32>, tensor<1x0x4xf32>, tensor<1x2x4xf32>) -> tensor<1x3x4xf32>
  %2 = tensor.collapse_shape %1 [[0, 1], [2]] : tensor<1x3x4xf32> into tensor<3x4xf32>
  epl.yield %2 : tensor<3x4xf32>
}

// CHECK-LABEL: epl.kernel @inner fusion
// CHECK-NOT: copies
// CHECK-LABEL: epl.kernel @shifted fusion
// CHECK-NOT: copies
epl.kernel @inner fusion {
^bb0(%a: tensor<2x4xf32>, %b: tensor<2x4xf32>):
  %0 = epl.concatenate %a, %b dim 1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
  epl.yield %0 : tensor<2x8xf32>
}
epl.kernel @shifted fusion {
^bb0(%a: tensor<4xf32>):
  %zero = arith.constant dense<0.0> : tensor<1xf32>
  %0 = epl.concatenate %a, %zero dim 0 : (tensor<4xf32>, tensor<1xf32>) -> tensor<5xf32>
  epl.yield %0 : tensor<5xf32>
}
