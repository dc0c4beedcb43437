// When the arena's memory holds what: for people who ask what takes it.

#ifndef EPL_RUNTIME_PLAN_MODEL_LIFETIME_H
#define EPL_RUNTIME_PLAN_MODEL_LIFETIME_H

#include "runtime/plan/format/plan_generated.h"

#include <cstdint>
#include <vector>

namespace epl::runtime {

/// Bytes that every offset and the size of the arena are a multiple of: a cache line, and the widest vector.
inline constexpr uint64_t arenaAlignment = 64;

/// An arena buffer that holds data from the command `first` to the command `last`, both included, when the
/// commands run in program order.
struct Lifetime {
  uint32_t buffer;
  uint32_t first;
  uint32_t last;
};

/// The lifetimes of all arena buffers that a command uses, in the order of the buffers.
std::vector<Lifetime> lifetimesOf(const plan::PlanT &plan);

/// The first command at which most bytes of the arena are in use, in program order; bytes that an output
/// shares with an input count once.
struct Peak {
  uint32_t command = 0;
  uint64_t bytes = 0;
  std::vector<Lifetime> live{};
};

Peak peakOf(const plan::PlanT &plan);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_LIFETIME_H
