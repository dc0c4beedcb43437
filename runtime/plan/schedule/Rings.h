// For how many messages a channel of a pipeline has room.
//
// Problem: a message takes a place in its channel from the end of the unit that sends it until it is
// received. If there are too few places a send waits. The thread of its mesh goes on with the next unit
// meanwhile, so that all that the mesh sends is late by that unit. Places that nobody needs take memory.
// Method: the table is simulated; each send finds room that was made before its unit ended. Room that is made
// at that very moment is none, as it is chance which of the two meshes comes first.
//
// A unit need not begin for its messages to be received. They are, in their order, when they are there,
// unless the mesh
// - has not ended the unit before the previous one, which may use the memory that they go to (Builder.h);
// - does the previous one: threads receive between units. That holds for what comes just as it begins, too.
//
// Invariant: each send is strictly behind the receive that makes room for it, so rings add no circle to what
// commands wait for.

#ifndef EPL_RUNTIME_PLAN_SCHEDULE_RINGS_H
#define EPL_RUNTIME_PLAN_SCHEDULE_RINGS_H

#include "runtime/plan/schedule/Simulate.h"

#include <map>
#include <utility>

namespace epl::runtime::schedule {

class Rings {
public:
  /// `work` needs what it receives, no more, in the order in which a unit receives.
  Rings(const Table &table, const Work &work);

  /// The fewest places with which no send waits, of a channel from one unit of each micro-batch to one that
  /// needs it.
  uint32_t depth(Unit sender, Unit receiver) const;

private:
  void addLane(const std::vector<Span> &lane, const Work &work);

  std::map<Unit, double> ends;                      // of units
  std::map<std::pair<Unit, Unit>, double> received; // when the second one of two has what the first one sends
  uint32_t microBatches;
};

} // namespace epl::runtime::schedule

#endif // EPL_RUNTIME_PLAN_SCHEDULE_RINGS_H
