// RUN: epl-opt %s --epl-lower-kernels -split-input-file -verify-diagnostics

epl.kernel @k0 fusion {
^bb0(%x: tensor<4x4xf32>, %s: tensor<1xf32>, %i: tensor<1x2xindex>):
  // expected-error @+1 {{in kernel "k0" has no loop nest}}
  %y = tensor.scatter %s into %x[%i] scatter_dims([0, 1]) unique : (tensor<1xf32>, tensor<4x4xf32>, tensor<1x2xindex>) -> tensor<4x4xf32>
  epl.yield %y : tensor<4x4xf32>
}
