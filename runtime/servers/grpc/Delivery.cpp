#include "runtime/servers/grpc/Delivery.h"

#include <utility>

namespace epl::runtime::servers {

void Delivery::setReader(std::shared_ptr<StreamReader> to) {
  std::lock_guard lock(calls);
  reader = std::move(to);
}

void Delivery::opened() noexcept {
  std::shared_ptr<StreamReader> keep;
  std::lock_guard lock(calls);
  keep = reader;
  if (keep && !isMuted)
    keep->opened();
}

/// The reader may be dropped in its own call, and may be what holds the stream: it lives until the lock is
/// free.
void Delivery::received(std::span<const std::byte> head, const Payload &payload) {
  std::shared_ptr<StreamReader> keep;
  std::lock_guard lock(calls);
  keep = reader;
  if (keep && !isMuted)
    keep->received(head, payload);
}

void Delivery::closed(const Ending &ending) noexcept {
  std::shared_ptr<StreamReader> last;
  std::lock_guard lock(calls);
  last = std::exchange(reader, nullptr);
  if (!last || isMuted)
    return;
  try {
    last->closed(ending);
  } catch (...) {
    isMuted = true; // there is nobody left to tell
  }
}

void Delivery::stop() noexcept {
  std::shared_ptr<StreamReader> last;
  std::lock_guard lock(calls);
  last = std::exchange(reader, nullptr);
}

} // namespace epl::runtime::servers
