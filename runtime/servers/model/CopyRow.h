// Copies of a table's rows.
#ifndef EPL_RUNTIME_SERVERS_MODEL_COPYROW_H
#define EPL_RUNTIME_SERVERS_MODEL_COPYROW_H

#include <cstddef>
#include <cstring>

namespace epl::runtime::servers {

/// memcpy for rows: most tables' are so short that the call would take longer than what it does.
inline void copyRow(void *to, const void *from, size_t bytes) {
  constexpr size_t kVector = 16, kShort = 256;
  if (bytes < kVector || bytes > kShort) {
    std::memcpy(to, from, bytes);
    return;
  }
  auto *target = static_cast<std::byte *>(to);
  auto *source = static_cast<const std::byte *>(from);
  for (size_t done = kVector; done < bytes; done += kVector)
    std::memcpy(target + done - kVector, source + done - kVector, kVector);
  std::memcpy(target + bytes - kVector, source + bytes - kVector, kVector);
}

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_MODEL_COPYROW_H
