// What moves bytes between the processes of a run.
#ifndef EPL_RUNTIME_COLLECTIVE_TRANSPORT_H
#define EPL_RUNTIME_COLLECTIVE_TRANSPORT_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace epl::runtime {

/// A message that has begun and not ended, in this process.
struct OpenMessage {
  uint32_t process; ///< the other one
  uint32_t number;
  bool isSend;
  size_t bytes; ///< that have not come or gone
};

/// The messages of one plan between processes. No call waits for another process. Between two processes,
/// messages of one number come in the order in which they were sent; others in any order. Threads may call it
/// at once.
class Transport {
public:
  virtual ~Transport() = default;

  /// Begins to send bytes to another process, or to receive as many from it. They are the transport's until
  /// `left`, which is at least 1, has been counted down by 1 for them; that outlives the message, unless it
  /// is given up. Throws Error if the process is lost.
  virtual void send(uint32_t process, uint32_t number, std::span<const std::byte> bytes,
                    std::atomic<uint32_t> &left) = 0;
  virtual void receive(uint32_t process, uint32_t number, std::span<std::byte> bytes,
                       std::atomic<uint32_t> &left) = 0;

  /// To be called again and again while a message is open. Throws Error if a process is lost.
  virtual void progress() = 0;

  /// Gives up all that `left` counts, which is touched no more, without waiting for it. What is on its way
  /// between the two processes with these numbers is undefined from then on. False if their bytes may still
  /// be read or written, until the process ends.
  virtual bool cancel(const std::atomic<uint32_t> &left) noexcept = 0;

  // For whoever looks how the process is doing.

  /// Whether no message is open.
  virtual bool isIdle() const noexcept = 0;
  /// How many messages, or pieces of large ones, have come and gone.
  virtual uint64_t numMoved() const noexcept = 0;
  virtual std::vector<OpenMessage> openMessages() const = 0;
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
