//===- ConvolveArguments.h - What the kernels of the stand-in of cuDNN take -*- C++ -*-===//
#pragma once

namespace cudnn_double {

constexpr int kMostAxes = 3;

/// A tensor: addresses in elements; dimension 0 and 1, then the axes.
struct TensorArguments {
  unsigned long pointer;
  long extents[2 + kMostAxes], strides[2 + kMostAxes];
};

/// result = product + beta result, of tensors with three axes: image [n, g c], filter [g k, c], output [n, g
/// k].
struct ConvolveArguments {
  TensorArguments image, filter, output;
  long stride[kMostAxes], dilation[kMostAxes], before[kMostAxes];
  int writes; ///< 0: image, 1: filter, 2: output
  int flips;
  double beta;
  unsigned long workspace; ///< of 8 bytes at least
};

} // namespace cudnn_double
