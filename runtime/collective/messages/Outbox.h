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

  /// Makes room for messages that are to be sent at once: for those that are put together, or for copies of
  /// all.
  void reserve(std::span<const Message> messages, uint32_t rank, bool copies);

  /// Whether all that was sent has gone.
  bool isEmpty() const { return left.load(std::memory_order_acquire) == 0; }
  /// Sends messages of `rank`, whose buffers begin where `addressOf` says. Without `copies` what is not put
  /// together goes from where it is: its bytes may be overwritten once the outbox is empty.
  template <typename AddressOf>
  void send(std::span<const Message> messages, uint32_t rank, bool copies, const AddressOf &addressOf) {
    left.store(count(messages, rank), std::memory_order_relaxed);
    size_t place = 0;
    for (const Message &message : messages)
      if (message.holder == rank && message.isPacked)
        endpoint.send(message, copy(message.runs, addressOf, place), left);
      else if (message.holder == rank)
        for (const ByteRun &run : message.runs)
          endpoint.send(message, copies ? copy({&run, 1}, addressOf, place) : at(run, addressOf(run.buffer)),
                        left);
  }
  /// Gives up what has not gone.
  void abandon() { endpoint.cancel(left); }

private:
  static uint32_t count(std::span<const Message> messages, uint32_t rank);
  static std::span<const std::byte> at(const ByteRun &run, const void *buffer) {
    return {static_cast<const std::byte *>(buffer) + run.bytes.begin, run.bytes.end - run.bytes.begin};
  }
  /// Puts runs one behind the other, from `place` on.
  template <typename AddressOf>
  std::span<const std::byte> copy(std::span<const ByteRun> runs, const AddressOf &addressOf, size_t &place) {
    size_t begin = place;
    for (const ByteRun &run : runs) {
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
