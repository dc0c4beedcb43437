// What a rank sends to other processes until it has gone.
#ifndef EPL_RUNTIME_COLLECTIVE_MESSAGES_OUTBOX_H
#define EPL_RUNTIME_COLLECTIVE_MESSAGES_OUTBOX_H

#include "runtime/collective/messages/Endpoint.h"
#include "runtime/host/Memory.h"

namespace epl::runtime {

/// The messages of one command of one rank at a time.
class Outbox {
public:
  explicit Outbox(Endpoint &endpoint) : endpoint(endpoint) {}
  ~Outbox() { endpoint.cancel(left); }

  /// Makes room for messages that are to be sent at once: for those that are packed, or for copies of all.
  void reserve(std::span<const Message> messages, uint32_t rank, bool copies);

  /// Whether all that was sent has gone.
  bool isEmpty() const { return left.load(std::memory_order_acquire) == 0; }
  /// Sends messages of `rank`, whose buffers begin where `addressOf` says. Without `copies` a single run goes
  /// from where it is: its bytes may be overwritten once the outbox is empty.
  template <typename AddressOf>
  void send(std::span<const Message> messages, uint32_t rank, bool copies, const AddressOf &addressOf) {
    left.store(count(messages, rank), std::memory_order_relaxed);
    size_t place = 0;
    for (const Message &message : messages)
      if (message.holder == rank)
        endpoint.send(message,
                      isPacked(message, copies) ? pack(message, addressOf, place)
                                                : at(message.runs[0], addressOf(message.runs[0].buffer)),
                      left);
  }
  /// Gives up what has not gone.
  void abandon() { endpoint.cancel(left); }

private:
  static uint32_t count(std::span<const Message> messages, uint32_t rank);
  static bool isPacked(const Message &message, bool copies) { return copies || message.runs.size() > 1; }
  static std::span<const std::byte> at(const ByteRun &run, const void *buffer) {
    return {static_cast<const std::byte *>(buffer) + run.bytes.begin, run.bytes.end - run.bytes.begin};
  }
  /// Puts the runs of a message one behind the other, from `place` on.
  template <typename AddressOf>
  std::span<const std::byte> pack(const Message &message, const AddressOf &addressOf, size_t &place) {
    size_t begin = place;
    for (const ByteRun &run : message.runs) {
      std::span<const std::byte> bytes = at(run, addressOf(run.buffer));
      std::ranges::copy(bytes, packed.data() + place);
      place += bytes.size();
    }
    return {packed.data() + begin, place - begin};
  }

  Endpoint &endpoint;
  Memory packed;
  std::atomic<uint32_t> left = 0;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_COLLECTIVE_MESSAGES_OUTBOX_H
