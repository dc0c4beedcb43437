// A simulated network: streams with delays that keep their order and may break, between processes that may
// stand still or end. All that happens follows from a seed.

#ifndef EPL_TEST_UNIT_SERVERS_LOGIC_NETWORK_H
#define EPL_TEST_UNIT_SERVERS_LOGIC_NETWORK_H

#include "runtime/servers/logic/Timing.h"

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <queue>
#include <random>
#include <tuple>
#include <vector>

namespace epl::runtime::servers::test {

struct NetworkFrame {
  std::vector<std::byte> head, payload;
};

/// What says that a process closes a stream for good: a frame without a head, behind all others.
inline const NetworkFrame lastFrame = {};

/// A process, as the network sees it.
class Process {
public:
  virtual ~Process() = default;
  /// A stream that the process has opened is taken by the other end.
  virtual void opened(uint64_t) {}
  virtual void received(uint64_t stream, const NetworkFrame &frame) = 0;
  virtual void broke(uint64_t stream) = 0;

  bool isAlive() const { return alive; }
  bool hasStoodStill() const { return stopped > 0; }

private:
  friend class Network;
  bool alive = true;
  bool reachable = true;    ///< an end of it that nobody notices
  Milliseconds stopped = 0; ///< stands still until then
};

class Network {
public:
  Network(uint64_t seed, double lossRate, Milliseconds maxDelay)
      : random(seed), lossRate(lossRate), maxDelay(maxDelay) {}

  Milliseconds now() const { return time; }
  std::mt19937_64 &randomness() { return random; }
  Milliseconds delay() { return random() % (maxDelay + 1); }

  /// Does something after a while; for a process: unless it has ended, and once it does not stand still.
  void after(Milliseconds wait, std::function<void()> action);
  void after(Milliseconds wait, Process &process, std::function<void()> action);
  /// Runs all that is due up to a time, until `done`.
  void run(Milliseconds until, const std::function<bool()> &done);

  /// Told of each frame that a process has just sent, or is about to get.
  std::function<void(Process &process, bool isSent, const NetworkFrame &frame)> watch =
      [](Process &, bool, const NetworkFrame &) {};

  /// Opens a stream; its number. That the other end does not answer, the opener sees as a broken stream.
  uint64_t open(Process &from, Process &to);
  void send(uint64_t stream, Process &from, const NetworkFrame &frame);
  /// Ends a stream behind what was sent, or at once.
  void close(uint64_t stream, Process &from, bool last);

  bool standsStill(const Process &process) const { return process.stopped > time; }
  void stop(Process &process, Milliseconds length) { process.stopped = time + length; }
  /// Ends a process. Silently: its streams stay as they are, and nothing comes of them.
  void kill(Process &process, bool silently);

private:
  struct Event {
    Milliseconds time;
    uint64_t number;
    std::function<void()> action;
    bool operator>(const Event &other) const {
      return std::tie(time, number) > std::tie(other.time, other.number);
    }
  };
  /// One direction of a stream.
  struct Way {
    Process *to;
    std::deque<NetworkFrame> frames = {};
    Milliseconds last = 0; ///< when what was sent last comes
    bool open = true;      ///< the end has not been told
  };
  struct Stream {
    Way ways[2];
    bool broken = false;
    bool lasts = false; ///< as each third one between two processes: who tries again gets there
  };

  Way &wayFrom(Stream &stream, const Process &from) {
    return stream.ways[stream.ways[0].to == &from ? 1 : 0];
  }
  void deliver(uint64_t stream, int way);
  void breakStream(uint64_t stream);
  void tell(uint64_t stream, int way, Milliseconds wait);

  std::mt19937_64 random;
  double lossRate;
  Milliseconds maxDelay;
  Milliseconds time = 0;
  uint64_t events = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> queue;
  std::map<uint64_t, Stream> streams;
  std::map<std::pair<Process *, Process *>, uint64_t> opened; ///< how many
};

} // namespace epl::runtime::servers::test

#endif // EPL_TEST_UNIT_SERVERS_LOGIC_NETWORK_H
