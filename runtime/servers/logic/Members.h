// The workers of a job, as a server sees them.

#ifndef EPL_RUNTIME_SERVERS_LOGIC_MEMBERS_H
#define EPL_RUNTIME_SERVERS_LOGIC_MEMBERS_H

#include "runtime/plan/format/Hash.h"
#include "runtime/servers/logic/Timing.h"

#include <cstdint>
#include <limits>
#include <map>

namespace epl::runtime::servers {

/// A stream, as whoever runs the logic numbers it; 0 is none.
using StreamId = uint64_t;

/// awaited: has not come yet; gone: has said goodbye.
enum class Presence { awaited, running, gone, lost };

/// A worker.
struct Member {
  Presence presence = Presence::awaited;
  uint64_t life = 0;
  Hash128 job{};
  uint32_t workers = 0;   ///< how many there are, as it says
  StreamId stream = 0;    ///< the one that counts
  uint32_t opened = 0;    ///< which stream of this life that is
  Milliseconds heard = 0; ///< when a frame last came
  Milliseconds told = 0;  ///< when a heartbeat was last sent
  int64_t task = -1;   ///< a part of a table with which servers do what it wants, as its last heartbeat says
  bool pushed = false; ///< this life has
  bool begun = false;  ///< has said from which step on
  uint64_t firstStep = 0;                                  ///< of sync: takes part in steps from this one on
  uint64_t endStep = std::numeric_limits<uint64_t>::max(); ///< and up to this one, which it does not
};

/// All workers, by number.
class Members {
public:
  /// There are `count`: makes those that have not come yet, and forgets others, which have no stream any
  /// more.
  void expect(uint32_t count);

  Member &at(uint32_t worker) { return members[worker]; }
  const Member &at(uint32_t worker) const { return members.at(worker); }
  /// The worker whose stream this is; nothing if it is nobody's, or no longer.
  const uint32_t *workerOf(StreamId stream) const;
  /// Gives a worker another stream, or none.
  void attach(uint32_t worker, StreamId stream);

  /// Whether a step of sync waits for the worker.
  bool isExpected(uint32_t worker, uint64_t step) const;
  /// Whether nobody will push any more.
  bool allEnded() const;

  auto begin() { return members.begin(); }
  auto end() { return members.end(); }
  auto begin() const { return members.begin(); }
  auto end() const { return members.end(); }

private:
  std::map<uint32_t, Member> members;
  std::map<StreamId, uint32_t> streams;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_LOGIC_MEMBERS_H
