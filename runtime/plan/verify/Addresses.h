// Where the buffers of a plan lie in the memory of a rank: one address space for the arena and, behind it,
// the slots. Needs a plan whose layout has been checked.

#ifndef EPL_RUNTIME_PLAN_VERIFY_ADDRESSES_H
#define EPL_RUNTIME_PLAN_VERIFY_ADDRESSES_H

#include "runtime/plan/model/Access.h"
#include "runtime/plan/model/Cuts.h"

#include <optional>
#include <string>
#include <vector>

namespace epl::runtime {

class Addresses {
public:
  explicit Addresses(const plan::PlanT &plan);

  uint64_t size() const { return end; }
  /// Where a buffer begins.
  uint64_t of(uint32_t buffer) const { return begins[buffer]; }
  ByteRange all(uint32_t buffer) const {
    return {begins[buffer], begins[buffer] + plan.buffers[buffer]->size};
  }

  /// The buffer of a slot, if it has one.
  std::optional<uint32_t> bufferOf(uint32_t slot) const { return buffers[slot]; }

  /// For messages: bytes 0..63 of the arena of rank 0. Within the arena, or the slot of `buffer`.
  std::string text(const Place &place, uint32_t buffer) const;

private:
  const plan::PlanT &plan;
  std::vector<uint64_t> begins;                 // of each buffer
  std::vector<std::optional<uint32_t>> buffers; // of each slot
  uint64_t end;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_VERIFY_ADDRESSES_H
