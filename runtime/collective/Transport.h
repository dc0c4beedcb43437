// What moves bytes between the processes of a run.
#ifndef EPL_RUNTIME_COLLECTIVE_TRANSPORT_H
#define EPL_RUNTIME_COLLECTIVE_TRANSPORT_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace epl::runtime {

/// The messages of one plan between processes. No call waits for another process. Between two processes,
/// messages of one number come in the order in which they were sent; others in any order. Threads may call it
/// at once.
class Transport {
public:
  virtual ~Transport() = default;

  /// Begins to send bytes to another process, or to receive as many from it. They are the transport's until
  /// `left`, which is at least 1, has been counted down by 1 for them; that outlives the message. Throws
  /// Error if the process is lost.
  virtual void send(uint32_t process, uint32_t number, std::span<const std::byte> bytes,
                    std::atomic<uint32_t> &left) = 0;
  virtual void receive(uint32_t process, uint32_t number, std::span<std::byte> bytes,
                       std::atomic<uint32_t> &left) = 0;

  /// To be called by who waits for a message. Throws Error if a process is lost.
  virtual void progress() = 0;

  /// Gives up all that `left` counts: when this returns, their bytes are touched no more. What is on its way
  /// between the two processes with these numbers is undefined from then on.
  virtual void cancel(const std::atomic<uint32_t> &left) noexcept = 0;
};

/// The processes of a run.
class ProcessGroup {
public:
  virtual ~ProcessGroup() = default;

  /// This process, and how many there are.
  virtual uint32_t process() const = 0;
  virtual uint32_t numProcesses() const = 0;

  /// A transport whose messages nobody else's are taken for. All processes open as many, in one order.
  virtual std::shared_ptr<Transport> open() = 0;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_COLLECTIVE_TRANSPORT_H
