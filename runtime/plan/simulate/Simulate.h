// When each command of a plan runs, if commands took as long as one says.
//
// Problem: a schedule's table says in which order meshes work, and its simulation (schedule/Simulate.h) knows
// of units alone. What a step takes is also a matter of what is done once, of memory that messages wait for,
// and of units that send before their end. Method: the plan's commands are run in time, event by event, by
// the rules of the executor (runtime/executor/Step.cpp): lanes in order, waits, a receive behind its send, a
// send behind the receive of the message in whose place it comes. What is pulled comes over the link in the
// order in which it is asked for, from the begin of the step on. All ranks of a part do the same, so that a
// part is one machine, and a wait for all members is one for itself.
//
// Assumptions: each device has a core and bandwidth of its own; all guarded commands run; a command starts
// at once when it is ready; messages do not delay each other on their way.
// Invariant: a machine is idle only while nothing of it is ready.

#ifndef EPL_RUNTIME_PLAN_SIMULATE_SIMULATE_H
#define EPL_RUNTIME_PLAN_SIMULATE_SIMULATE_H

#include "runtime/plan/format/plan_generated.h"

#include <compare>
#include <limits>
#include <map>
#include <vector>

namespace epl::runtime {

/// How messages get from one mesh to another, beside what the commands that send and receive them take; and
/// how a mesh gets what it pulls.
struct MessageLink {
  double nanoseconds = 0;                                // of a message, however small
  double gbps = std::numeric_limits<double>::infinity(); // 10^9 bytes a second that a device receives
};

struct Assumptions {
  /// What each command of each part takes, in nanoseconds.
  std::vector<std::vector<double>> nanoseconds;
  MessageLink link{};
  /// Whether one thread runs all lanes of a rank, one command at a time, as it is on CPU devices; else each
  /// lane is a machine of its own.
  bool lanesShareThread = true;
};

/// Whether those of the plan's devices do so.
bool lanesShareThread(const plan::PlanT &plan);

struct CommandSpan {
  double begin = 0, end = 0;
};

/// What a mesh waits for: what another mesh sends, room for what it sends to that, what it pulls, its own
/// collectives, its copies, and at last the end of the step on other meshes.
enum class WaitCause : uint8_t { message, room, pull, collective, copy, end };

struct WaitFor {
  WaitCause cause;
  uint32_t mesh; // the other one; 0 where there is none
  auto operator<=>(const WaitFor &) const = default;
};

struct MeshRun {
  std::vector<CommandSpan> commands;
  double busy = 0;                 // of its thread; with lanes of their own, of what computes
  std::map<WaitFor, double> waits; // makespan - busy in all
};

struct PlanRun {
  double makespan = 0; // nanoseconds, as all times
  std::vector<MeshRun> meshes;

  /// The share of the meshes' time in which they wait.
  double bubble() const;
};

/// Needs a verified plan.
PlanRun simulate(const plan::PlanT &plan, const Assumptions &assumptions);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_SIMULATE_SIMULATE_H
