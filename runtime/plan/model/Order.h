// Happens-before between the commands of all ranks of a plan.
//
// Problem: commands are ordered by lanes (on one rank) and by waits (on one rank, or on all members of a
// communicator). Which instance (rank, command) ends before which other one begins, on up to a thousand
// ranks? Method: a wait reaches all ranks that differ from the waiting one within a fixed set of mesh axes, a
// scope, itself among them. So order is the same seen from every rank, and it depends on another rank only
// through the set of axes on which the two differ. One vector clock for each command and scope therefore
// stands for all ranks: the cost does not grow with them.
//
// What orders instances of two ranks are lanes and waits of these two. That a third rank waits for the one,
// and the other one for the third, does not count: that may be in another process, and processes do not tell
// each other what has run. So this order holds in every process that has both ranks, whichever others it has:
//
//     rank 0        rank 2 (elsewhere)    rank 3
//     gather <----- update
//                   scatter <------------ sum       reads what rank 0 has gathered: needs a wait of its own
//
// Of ranks in two processes it is not needed: what one reads of the other comes in messages, which the other
// sends in its own order (design.md, Collectives), and every order of two ranks is one of each by itself.
//
// Reference: F. Mattern, Virtual time and global states of distributed systems, 1989 (vector clocks).

#ifndef EPL_RUNTIME_PLAN_MODEL_ORDER_H
#define EPL_RUNTIME_PLAN_MODEL_ORDER_H

#include "runtime/plan/format/plan_generated.h"

#include <cstdint>
#include <vector>

namespace epl::runtime {

/// A set of the plan's communicated axes, as bits: those on which two ranks differ.
using Scope = uint32_t;

/// Clocks are kept for every subset of the communicated axes, so their number is limited, and so is that of
/// all entries of all clocks (1 GiB).
inline constexpr size_t maxCommunicatedAxes = 8;
inline constexpr size_t maxClockEntries = size_t(1) << 28;

class Order {
public:
  /// An order in which no command has begun: `begin` then `wait` add commands in program order. Needs a plan
  /// that passes the verifier's checks of tables and lanes.
  explicit Order(const plan::PlanT &plan);

  /// The order that the plan's lanes and waits make.
  static Order of(const plan::PlanT &plan);

  /// The axes of length two and more over which a communicator's members differ.
  Scope scopeOf(uint32_t communicator) const { return scopes[communicator]; }
  Scope scopeOf(const plan::Wait &wait) const;

  /// Puts `command` behind the command before it in its lane.
  void begin(uint32_t command);

  /// Puts `command` behind `earlier` of all ranks that differ within `scope`.
  void wait(uint32_t command, uint32_t earlier, Scope scope);

  /// Whether `earlier` ends before `command` begins, on every pair of ranks that differ within `scope`,
  /// wherever all others are. If it does in a scope, it does in each that is a part of that, and on each rank
  /// alone.
  bool before(uint32_t earlier, uint32_t command, Scope scope) const;

private:
  uint32_t *clock(uint32_t command, Scope scope) {
    return &clocks[(size_t(command) * scopeCount + scope) * lanes];
  }
  const uint32_t *clock(uint32_t command, Scope scope) const {
    return const_cast<Order *>(this)->clock(command, scope);
  }

  size_t lanes;
  size_t scopeCount;
  std::vector<Scope> scopes;      // of each communicator
  std::vector<uint32_t> lane;     // of each command
  std::vector<uint32_t> position; // of each command in its lane, from 1
  std::vector<int64_t> previous;  // of each command in its lane, or -1
  /// For each command and scope, how many commands of each lane, on a rank that differs in exactly these
  /// axes, end before the command begins. A larger scope never has a larger count.
  std::vector<uint32_t> clocks;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_ORDER_H
