#include "runtime/session/CallStep.h"

#include "runtime/Error.h"
#include "runtime/plan/model/Outside.h"
#include "runtime/session/BlockCopies.h"

namespace epl::runtime {

void CallStep::begin() {
  for (size_t slot = 0; slot < bindings.size(); ++slot)
    for (const auto &storage : {bindings[slot].storage, bindings[slot].source})
      if (storage && !storage->poison.empty())
        call->fail("state \"" + setup.plan.plan().slots[slot]->name + "\" is lost: " + storage->poison);
  Step::begin();
  try {
    if (setup.agreement)
      setup.agreement->begin(std::move(said));
    if (setup.results)
      setup.results->begin([&](size_t slot) { return bindings[slot].host.data; });
  } catch (const Error &error) {
    call->fail(std::string("messages: ") + error.what());
  }
  try {
    if (outside)
      outside->begin();
  } catch (const Error &error) {
    call->fail(error.what());
  }
}

/// A pull or a push of a rank.
CommandState CallStep::exchange(const Frame::Cursor &cursor, uint32_t command) {
  const plan::PlanT &plan = cursor.program.plan();
  Slots::PartSlot slot{cursor.program.part(), uint32_t(outsideSlotOf(plan, *plan.commands[command]))};
  if (isPulled(slot))
    return outside->pull(slot, cursor.rank) ? CommandState::done : CommandState::pending;
  outside->push(slot, cursor.rank, bindingOf(slot).host);
  return CommandState::done;
}

/// Whether all processes pass the same. If not, the step fails.
bool CallStep::isAgreed() {
  try {
    return !setup.agreement || setup.agreement->isReached();
  } catch (const Error &error) {
    fail(error.what());
    return true;
  }
}

void CallStep::end() {
  if (outside)
    outside->end();
  std::string error = call->seal();
  if (!error.empty()) {
    for (size_t slot = 0; slot < bindings.size(); ++slot)
      if (isWritten(slot) && bindings[slot].storage->poison.empty())
        bindings[slot].storage->poison = error;
    if (setup.agreement)
      setup.agreement->breakOff(error, isWhole());
    if ((setup.results && !setup.results->cancel()) || Memory::keepsAll())
      for (const Binding &binding : bindings)
        new std::shared_ptr<const void>(binding.host.owner); // which messages may still touch
  }
  Step::end();
  outside = nullptr;
  bindings.clear(); // what the caller has dropped meanwhile is freed by the end of the call
  call->finish();
}

/// Whether the step writes storage of a slot: of a state that it updates, or of a result in parts.
bool CallStep::isWritten(size_t slot) const {
  return slot < setup.slots.numArguments() ? setup.slots.updateOf(slot) >= 0
                                           : bindings[slot].storage != nullptr;
}

/// Where ranks find their blocks in the tensor that is bound. A block that is one run in the whole tensor is
/// one in some of its rows, too, so that `Slots::isDirect` holds for both.
const SlotLayout &CallStep::layoutOf(Slots::PartSlot slot) const {
  const LocalPart *part = bindingOf(slot).part;
  return part ? part->layout(slot.part) : setup.slots.layout(slot);
}

/// Copies what has to be copied, and sets the addresses of the slots.
void CallStep::prepare(const Frame::Cursor &cursor) {
  const plan::PlanT &plan = cursor.program.plan();
  for (uint32_t slot = 0; slot < plan.slots.size() && !isResult(*plan.slots[slot]); ++slot)
    if (setup.plan.step() || !isPulled({cursor.program.part(), slot})) // else its command fills it
      fill(cursor, slot);
  for (auto [buffer, slot, offset] : setup.memory[cursor.program.part()].buffers()) {
    std::byte *begin = address(cursor, slot); // null where others own it
    cursor.mesh.addresses.set(cursor.rank, buffer, begin ? begin + offset : nullptr);
  }
}

/// Copies an argument, if it is not used where it is.
void CallStep::fill(const Frame::Cursor &cursor, uint32_t slot) const {
  uint32_t part = cursor.program.part();
  const Binding &binding = bindingOf({part, slot});
  uint32_t piece = setup.slots.pieceOf({part, slot});
  if (binding.storage && !binding.storage->has(piece, cursor.rank))
    return;
  auto copy = [&] {
    setup.plan.devices()->copy(binding.source->block(piece, cursor.rank),
                               binding.storage->block(piece, cursor.rank));
  };
  if (binding.copied)
    std::call_once(*binding.copied,
                   copy); // by one rank for all: another one's could come behind the step's writes
  else if (binding.source)
    copy();
  else if (!binding.storage && !setup.slots.isDirect({part, slot}, cursor.rank))
    copyFromHost({part, slot}, cursor.rank);
}

/// Copies what a rank has of a tensor of the host.
void CallStep::copyFromHost(Slots::PartSlot slot, uint32_t rank) const {
  const SlotMemory &memory = setup.memory[slot.part];
  ArgumentStage *stage = memory.argumentStage(slot.slot, rank);
  if (!stage)
    return copyIn(*setup.plan.devices(), layoutOf(slot), rank, bindingOf(slot).host.data,
                  memory.scratch(slot.slot, rank));
  if (!isSent || isPulled(slot)) {
    stage->await();
    send(slot, rank);
  }
  stage->deliver(memory.scratch(slot.slot, rank));
}

/// Begins to bring a rank's block to its device.
void CallStep::send(Slots::PartSlot slot, uint32_t rank) const {
  ArgumentStage &stage = *setup.memory[slot.part].argumentStage(slot.slot, rank);
  layoutOf(slot).copyToLocal(rank, bindingOf(slot).host.data, stage.host());
  stage.send();
}

/// Calls body(slot, rank) for all tensors of the host that go to a device by a stage and are there before the
/// step. The memory of other slots may be taken meanwhile.
template <typename Body> void CallStep::forEachStage(Body body) const {
  for (uint32_t part = 0; part < setup.plan.numPrograms(); ++part) {
    const Program &program = setup.plan.program(part);
    for (uint32_t slot = 0; slot < program.plan().slots.size(); ++slot)
      for (uint32_t rank : program.ranks())
        if (!bindingOf({part, slot}).storage && !isPulled({part, slot}) &&
            setup.memory[part].argumentStage(slot, rank))
          body(Slots::PartSlot{part, slot}, rank);
  }
}

/// Sends what goes by stages, if all of them are free. What fails here fails again when the step prepares,
/// which tells it.
bool CallStep::prepareAhead() {
  try {
    bool areFree = true;
    forEachStage([&](Slots::PartSlot slot, uint32_t rank) {
      areFree = areFree && setup.memory[slot.part].argumentStage(slot.slot, rank)->isFree();
    });
    if (!areFree || isSent)
      return isSent;
    forEachStage([&](Slots::PartSlot slot, uint32_t rank) { send(slot, rank); });
    isSent = true;
  } catch (const Error &) {
    return true;
  }
  return true;
}

std::byte *CallStep::address(const Frame::Cursor &cursor, uint32_t slot) const {
  uint32_t part = cursor.program.part();
  const Binding &binding = bindingOf({part, slot});
  if (binding.storage)
    return binding.storage->address(setup.slots.pieceOf({part, slot}), cursor.rank);
  return setup.slots.isDirect({part, slot}, cursor.rank)
             ? binding.host.data + layoutOf({part, slot}).offset(cursor.rank)
             : setup.memory[part].scratch(slot, cursor.rank).address();
}

void CallStep::fetch(const Frame::Cursor &cursor) {
  const SlotMemory &memory = setup.memory[cursor.program.part()];
  for (uint32_t slot = 0; slot < cursor.program.plan().slots.size(); ++slot)
    if (ResultStage *stage = memory.resultStage(slot, cursor.rank))
      stage->fetch(memory.scratch(slot, cursor.rank));
}

/// Copies the results of a rank that could not be written to the caller's tensors, and sends them to
/// processes that have no such rank.
void CallStep::collect(const Frame::Cursor &cursor) {
  const plan::PlanT &plan = cursor.program.plan();
  uint32_t part = cursor.program.part();
  for (uint32_t index = 0; index < plan.slots.size(); ++index) {
    Slots::PartSlot slot{part, index};
    size_t whole = setup.slots.wholeSlot(slot);
    if (plan.slots[index]->role == plan::SlotRole::pushed && setup.plan.step())
      outside->push(slot, cursor.rank, bindings[whole].host);
    if (plan.slots[index]->role != plan::SlotRole::result || setup.slots.isKept(whole) ||
        !setup.slots.gives(slot, cursor.rank))
      continue;
    std::byte *tensor = bindings[whole].host.data;
    setup.memory[part].giveTo(tensor, index, cursor.rank);
    if (setup.results)
      setup.results->send(whole, tensor);
  }
}

} // namespace epl::runtime
