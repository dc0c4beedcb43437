// When each unit of a table runs, if units took as long as one says.
//
// Each mesh does its lane in order, each unit as soon as what it needs has ended, on another mesh a link's
// time later. Units are all that takes time on a mesh: links are never busy.

#ifndef EPL_RUNTIME_PLAN_SCHEDULE_SIMULATE_H
#define EPL_RUNTIME_PLAN_SCHEDULE_SIMULATE_H

#include "runtime/plan/schedule/Flow.h"

namespace epl::runtime::schedule {

/// Times of a unit of each kind and of a message to another mesh, in any unit of time.
struct Costs {
  double forward = 1;
  double backward = 2;
  double input = 1; // with that of `weight` if its stage has no W
  double weight = 1;
  double link = 0;
};

struct Span {
  Unit unit;
  double begin, end;
};

struct Run {
  double makespan = 0;                  // from the first unit's begin to the last one's end
  std::vector<std::vector<Span>> spans; // of each mesh, in the order of its lane
  std::vector<uint32_t> kept;           // what each mesh keeps at most (`mostKept`)
  std::vector<double> idle;             // of each mesh

  /// The share of the meshes' time in which they wait.
  double bubble() const;
};

/// Needs a table that passes `check`.
Run simulate(const Table &table, const Costs &costs = {});
/// The same of a program that does other work than all of the table by its flow, and comes to its end.
Run simulate(const Table &table, const Costs &costs, const Work &work);

/// Micro-batches of a stage whose first unit has begun and whose last one has not ended, at most, on a mesh
/// that does these units.
uint32_t mostKept(const std::vector<Unit> &lane);

} // namespace epl::runtime::schedule

#endif // EPL_RUNTIME_PLAN_SCHEDULE_SIMULATE_H
