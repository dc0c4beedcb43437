//===- AttendArguments.h - What the kernels of attention of the stand-in of cuDNN take -*- C++ -*-===//
#pragma once

namespace cudnn_double {

/// A tensor of samples, heads, positions and elements: strides in elements.
struct AttendTensor {
  unsigned long pointer;
  long strides[4];
};

/// o = softmax(scale * q k^T) v; each head of k and v is that of `group` heads of q.
struct AttendArguments {
  AttendTensor q, k, v, o;
  unsigned long stats; ///< of each row, dense: its maximum and the logarithm of its sum, added
  long samples, heads, group, queries, keys;
  long depth, width; ///< elements of q and k, of v and o
  float scale;
  int isCausal;
  unsigned long workspace; ///< of 8 bytes at least
};

/// The gradients of q, k and v of that of o.
struct AttendGradientArguments {
  AttendTensor q, k, v, o, dO, dq, dk, dv;
  unsigned long stats;   ///< as attention has written it
  unsigned long rowSums; ///< of each row, dense: dO o, summed
  long samples, heads, group, queries, keys;
  long depth, width;
  float scale, one; ///< one: a factor of the sums
  int isCausal;
  unsigned long workspace; ///< of 8 bytes at least
};

} // namespace cudnn_double
