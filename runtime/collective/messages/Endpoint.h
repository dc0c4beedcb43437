// What commands send and receive by.
#ifndef EPL_RUNTIME_COLLECTIVE_MESSAGES_ENDPOINT_H
#define EPL_RUNTIME_COLLECTIVE_MESSAGES_ENDPOINT_H

#include "runtime/collective/messages/MessageTable.h"
#include "runtime/collective/messages/ProgressThread.h"

namespace epl::runtime {

/// This process's end of the messages of a plan: a transport that is moved on by who waits for a message, and
/// by the progress thread where nobody does. Once a step was broken off it takes no message any more.
class Endpoint {
public:
  /// `isAlone`: there is no other process, so that no thread is needed.
  Endpoint(std::shared_ptr<Transport> transport, bool isAlone);
  ~Endpoint();
  Endpoint(const Endpoint &) = delete;

  /// Begin a message, as Transport has it. Throw Error if a step was broken off.
  void send(const Message &message, std::span<const std::byte> bytes, std::atomic<uint32_t> &left);
  void receive(const Message &message, std::span<std::byte> bytes, std::atomic<uint32_t> &left);

  /// To be called by who waits for a message. Throws Error if a process is lost.
  void progress() {
    if (!watched.isLookedAt.load(std::memory_order_relaxed))
      watched.isLookedAt.store(true, std::memory_order_relaxed);
    transport->progress();
  }

  /// Gives up what `left` counts: nothing has it to be 0. If its bytes may still be touched, the process
  /// keeps all of its memory from here on (Memory::keepAll).
  void cancel(std::atomic<uint32_t> &left) noexcept;

  /// A step ends in the midst: other processes wait for messages of it that never come, and would take those
  /// of another step for them.
  void breakOff() noexcept { isBroken.store(true, std::memory_order_relaxed); }

  const Transport &state() const { return *transport; }

private:
  void requireWhole() const;

  std::shared_ptr<Transport> transport;
  ProgressThread::Watched watched;
  const bool isAlone;
  std::atomic<bool> isBroken = false;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_COLLECTIVE_MESSAGES_ENDPOINT_H
