// A server's side of all-gathers between workers: a state machine without sockets, threads and clock.

#ifndef EPL_RUNTIME_SERVERS_LOGIC_GATHERSERVER_H
#define EPL_RUNTIME_SERVERS_LOGIC_GATHERSERVER_H

#include "runtime/servers/Payload.h"
#include "runtime/servers/logic/GatherActions.h"
#include "runtime/servers/logic/Members.h"
#include "runtime/servers/protocol/Pieces.h"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace epl::runtime::servers {

/// Collects what each worker gives to a round, and sends all of it to all of them, once all have given; or
/// what one of them has given, to who asks for it. Workers come on streams of their own, and need no job. A
/// round fails, in each of its workers, if one of them has ended or is lost before it has given, or is at
/// something else. Who is started again takes part in the round that is open then. Rounds are those of server
/// 0; all servers see by these streams which workers there are before they have a job.
class GatherServer {
public:
  using Actions = std::vector<GatherAction>;

  explicit GatherServer(Timing timing) : timing(timing) {}

  /// A stream has begun with Join. Its number is not 0, and none's before.
  Actions join(StreamId stream, const frames::JoinT &join, Milliseconds now);
  /// Whether a stream is one of these.
  bool has(StreamId stream) const { return workers.contains(stream); }
  /// A later frame has come on one of these streams; it has ended: closed by the worker, or for the reason
  /// `why`.
  Actions received(StreamId stream, std::span<const std::byte> head, const Payload &payload,
                   Milliseconds now);
  Actions broke(StreamId stream, const std::string &why);
  /// To be called some times within each Timing::heartbeat.
  Actions tick(Milliseconds now);
  /// The server ends, well (empty) or not.
  Actions end(const std::string &error);

  /// How many workers there are, once one has come.
  uint32_t count() const { return uint32_t(members.size()); }
  Presence presenceOf(uint32_t worker) const {
    return worker < count() ? members[worker].presence : Presence::awaited;
  }
  /// Why the worker is gone or lost, for behind "worker 2 "; empty if it is neither.
  const std::string &absenceOf(uint32_t worker) const { return members[worker].absence; }
  /// Whether the job goes on without workers other than worker 0 that are lost, as one has said.
  bool goesOn() const { return going; }
  /// Which server a worker has lost, or has heard of that it has ended; empty if none has.
  const std::string &lostServer() const { return missing; }

private:
  struct Worker {
    Presence presence = Presence::awaited;
    uint64_t life = 0;
    uint32_t opened = 0; ///< which stream of this life it has
    StreamId stream = 0;
    Milliseconds heard = 0, told = 0;
    uint64_t next = 0;                  ///< the round that it gives to next
    PieceOrder order = {};              ///< of what is coming
    std::vector<std::byte> coming = {}; ///< for that round
    std::string absence = {};           ///< why it is gone or lost, for behind "worker 2 "
  };
  struct Round {
    std::string what;
    int32_t from = -1;              ///< whose part alone is wanted; -1: that of all
    std::vector<SharedBytes> parts; ///< by worker; null: not yet
    std::string error;
  };

  Actions take() { return std::move(actions); }
  std::string refusal(const frames::JoinT &join) const;
  void refuse(StreamId stream, const std::string &text);
  void detach(Worker &worker);
  void notice(Milliseconds now);
  std::string takeShare(uint32_t number, const frames::ShareT &share, const Payload &payload);
  void give(uint32_t number, const frames::ShareT &share);
  static std::string differenceOf(const Round &round, uint32_t number, const frames::ShareT &share);
  bool wants(const Round &round, uint32_t number) const;
  void settle();
  void fail(const std::string &error);
  void close();
  void tellFailure(Worker &worker, uint64_t round, const std::string &text);
  void answer(Worker &worker, uint64_t round);
  void leave(uint32_t number, const frames::FailureT &failure);
  void lose(uint32_t number, Presence presence, const std::string &absence);

  Timing timing;
  Milliseconds started = 0, noticed = 0;
  std::vector<Worker> members; ///< once the first one has come
  std::map<StreamId, uint32_t> workers;
  uint64_t open = 0;                ///< the round that is neither complete nor has failed
  std::map<uint64_t, Round> rounds; ///< that one, if it has begun, and those that somebody may still ask for
  std::optional<std::string> ended;
  bool going = false;
  std::string missing;
  std::vector<GatherAction> actions;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_LOGIC_GATHERSERVER_H
