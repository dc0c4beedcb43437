#include "runtime/session/OutsideTransfers.h"

#include "runtime/plan/model/Outside.h"
#include "runtime/session/BlockCopies.h"

namespace epl::runtime {

OutsideSlots::OutsideSlots(const LoadedPlan &plan)
    : pulled(pulledSlotsOf(plan.plan())), tensors(plan.plan().slots.size()),
      numPushes(plan.plan().slots.size()) {
  for (uint32_t slot : pulled)
    tensors[slot] = HostTensor::allocate(TensorType::of(*plan.plan().slots[slot]), Memory::Fill::none);
  for (uint32_t part = 0; part < plan.numPrograms(); ++part) {
    const plan::PlanT &own = plan.program(part).plan();
    for (uint32_t slot = 0; slot < own.slots.size(); ++slot)
      if (own.slots[slot]->role == plan::SlotRole::pushed) {
        hasPushed = true;
        uint32_t whole = plan.plan().parts.empty() ? slot : plan.plan().parts[part]->slots[slot];
        numPushes[whole] += uint32_t(plan.program(part).ranks().size());
      }
  }
}

std::vector<Outside::Wanted> OutsideSlots::wanted() const {
  std::vector<Outside::Wanted> all;
  all.reserve(pulled.size());
  for (uint32_t slot : pulled)
    all.push_back({slot, tensors[slot]});
  return all;
}

OutsideTransfers::OutsideTransfers(const Setup &setup, std::shared_ptr<Outside> outside,
                                   std::shared_ptr<Call> call)
    : setup(setup), outside(std::move(outside)), call(std::move(call)),
      isThere(new std::atomic<bool>[setup.own.tensors.size()]()),
      pushesLeft(new std::atomic<uint32_t>[setup.own.numPushes.size()]), missing(setup.own.pulled.size()) {
  for (size_t slot = 0; slot < setup.own.numPushes.size(); ++slot)
    pushesLeft[slot].store(setup.own.numPushes[slot], std::memory_order_relaxed);
}

void OutsideTransfers::begin() { outside->pull(setup.own.wanted(), *this); }

/// What polls sees it by itself, what is about to sleep has said so before it looks.
void OutsideTransfers::arrived(uint32_t slot) {
  isThere[slot].store(true, std::memory_order_seq_cst);
  missing.fetch_sub(1, std::memory_order_acq_rel);
  setup.executor.wakeAll();
}

bool OutsideTransfers::pull(Slots::PartSlot slot, uint32_t rank) {
  uint32_t whole = setup.slots.wholeSlot(slot);
  if (!isThere[whole].load(std::memory_order_seq_cst))
    return false;
  if (!setup.slots.isDirect(slot, rank))
    copyIn(*setup.plan.devices(), setup.slots.layout(slot), rank, setup.own.tensors[whole].data,
           setup.memory[slot.part].scratch(slot.slot, rank));
  return true;
}

void OutsideTransfers::push(Slots::PartSlot slot, uint32_t rank, const HostTensor &tensor) {
  if (setup.slots.gives(slot, rank))
    setup.memory[slot.part].giveTo(tensor.data, slot.slot, rank);
  uint32_t whole = setup.slots.wholeSlot(slot);
  if (pushesLeft[whole].fetch_sub(1, std::memory_order_acq_rel) == 1)
    outside->push(whole, tensor);
}

} // namespace epl::runtime
