#include "runtime/collective/messages/Outbox.h"

#include <algorithm>

namespace epl::runtime {

uint32_t Outbox::count(std::span<const Message> messages, uint32_t rank) {
  return uint32_t(std::ranges::count(messages, rank, &Message::holder));
}

void Outbox::reserve(std::span<const Message> messages, uint32_t rank, bool copies) {
  size_t size = 0;
  for (const Message &message : messages)
    if (message.holder == rank && isPacked(message, copies))
      size += bytesOf(message.runs);
  if (size > packed.size())
    packed = Memory(size, Memory::Fill::none);
}

} // namespace epl::runtime
