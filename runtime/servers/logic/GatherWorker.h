// A worker's stream of all-gathers with one server: a state machine without sockets, threads and clock.

#ifndef EPL_RUNTIME_SERVERS_LOGIC_GATHERWORKER_H
#define EPL_RUNTIME_SERVERS_LOGIC_GATHERWORKER_H

#include "runtime/servers/Payload.h"
#include "runtime/servers/logic/GatherActions.h"
#include "runtime/servers/logic/LinkId.h"
#include "runtime/servers/logic/ServerLink.h"
#include "runtime/servers/protocol/Pieces.h"

#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace epl::runtime::servers {

struct GatherOptions {
  uint32_t worker = 0, workers = 1;
  uint64_t life = 1;   ///< larger each time that the worker is started
  uint32_t server = 0; ///< at the other end; rounds are server 0's
  std::string address; ///< of it, for messages
  uint64_t seed = 0;   ///< of the times between retries
  Timing timing = {};
};

/// Gives to one round after another, and has what all have given. Streams are numbers of LinkIds.
class GatherWorker {
public:
  using Actions = std::vector<GatherAction>;

  GatherWorker(GatherOptions options, Milliseconds now);

  /// The server has taken a stream; a frame has come on it; it has ended, or the server refuses it for good.
  void accepted(uint64_t stream, Milliseconds now);
  Actions received(uint64_t stream, std::span<const std::byte> head, const Payload &payload,
                   Milliseconds now);
  Actions broke(uint64_t stream, const std::string &why, Milliseconds now);
  Actions refused(uint64_t stream, const std::string &why);
  /// To be called at once, and some times within each Timing::heartbeat.
  Actions tick(Milliseconds now);

  /// Gives bytes to the next round, for what all workers must say alike. The round before is over. With
  /// `from` it wants what that worker gives alone, and does not wait for the others.
  Actions share(const std::string &what, SharedBytes bytes, int32_t from = -1);
  /// What the worker knows of the job by now: whether it goes on without others than worker 0 that are lost.
  void knows(bool going) { goesOn = going; }
  /// Gives to no further round: it has ended, or cannot go on, for which another server may be the reason.
  Actions leave();
  Actions fail(const std::string &why, bool ofServer = false);

  /// The first round of this worker, once the server has said it.
  std::optional<uint64_t> first() const { return begun; }
  /// Whether the last round is neither complete nor has failed.
  bool isOpen() const { return giving && fault.empty() && whole < (from < 0 ? options.workers : 1); }
  /// What the workers have given to the last round, in their order; empty of those that are not wanted.
  /// Throws Error if it has failed.
  std::vector<std::vector<std::byte>> results() const;
  /// Why nothing can be shared any more; empty if it can.
  const std::string &error() const { return ended; }

private:
  struct Part {
    std::vector<std::byte> bytes = {};
    PieceOrder order = {};
  };

  Actions take() { return std::move(actions); }
  uint64_t ownStream() const { return numberOf({options.server, link.stream()}); }
  bool isCurrent(uint64_t stream) const;
  std::string takeFrame(const Message &message, const Payload &payload);
  std::string takePart(const frames::SharedT &shared, const Payload &payload);
  void give();
  void notice(Milliseconds now);
  void end(const std::string &why);
  void close();

  GatherOptions options;
  std::mt19937_64 random;
  Milliseconds noticed;
  ServerLink link;
  std::optional<uint64_t> begun;
  uint64_t next = 0;  ///< round
  SharedBytes giving; ///< to the last round
  std::string what;
  int32_t from = -1;
  std::vector<Part> parts; ///< of the last round
  uint32_t whole = 0;      ///< how many have come
  std::string fault;       ///< of the last round
  std::string absence;     ///< why the last stream broke; empty once a frame has come
  std::string ended;
  bool goesOn = false;
  std::vector<GatherAction> actions;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_LOGIC_GATHERWORKER_H
