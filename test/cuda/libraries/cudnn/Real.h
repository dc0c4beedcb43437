//===- Real.h - The real cuDNN, behind its stand-in ----------------*- C++ -*-===//
#pragma once

#include "test/cuda/libraries/cudnn/DescriptorT.h"

namespace cudnn_double {

/// What EPL_CUDNN_REAL names, which says what it has for a device that the file EPL_CUDNN_DEVICE describes.
class Real {
public:
  /// The one of the process; null if no one is named. One that is named and does not work is an error of
  /// `state`.
  static const Real *get();

  Status state() const { return found; }
  size_t version() const { return functions.cudnnGetVersion(); }
  /// Makes the real descriptor of ours. Success too where there is none: it needs a card.
  Status create(DescriptorT &descriptor) const;
  Status destroy(DescriptorT &descriptor) const;
  Status set(DescriptorT &descriptor, Attribute attribute, ValueType type, int64_t count,
             const void *values) const;
  Status finish(DescriptorT &descriptor) const;
  /// How many engines the library has for heuristics that are final; puts that many into choices, if there
  /// are as many, with what it says of each.
  int64_t choose(const DescriptorT &heuristics, int64_t asked, const Descriptor *choices) const;
  int64_t workspaceOf(const DescriptorT &plan) const;

private:
  Real(const char *library, const char *device);

  Cudnn functions;
  Descriptor device = nullptr;
  Status found = Status::notInitialized;
};

} // namespace cudnn_double
