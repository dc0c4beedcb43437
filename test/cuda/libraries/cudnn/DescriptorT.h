//===- DescriptorT.h - Descriptors of the stand-in of cuDNN --------*- C++ -*-===//
#pragma once

#include "runtime/device/cuda/cudnn/Cudnn.h"

#include <cstddef>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace epl::runtime::cuda::dnn {

/// What the library hands out; `real` is the real library's.
struct DescriptorT {
  explicit DescriptorT(Kind kind) : kind(kind) {}

  bool has(Attribute attribute) const { return attributes.contains(attribute); }
  /// The values of an attribute that is there.
  template <typename T> std::vector<T> list(Attribute attribute) const {
    const std::vector<std::byte> &bytes = attributes.at(attribute);
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  template <typename T> T get(Attribute attribute) const { return list<T>(attribute).front(); }
  const DescriptorT &at(Attribute attribute) const { return *get<Descriptor>(attribute); }

  Kind kind;
  bool isFinal = false;
  std::map<Attribute, std::vector<std::byte>> attributes;
  // Of an engine, and of a choice of one.
  const DescriptorT *graph = nullptr;
  std::vector<NumericalNote> notes;
  Descriptor real = nullptr;
};

} // namespace epl::runtime::cuda::dnn

namespace cudnn_double {

using namespace epl::runtime::cuda::dnn;

/// The attributes that an operation has.
struct OperationNames {
  Attribute image, filter, output, convolution, alpha, beta;
};
/// Null if it is no kind of an operation.
const OperationNames *namesOf(Kind kind);

/// Bytes of a value.
size_t sizeOf(ValueType type);
/// What is wrong with setting an attribute, "" if nothing.
std::string faultOfSetting(const DescriptorT &descriptor, Attribute attribute, ValueType type, int64_t count,
                           const void *values);
/// What is wrong with a descriptor that is to be final, "" if nothing.
std::string faultOf(const DescriptorT &descriptor);

} // namespace cudnn_double
