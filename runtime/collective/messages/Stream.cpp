#include "runtime/collective/messages/Stream.h"

#include <algorithm>

namespace epl::runtime {

/// Room for a run, with its elements aligned as they are in the buffer.
static size_t roomFor(const ByteRun &run) {
  size_t bytes = run.bytes.begin % Memory::kAlignment + (run.bytes.end - run.bytes.begin);
  return (bytes + Memory::kAlignment - 1) / Memory::kAlignment * Memory::kAlignment;
}

bool Stream::canRead(const Messages &messages) {
  return std::ranges::all_of(
      messages, [&](const Message *each) { return !each->isPacked && each->runs == messages.front()->runs; });
}

void Stream::reserve(const Messages &messages) {
  size_t most = 0;
  for (const ByteRun &run : messages.front()->runs)
    most = std::max(most, roomFor(run));
  size = std::max(size, messages.size() * most);
  if (kPlaces * size > memory.size())
    memory = Memory(kPlaces * size, Memory::Fill::none);
}

void Stream::begin(const Messages &begun) {
  messages = &begun;
  numRead = 0;
  for (size_t run = 0; run < std::min(kPlaces, numRuns()); ++run)
    receive(run);
}

void Stream::receive(size_t run) {
  size_t place = run % kPlaces;
  std::byte *at = memory.data() + place * size;
  places[place] = {};
  left[place].store(uint32_t(messages->size()), std::memory_order_relaxed);
  for (const Message *message : *messages) {
    const auto &[buffer, bytes] = message->runs[run];
    std::byte *begin = at + bytes.begin % Memory::kAlignment;
    places[place].set(message->holder, buffer, begin - bytes.begin);
    endpoint.receive(*message, {begin, bytes.end - bytes.begin}, left[place]);
    at += roomFor(message->runs[run]);
  }
}

const ByteRun *Stream::front() const {
  bool hasCome = !isOver() && left[numRead % kPlaces].load(std::memory_order_acquire) == 0;
  return hasCome ? &messages->front()->runs[numRead] : nullptr;
}

void Stream::pop() {
  size_t next = numRead++ + kPlaces;
  if (next < numRuns())
    receive(next);
}

void Stream::abandon() {
  for (std::atomic<uint32_t> &each : left)
    endpoint.cancel(each);
  messages = nullptr;
}

} // namespace epl::runtime
