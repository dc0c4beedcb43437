// Processes that are threads: what their transports bring comes late, and in another order.
#ifndef EPL_TEST_UNIT_COLLECTIVE_MESSAGES_NETWORK_H
#define EPL_TEST_UNIT_COLLECTIVE_MESSAGES_NETWORK_H

#include "runtime/collective/Transport.h"

#include <memory>
#include <mutex>
#include <random>
#include <vector>

namespace epl::runtime::test {

/// All messages between the processes of a test. A message goes when it is asked for progress and chance has
/// it so; the sender's bytes are read then and not before.
class Network {
public:
  /// Of four messages that could come, one does, on average, if it is `slow`.
  Network(uint32_t processes, unsigned seed, bool slow = true)
      : processes(processes), slow(slow), generator(seed) {}

  std::shared_ptr<Transport> join(uint32_t process);

  /// Messages and bytes that have come.
  size_t numMessages() const { return messages; }
  size_t numBytes() const { return bytes; }
  /// What was sent and not received, or the other way.
  size_t numOpen();

private:
  class Member;
  struct End {
    uint32_t from, to, number;
    std::byte *data;
    size_t size;
    std::atomic<uint32_t> *left;
  };

  void progress();
  bool deliver(std::vector<End>::iterator receive);

  const uint32_t processes;
  const bool slow;
  std::mutex mutex;
  std::mt19937 generator;
  std::vector<End> sends, receives; // in their order
  size_t messages = 0, bytes = 0;
};

} // namespace epl::runtime::test

#endif // EPL_TEST_UNIT_COLLECTIVE_MESSAGES_NETWORK_H
