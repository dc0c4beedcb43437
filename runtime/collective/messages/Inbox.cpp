#include "runtime/collective/messages/Inbox.h"

#include <cstring>

namespace epl::runtime {

/// The next place where anything may begin.
static size_t aligned(size_t offset) {
  return (offset + Memory::kAlignment - 1) / Memory::kAlignment * Memory::kAlignment;
}

Delivery::Delivery(std::vector<const Message *> messages) {
  for (const Message *message : messages) {
    parcels.push_back({message, bytes, bytesOf(message->runs), {}});
    size_t packed = bytes;
    std::span<const ByteRun> rest = message->runs;
    while (!rest.empty()) {
      size_t count = 1;
      while (count < rest.size() && rest[count].buffer == rest[0].buffer)
        ++count;
      parcels.back().contents.push_back({rest[0].buffer, rest.first(count), packed, packed});
      for (const ByteRun &run : rest.first(count))
        packed += run.bytes.end - run.bytes.begin;
      rest = rest.subspan(count);
    }
    bytes = aligned(bytes + parcels.back().size);
  }
  for (Parcel &parcel : parcels)
    for (Content &content : parcel.contents) {
      uint64_t begin = content.runs.front().bytes.begin;
      bool isAligned =
          (content.packed - begin) % Memory::kAlignment == 0; // elements, where they are in the buffer
      if (content.runs.size() == 1 && isAligned)
        continue;
      content.place = bytes + begin % Memory::kAlignment;
      bytes = aligned(content.place + content.runs.back().bytes.end - begin);
    }
}

FetchedBuffers Delivery::in(std::byte *memory) const {
  FetchedBuffers fetched;
  for (const Parcel &parcel : parcels)
    for (const Content &content : parcel.contents)
      fetched.set(parcel.message->holder, content.buffer,
                  memory + content.place - content.runs.front().bytes.begin);
  return fetched;
}

bool Inbox::open(const Delivery &delivery) {
  std::lock_guard lock(mutex);
  if (reading != 0)
    return current == &delivery;
  current = &delivery;
  reading = readers;
  isUnpacked = false;
  left.store(uint32_t(delivery.parcels.size()), std::memory_order_relaxed);
  for (const Delivery::Parcel &parcel : delivery.parcels)
    endpoint.receive(*parcel.message, {memory.data() + parcel.begin, parcel.size}, left);
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
  for (const Delivery::Parcel &parcel : current->parcels)
    for (const Delivery::Content &content : parcel.contents) {
      if (!content.isUnpacked())
        continue;
      const std::byte *from = memory.data() + content.packed;
      for (const ByteRun &run : content.runs) {
        size_t size = run.bytes.end - run.bytes.begin;
        std::memcpy(memory.data() + content.place + (run.bytes.begin - content.runs.front().bytes.begin),
                    from, size);
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
