#include "runtime/collective/messages/Outbox.h"

#include <algorithm>

namespace epl::runtime {

/// How often something is sent.
uint32_t Outbox::count(std::span<const Message> messages, uint32_t rank) {
  size_t sum = 0;
  for (const Message &message : messages)
    if (message.holder == rank)
      sum += message.isPacked ? 1 : message.runs.size();
  return uint32_t(sum);
}

void Outbox::reserve(std::span<const Message> messages, uint32_t rank, bool copies) {
  size_t size = 0;
  for (const Message &message : messages)
    if (message.holder == rank && (copies || message.isPacked))
      size += bytesOf(message.runs);
  if (size > packed.size())
    packed = Memory(size, Memory::Fill::none);
}

} // namespace epl::runtime
