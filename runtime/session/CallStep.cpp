#include "runtime/session/CallStep.h"

#include "runtime/session/BlockCopies.h"

namespace epl::runtime {

void CallStep::begin() {
  for (size_t slot = 0; slot < bindings.size(); ++slot)
    for (const auto &storage : {bindings[slot].storage, bindings[slot].source})
      if (storage && !storage->poison.empty())
        call->fail("state \"" + setup.plan.plan().slots[slot]->name + "\" is lost: " + storage->poison);
  Step::begin();
}

void CallStep::end() {
  std::string error = call->seal();
  if (!error.empty()) {
    for (size_t argument = 0; argument < setup.slots.numArguments(); ++argument)
      if (setup.slots.updateOf(argument) >= 0 && bindings[argument].storage->poison.empty())
        bindings[argument].storage->poison = error;
  }
  Step::end();
  bindings.clear(); // what the caller has dropped meanwhile is freed by the end of the call
  call->finish();
}

/// Copies what has to be copied, and sets the addresses of the slots.
void CallStep::prepare(const Frame::Cursor &cursor) {
  const plan::PlanT &plan = cursor.program.plan();
  for (uint32_t slot = 0; slot < plan.slots.size() && plan.slots[slot]->role != plan::SlotRole::result;
       ++slot)
    fill(cursor, slot);
  for (auto [buffer, slot, offset] : setup.memory[cursor.program.part()].buffers())
    cursor.mesh.addresses.set(cursor.rank, buffer, address(cursor, slot) + offset);
}

/// Copies an argument, if it is not used where it is.
void CallStep::fill(const Frame::Cursor &cursor, uint32_t slot) const {
  uint32_t part = cursor.program.part();
  const Binding &binding = bindingOf({part, slot});
  uint32_t piece = setup.slots.pieceOf({part, slot});
  if (binding.source)
    setup.plan.devices()->copy(binding.source->block(piece, cursor.rank),
                               binding.storage->block(piece, cursor.rank));
  else if (!binding.storage && !setup.slots.isDirect({part, slot}, cursor.rank))
    copyIn(*setup.plan.devices(), setup.slots.layout({part, slot}), cursor.rank, binding.host.data,
           setup.memory[part].scratch(slot, cursor.rank));
}

std::byte *CallStep::address(const Frame::Cursor &cursor, uint32_t slot) const {
  uint32_t part = cursor.program.part();
  const Binding &binding = bindingOf({part, slot});
  if (binding.storage)
    return binding.storage->address(setup.slots.pieceOf({part, slot}), cursor.rank);
  return setup.slots.isDirect({part, slot}, cursor.rank)
             ? binding.host.data + setup.slots.layout({part, slot}).offset(cursor.rank)
             : setup.memory[part].scratch(slot, cursor.rank).address();
}

/// Copies the results of a rank that could not be written to the caller's tensors.
void CallStep::collect(const Frame::Cursor &cursor) {
  const plan::PlanT &plan = cursor.program.plan();
  uint32_t part = cursor.program.part();
  for (uint32_t slot = 0; slot < plan.slots.size(); ++slot) {
    const plan::SlotT &source = *plan.slots[slot];
    const SlotLayout &layout = setup.slots.layout({part, slot});
    if (source.role == plan::SlotRole::result && source.updates < 0 && layout.isPrimary(cursor.rank) &&
        !setup.slots.isDirect({part, slot}, cursor.rank))
      copyOut(*setup.plan.devices(), layout, cursor.rank, setup.memory[part].scratch(slot, cursor.rank),
              bindingOf({part, slot}).host.data);
  }
}

} // namespace epl::runtime
