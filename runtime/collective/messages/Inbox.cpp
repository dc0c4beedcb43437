#include "runtime/collective/messages/Inbox.h"

#include <cstring>

namespace epl::runtime {

/// The next place where anything may begin.
static size_t aligned(size_t offset) {
  return (offset + Memory::kAlignment - 1) / Memory::kAlignment * Memory::kAlignment;
}

/// Splits runs by the buffers that they are of.
template <typename Visit> static void forEachBuffer(std::span<const ByteRun> runs, const Visit &visit) {
  while (!runs.empty()) {
    size_t count = 1;
    while (count < runs.size() && runs[count].buffer == runs[0].buffer)
      ++count;
    visit(runs.first(count));
    runs = runs.subspan(count);
  }
}

Delivery::Delivery(std::vector<const Message *> messages, bool isCopied)
    : isDirect(isCopied && std::ranges::none_of(messages, &Message::isPacked)) {
  for (const Message *message : messages)
    if (message->isPacked)
      addPacked(*message);
    else if (!isDirect)
      addRuns(*message);
    else
      addDirect(*message);
}

/// Gives a content a place of its own, in which elements are aligned as in the buffer.
void Delivery::makeRoom(Content &content) {
  uint64_t begin = content.runs.front().bytes.begin;
  content.place = bytes + begin % Memory::kAlignment;
  bytes = aligned(content.place + content.runs.back().bytes.end - begin);
}

void Delivery::addPacked(const Message &message) {
  size_t packed = bytes, size = bytesOf(message.runs);
  arrivals.push_back({&message, packed, size, 0});
  bytes = aligned(bytes + size);
  forEachBuffer(message.runs, [&](std::span<const ByteRun> runs) {
    Content content{message.holder, runs[0].buffer, runs, packed, packed};
    bool isAligned = (packed - runs[0].bytes.begin) % Memory::kAlignment == 0; // elements, as in the buffer
    if (runs.size() > 1 || !isAligned)
      makeRoom(content);
    contents.push_back(content);
    for (const ByteRun &run : runs)
      packed += run.bytes.end - run.bytes.begin;
  });
}

void Delivery::addRuns(const Message &message) {
  forEachBuffer(message.runs, [&](std::span<const ByteRun> runs) {
    Content content{message.holder, runs[0].buffer, runs, 0, 0};
    makeRoom(content);
    for (const ByteRun &run : runs)
      arrivals.push_back({&message, content.place + (run.bytes.begin - runs[0].bytes.begin),
                          run.bytes.end - run.bytes.begin, 0});
    content.packed = content.place;
    contents.push_back(content);
  });
}

void Delivery::addDirect(const Message &message) {
  for (const ByteRun &run : message.runs)
    arrivals.push_back({&message, run.bytes.begin, run.bytes.end - run.bytes.begin, run.buffer});
}

FetchedBuffers Delivery::in(std::byte *memory) const {
  FetchedBuffers fetched;
  for (const Content &content : contents)
    fetched.set(content.holder, content.buffer, memory + content.place - content.runs.front().bytes.begin);
  return fetched;
}

bool Inbox::open(const Delivery &delivery, const AddressTable &addresses, uint32_t rank) {
  std::lock_guard lock(mutex);
  if (reading != 0)
    return current == &delivery;
  current = &delivery;
  reading = readers;
  isUnpacked = false;
  left.store(uint32_t(delivery.arrivals.size()), std::memory_order_relaxed);
  for (const auto &[message, place, size, buffer] : delivery.arrivals) {
    auto *begin = delivery.isDirect ? static_cast<std::byte *>(addresses.get(rank, buffer)) : memory.data();
    endpoint.receive(*message, {begin + place, size}, left);
  }
  return true;
}

bool Inbox::hasCome() {
  if (left.load(std::memory_order_acquire) != 0)
    return false;
  std::lock_guard lock(mutex);
  if (!isUnpacked)
    unpack();
  isUnpacked = true;
  return true;
}

/// Puts the runs of a buffer where they are in it.
void Inbox::unpack() {
  for (const Delivery::Content &content : current->contents) {
    if (!content.isUnpacked())
      continue;
    const std::byte *from = memory.data() + content.packed;
    for (const ByteRun &run : content.runs) {
      size_t size = run.bytes.end - run.bytes.begin;
      std::memcpy(memory.data() + content.place + (run.bytes.begin - content.runs.front().bytes.begin), from,
                  size);
      from += size;
    }
  }
}

void Inbox::close() {
  std::lock_guard lock(mutex);
  --reading;
}

void Inbox::abandon() {
  std::lock_guard lock(mutex);
  endpoint.cancel(left);
  reading = 0;
}

} // namespace epl::runtime
