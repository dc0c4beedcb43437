//===- Call.h - What members ask for ----------------------------*- C++ -*-===//
#pragma once

#include "runtime/device/cuda/collectives/Nccl.h"

#include <cstdint>
#include <string>

namespace nccl_double {

using epl::runtime::cuda::nccl::DataType;
using epl::runtime::cuda::nccl::Reduction;
using epl::runtime::cuda::nccl::Status;

enum class Kind : int32_t { allReduce, reduce, broadcast, allGather, reduceScatter };

/// A collective, as all members have to ask for it; written to files as it is.
struct Call {
  Kind kind;
  DataType type;
  uint64_t count; ///< as the function of this kind counts
  Reduction reduction = Reduction::sum;
  int32_t root = 0;

  bool operator==(const Call &) const = default;
};

/// What is sent or received, as both sides have to say it; written to files as it is.
struct Content {
  DataType type;
  uint64_t count;

  bool operator==(const Content &) const = default;
};

size_t sizeOf(DataType type);
/// "all-reduce of 8 f32 (sum)".
std::string describe(const Call &call);
/// "8 f32".
std::string describe(const Content &content);

} // namespace nccl_double
