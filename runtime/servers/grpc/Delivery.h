// Calls of a stream's reader, and their end.
#ifndef EPL_RUNTIME_SERVERS_GRPC_DELIVERY_H
#define EPL_RUNTIME_SERVERS_GRPC_DELIVERY_H

#include "runtime/servers/Stream.h"

#include <atomic>
#include <mutex>

namespace epl::runtime::servers {

/// Tells a reader what comes until it is told that the stream is closed, or until `stop`.
class Delivery {
public:
  void setReader(std::shared_ptr<StreamReader> to);

  void opened() noexcept;
  void received(std::span<const std::byte> head, const Payload &payload);
  /// The first time only. Nothing that the reader throws comes out.
  void closed(const Ending &ending) noexcept;

  /// No call begins from now on.
  void mute() { isMuted = true; }
  /// After `mute`: waits for a call that runs, unless this is called in it, and drops the reader.
  void stop() noexcept;

private:
  std::atomic<bool> isMuted = false;
  std::recursive_mutex calls; ///< held while the reader is called
  std::shared_ptr<StreamReader> reader;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_GRPC_DELIVERY_H
