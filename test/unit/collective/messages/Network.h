// Processes that are threads: what their transports bring comes late, and in another order.
#ifndef EPL_TEST_UNIT_COLLECTIVE_MESSAGES_NETWORK_H
#define EPL_TEST_UNIT_COLLECTIVE_MESSAGES_NETWORK_H

#include "runtime/collective/Transport.h"

#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

namespace epl::runtime::test {

/// All messages between the processes of a test. Of those that could come, one does when somebody asks for
/// progress and chance has it so, one time of four. The sender's bytes are read then, and not before.
class Network {
public:
  Network(uint32_t processes, unsigned seed) : processes(processes), generator(seed) {}

  std::shared_ptr<ProcessGroup> join(uint32_t process);

  /// What was sent and not received, or the other way.
  size_t numOpen();
  /// From here on what is given up does not end: its bytes are read and written all the same.
  void keepGivenUp() { keepsGivenUp = true; }
  /// What no transport may do to a message.
  enum class Fault { none, lose, repeat };
  /// Does it to the message that would be moved as number `message` of all, from 0.
  void misbehave(Fault kind, uint64_t message) { fault = kind, faulty = message; }
  uint64_t numMoved() const { return moved; }
  /// How often somebody has asked for progress.
  uint64_t numLooks() const { return looks; }

private:
  class Group;
  class Member;
  struct End {
    uint32_t transport, from, to, number;
    std::byte *data;
    size_t size;
    std::atomic<uint32_t> *left; // null once it is given up

    void count() const {
      if (left)
        left->fetch_sub(1, std::memory_order_release);
    }
  };

  static bool areOfOne(const End &a, const End &b) {
    return a.transport == b.transport && a.from == b.from && a.to == b.to && a.number == b.number;
  }
  void progress();
  bool deliver(std::vector<End>::iterator receive);
  void repeat(const End &send);

  const uint32_t processes;
  std::mutex mutex;
  std::mt19937 generator;
  std::vector<End> sends, receives; // in their order
  bool keepsGivenUp = false;
  Fault fault = Fault::none;
  uint64_t faulty = 0;
  std::deque<std::vector<std::byte>> repeated; // what a message had that comes again
  std::atomic<uint64_t> looks = 0, moved = 0;
};

} // namespace epl::runtime::test

#endif // EPL_TEST_UNIT_COLLECTIVE_MESSAGES_NETWORK_H
