#include "runtime/plan/schedule/Rings.h"

#include <algorithm>
#include <utility>

namespace epl::runtime::schedule {

Rings::Rings(const Table &table, const Work &work) : microBatches(extentsOf(table).microBatches) {
  Run run = simulate(table, {}, work);
  for (const std::vector<Span> &lane : run.spans)
    for (const Span &span : lane)
      ends[span.unit] = span.end;
  for (const std::vector<Span> &lane : run.spans)
    addLane(lane, work);
}

/// Messages are received in the order of the units that do.
void Rings::addLane(const std::vector<Span> &lane, const Work &work) {
  Span previous = {}, beforePrevious = {};
  double time = 0;
  for (const Span &span : lane) {
    if (!work.has(span.unit))
      continue;
    for (Unit sender : work.needs(span.unit)) {
      double sent = ends.at(sender);
      time = std::max({time, sent, sent < previous.begin ? beforePrevious.end : previous.end});
      received[{sender, span.unit}] = time;
    }
    beforePrevious = std::exchange(previous, span);
  }
}

uint32_t Rings::depth(Unit sender, Unit receiver) const {
  auto at = [](Unit unit, uint32_t microBatch) { return Unit{unit.stage, unit.kind, microBatch}; };
  uint32_t depth = 1;
  for (uint32_t sent = 1; sent < microBatches; ++sent)
    while (sent >= depth &&
           received.at({at(sender, sent - depth), at(receiver, sent - depth)}) >= ends.at(at(sender, sent)))
      ++depth;
  return depth;
}

} // namespace epl::runtime::schedule
