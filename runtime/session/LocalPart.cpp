#include "runtime/session/LocalPart.h"

#include "runtime/Error.h"

namespace epl::runtime {

LocalPart::LocalPart(const LoadedPlan &plan, const Slots &slots, size_t slot, size_t dim) {
  first = SIZE_MAX;
  for (Slots::PartSlot own : slots.partsOf(slot))
    for (uint32_t rank : plan.program(own.part).ranks()) {
      if (!slots.layout(own).boxes(rank))
        throw Error("what devices read of \"" + plan.plan().slots[slot]->name + "\" is in no boxes");
      for (const Box &box : *slots.layout(own).boxes(rank)) {
        first = std::min(first, box.dims[dim].begin);
        last = std::max(last, box.dims[dim].begin + box.dims[dim].extent);
      }
    }
  first = std::min(first, last);
  for (Slots::PartSlot own : slots.partsOf(slot))
    layouts.emplace(own.part, slots.layout(own).within(plan.program(own.part).ranks(), dim, first, last));
}

} // namespace epl::runtime
