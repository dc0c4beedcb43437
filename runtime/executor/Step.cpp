// Who may run what is decided without locks. An instance of a command (rank, command) is ready when it is at
// the head of its lane and the instances that it waits for have all counted up its arrivals. Every rank
// belongs to one worker, who alone moves its lanes on; a worker that makes an instance of another worker
// ready wakes that one.
#include "runtime/executor/Step.h"

#include <cstring>
#include <exception>

namespace epl::runtime {

void Step::begin() {
  for (size_t slot = 0; slot < bindings.size(); ++slot)
    for (const auto &storage : {bindings[slot].storage, bindings[slot].source})
      if (storage && !storage->poison.empty())
        call->fail("state \"" + program.plan().slots[slot]->name + "\" is lost: " + storage->poison);
  ++frame.generation;
}

void Step::run(uint32_t worker) {
  if (call->failed())
    return;
  const Frame::Worker &self = frame.workers[worker];
  for (uint32_t rank = self.firstRank; rank < self.endRank; ++rank)
    prepare(rank);
  awaitPrepared(worker);
  runCommands(worker);
  for (uint32_t rank = self.firstRank; rank < self.endRank && !call->failed(); ++rank)
    collect(rank);
}

void Step::end() {
  std::string error = call->seal();
  if (!error.empty()) {
    frame.resetArrivals();
    for (size_t argument = 0; argument < program.numArguments(); ++argument)
      if (program.updateOf(argument) >= 0 && bindings[argument].storage->poison.empty())
        bindings[argument].storage->poison = error;
  }
  bindings.clear(); // what the caller has dropped meanwhile is freed by the end of the call
  call->finish();
}

/// Sets the addresses of the slots on a rank and copies what has to be copied.
void Step::prepare(uint32_t rank) {
  for (uint32_t slot = 0; slot < program.numArguments(); ++slot) {
    const Binding &binding = bindings[slot];
    const SlotLayout &layout = program.layout(slot);
    if (binding.source && layout.localBytes() != 0)
      std::memcpy(binding.storage->data(rank), binding.source->data(rank), layout.localBytes());
    else if (!binding.storage && !layout.isContiguous())
      layout.copyToLocal(rank, binding.host.data, frame.scratch(slot, rank));
  }
  for (auto [buffer, slot] : frame.slotBuffers)
    frame.addresses.set(rank, buffer, address(slot, rank));
}

std::byte *Step::address(uint32_t slot, uint32_t rank) const {
  const Binding &binding = bindings[slot];
  const SlotLayout &layout = program.layout(slot);
  if (binding.storage)
    return binding.storage->data(rank);
  bool inHost = layout.isContiguous() && (slot < program.numArguments() || layout.isPrimary(rank));
  return inHost ? binding.host.data + layout.offset(rank) : frame.scratch(slot, rank);
}

/// A collective reads other ranks' slots without waiting for any command: they must be prepared.
void Step::awaitPrepared(uint32_t worker) {
  if (prepared.fetch_add(1, std::memory_order_acq_rel) + 1 == numWorkers()) {
    for (uint32_t other = 0; other < numWorkers(); ++other)
      if (other != worker)
        executor.wake(other);
    return;
  }
  for (int idling = 0;;) {
    uint32_t seen = executor.signal(worker);
    if (prepared.load(std::memory_order_acquire) == numWorkers() || call->failed())
      return;
    executor.idle(worker, seen, idling);
  }
}

void Step::runCommands(uint32_t worker) {
  size_t left = 0;
  for (Frame::Cursor &cursor : frame.workers[worker].cursors) {
    cursor.next = 0;
    left += cursor.commands.size();
  }
  for (int idling = 0; left != 0;) {
    uint32_t seen = executor.signal(worker);
    if (sweep(worker, left))
      idling = 0;
    else if (call->failed())
      return;
    else
      executor.idle(worker, seen, idling);
  }
}

/// Runs the head of every lane that is ready; whether there was one. One command for each lane, so that a
/// long lane does not keep others waiting.
bool Step::sweep(uint32_t worker, size_t &left) {
  bool ran = false;
  for (Frame::Cursor &cursor : frame.workers[worker].cursors) {
    if (cursor.next == cursor.commands.size())
      continue;
    uint32_t command = cursor.commands[cursor.next];
    uint32_t expected = program.numWaits(command) * frame.generation;
    if (frame.arrivals(cursor.rank, command).load(std::memory_order_acquire) != expected)
      continue;
    if (call->failed())
      return false;
    runCommand(worker, cursor.rank, command);
    ++cursor.next;
    --left;
    ran = true;
  }
  return ran;
}

void Step::runCommand(uint32_t worker, uint32_t rank, uint32_t command) {
  bool traced = frame.trace.isEnabled();
  Trace::Clock::time_point begin = traced ? Trace::Clock::now() : Trace::Clock::time_point();
  try {
    program.actions().run(command,
                          {program.topology(), frame.addresses, rank, frame.workers[worker].pointers.data()});
  } catch (const std::exception &error) {
    const plan::CommandT &source = *program.plan().commands[command];
    call->cancel("command \"" + source.name + "\"" +
                 (source.location.empty() ? "" : " of " + source.location) + " on rank " +
                 std::to_string(rank) + ": " + error.what());
    return;
  }
  if (traced)
    frame.trace.record(worker, rank, command, call->index(), begin, Trace::Clock::now());
  announce(worker, rank, command);
}

/// Tells those who wait for an instance that it has run.
void Step::announce(uint32_t worker, uint32_t rank, uint32_t command) {
  for (auto [successor, communicator] : program.successors(command)) {
    if (communicator < 0)
      arrive(worker, rank, successor);
    else
      for (uint32_t member : program.topology().members(communicator, rank))
        arrive(worker, member, successor);
  }
}

void Step::arrive(uint32_t worker, uint32_t rank, uint32_t command) {
  uint32_t count = frame.arrivals(rank, command).fetch_add(1, std::memory_order_acq_rel) + 1;
  uint32_t owner = frame.workerOf(rank);
  if (count == program.numWaits(command) * frame.generation && owner != worker)
    executor.wake(owner);
}

/// Copies the results of a rank that could not be written to the caller's tensors.
void Step::collect(uint32_t rank) {
  for (uint32_t slot = program.numArguments(); slot < program.numSlots(); ++slot) {
    const SlotLayout &layout = program.layout(slot);
    if (program.plan().slots[slot]->updates < 0 && !layout.isContiguous() && layout.isPrimary(rank))
      layout.copyToGlobal(rank, frame.scratch(slot, rank), bindings[slot].host.data);
  }
}

} // namespace epl::runtime
