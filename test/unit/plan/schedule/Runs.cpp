#include "Runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace epl::runtime::schedule::test {
namespace {

struct Place {
  size_t mesh;
  double end;
};

using Places = std::map<Unit, Place>;

/// When the unit is ready on a mesh by what it needs, if it needs `need` at all and there is such a unit.
void wait(const Places &places, Unit need, size_t mesh, double link, double &ready) {
  if (auto found = places.find(need); found != places.end())
    ready = std::max(ready, found->second.end + (found->second.mesh != mesh ? link : 0));
}

double readyTime(const Places &places, Unit unit, size_t mesh, double link) {
  auto [stage, kind, microBatch] = unit;
  double ready = 0;
  if (kind == Kind::forward && stage > 0)
    wait(places, {stage - 1, Kind::forward, microBatch}, mesh, link, ready);
  if (kind == Kind::weight)
    wait(places, {stage, Kind::input, microBatch}, mesh, link, ready);
  if (kind == Kind::backward || kind == Kind::input) {
    wait(places, {stage, Kind::forward, microBatch}, mesh, link, ready);
    wait(places, {stage + 1, Kind::backward, microBatch}, mesh, link, ready);
    wait(places, {stage + 1, Kind::input, microBatch}, mesh, link, ready);
  }
  return ready;
}

Places placesOf(const Run &run) {
  Places places;
  for (size_t mesh = 0; mesh < run.spans.size(); ++mesh)
    for (const Span &span : run.spans[mesh])
      places[span.unit] = {mesh, span.end};
  return places;
}

} // namespace

void expectRunOf(const Table &table, const Costs &costs, const Run &run) {
  Places places = placesOf(run);
  ASSERT_EQ(run.spans.size(), table.size());
  double last = 0;
  for (size_t mesh = 0; mesh < table.size(); ++mesh) {
    ASSERT_EQ(run.spans[mesh].size(), table[mesh].size());
    double free = 0, busy = 0;
    for (size_t i = 0; i < table[mesh].size(); ++i) {
      const Span &span = run.spans[mesh][i];
      EXPECT_EQ(span.unit, table[mesh][i]);
      EXPECT_EQ(span.begin, std::max(free, readyTime(places, span.unit, mesh, costs.link)));
      busy += span.end - span.begin;
      free = span.end;
    }
    EXPECT_NEAR(run.idle[mesh], run.makespan - busy, 1e-9);
    last = std::max(last, free);
  }
  EXPECT_EQ(run.makespan, last);
}

} // namespace epl::runtime::schedule::test
