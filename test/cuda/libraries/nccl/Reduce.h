//===- Reduce.h - Results of several members --------------------*- C++ -*-===//
#pragma once

#include "test/cuda/libraries/nccl/Call.h"

#include <cstddef>
#include <span>

namespace nccl_double {

/// Reduces the same elements of all members, as a ring does: begins with those of member `first`, and goes
/// round. What goes from member to member has the type of elements, so each step rounds to it.
void reduceInRing(DataType type, Reduction reduction, std::span<const std::byte *const> members, int first,
                  uint64_t count, std::byte *to);

} // namespace nccl_double
