// A run of a job, drawn from a seed: who there is, how much is done, what goes wrong.

#ifndef EPL_TEST_UNIT_SERVERS_LOGIC_SCENARIO_H
#define EPL_TEST_UNIT_SERVERS_LOGIC_SCENARIO_H

#include "runtime/servers/logic/Timing.h"
#include "runtime/servers/logic/WorkerLogic.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace epl::runtime::servers::test {

/// What happens to a process at some time, or at some frame.
struct Mishap {
  enum class Kind { killed, vanished, stopped };
  /// The one of a kind, from 1 on, that the process has just sent, or is about to get.
  struct Frame {
    bool isSent;
    std::string kind;
    unsigned number;
  };
  Kind kind;
  bool ofServer;
  uint32_t number;
  Milliseconds at;
  Milliseconds length;             ///< until it goes on, or until a new life of a worker begins; 0: never
  std::optional<Frame> frame = {}; ///< when it happens, in the place of `at`
};

struct Scenario {
  uint64_t seed;
  std::shared_ptr<const Job> job;
  std::vector<uint8_t> bytes;  ///< of the manifest
  std::vector<uint64_t> steps; ///< of each worker
  std::vector<Mishap> mishaps;
  Merge merge = Merge::sum;
  uint32_t maxMerge = 1;
  double lossRate = 0;
  Milliseconds maxDelay = 20, maxWork = 50;
  Milliseconds maxCompile = 0; ///< from which on, in its life, a worker greets servers
  Milliseconds maxTask = 50;   ///< that a task with a part of a table takes
  Timing timing;

  bool isSync() const { return job->manifest.mode == manifest::Mode::sync; }
  /// Whether servers, and workers to whom nothing happens, get to their end: what goes wrong is nothing, or
  /// such that others go on without whom it is wrong with.
  bool goesOn() const;
  /// Whether all others end once the one mishap has happened, which is a loss.
  bool mustEnd() const;
  /// Whether nothing at all goes wrong but losses of streams.
  bool isCalm() const { return mishaps.empty(); }
  std::string text() const;
};

Scenario drawScenario(uint64_t seed);

} // namespace epl::runtime::servers::test

#endif // EPL_TEST_UNIT_SERVERS_LOGIC_SCENARIO_H
