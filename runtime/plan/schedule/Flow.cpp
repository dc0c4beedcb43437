#include "runtime/plan/schedule/Flow.h"

#include <algorithm>
#include <map>
#include <optional>

namespace epl::runtime::schedule {

Flow::Flow(const Table &table) {
  for (const std::vector<Unit> &lane : table)
    for (Unit unit : lane) {
      kinds.resize(std::max(kinds.size(), size_t(unit.stage) + 1));
      kinds[unit.stage][static_cast<uint8_t>(unit.kind)] = true;
      microBatches = std::max(microBatches, size_t(unit.microBatch) + 1);
    }
}

std::vector<Unit> Flow::needs(Unit unit) const {
  auto [stage, kind, microBatch] = unit;
  if (kind == Kind::weight)
    return {{stage, Kind::input, microBatch}};
  if (kind == Kind::forward)
    return stage == 0 ? std::vector<Unit>() : std::vector<Unit>{{stage - 1, Kind::forward, microBatch}};
  std::vector<Unit> needs = {{stage, Kind::forward, microBatch}};
  if (stage + 1 < kinds.size())
    needs.push_back({stage + 1, has(stage + 1, Kind::backward) ? Kind::backward : Kind::input, microBatch});
  return needs;
}

bool Flow::isLast(Unit unit) const {
  return unit.kind == Kind::backward || unit.kind == Kind::weight ||
         (unit.kind == Kind::input && !has(unit.stage, Kind::weight));
}

namespace {

/// A lane stops before a unit that needs one which is not done, and goes on when that one is: so the walk
/// looks at each unit a few times, whatever the lanes wait for.
class Walk {
public:
  using Visit = std::function<void(size_t, Unit)>;

  Walk(const Table &table, const Flow &flow, const Needs &needs, const Visit &visit)
      : table(table), flow(flow), needs(needs), visit(visit), counts(table.size()), done(flow.size()) {}

  std::vector<size_t> run() {
    for (size_t mesh = 0; mesh < table.size(); ++mesh)
      going.push_back(mesh);
    while (!going.empty()) {
      size_t mesh = going.back();
      going.pop_back();
      go(mesh);
    }
    return counts;
  }

private:
  void go(size_t mesh) {
    for (size_t &at = counts[mesh]; at < table[mesh].size(); ++at) {
      Unit unit = table[mesh][at];
      if (std::optional<Unit> need = findMissing(unit)) {
        waiting.emplace(flow.number(*need), mesh);
        return;
      }
      visit(mesh, unit);
      done[flow.number(unit)] = true;
      wake(flow.number(unit));
    }
  }

  std::optional<Unit> findMissing(Unit unit) const {
    for (Unit need : needs(unit))
      if (!done[flow.number(need)])
        return need;
    return {};
  }

  void wake(size_t number) {
    auto [begin, end] = waiting.equal_range(number);
    for (auto at = begin; at != end; ++at)
      going.push_back(at->second);
    waiting.erase(begin, end);
  }

  const Table &table;
  const Flow &flow;
  const Needs &needs;
  const Visit &visit;
  std::vector<size_t> counts, going;     // units done of each lane; lanes that may go on
  std::vector<bool> done;                // units by number
  std::multimap<size_t, size_t> waiting; // the lanes that wait for a unit
};

} // namespace

std::vector<size_t> walk(const Table &table, const Flow &flow,
                         const std::function<void(size_t, Unit)> &visit) {
  return walk(table, flow, [&](Unit unit) { return flow.needs(unit); }, visit);
}

std::vector<size_t> walk(const Table &table, const Flow &flow, const Needs &needs,
                         const std::function<void(size_t, Unit)> &visit) {
  return Walk(table, flow, needs, visit).run();
}

} // namespace epl::runtime::schedule
