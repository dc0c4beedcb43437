#include "runtime/plan/schedule/Simulate.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <numeric>
#include <set>

namespace epl::runtime::schedule {
namespace {

class Simulator {
public:
  Simulator(const Table &table, const Costs &costs, const Work &work)
      : table(table), costs(costs), work(work), flow(table), ends(flow.size()) {
    for (size_t mesh = 0; mesh < table.size(); ++mesh)
      for (Unit unit : table[mesh])
        meshes[unit.stage] = mesh;
  }

  Run run() {
    Run run;
    run.spans.resize(table.size());
    [[maybe_unused]] std::vector<size_t> counts =
        walk(table, flow, work.needs, [&](size_t mesh, Unit unit) { add(run.spans[mesh], mesh, unit); });
    for (size_t mesh = 0; mesh < table.size(); ++mesh) {
      assert(counts[mesh] == table[mesh].size() && "a table that ends");
      run.makespan = std::max(run.makespan, run.spans[mesh].back().end);
      run.kept.push_back(mostKept(done(table[mesh])));
    }
    for (const std::vector<Span> &spans : run.spans)
      run.idle.push_back(run.makespan - busy(spans));
    return run;
  }

private:
  void add(std::vector<Span> &spans, size_t mesh, Unit unit) {
    double begin = spans.empty() ? 0 : spans.back().end;
    for (Unit need : work.needs(unit))
      begin = std::max(begin, ends[flow.number(need)] + (meshes[need.stage] != mesh ? costs.link : 0));
    double end = begin + (work.has(unit) ? costOf(unit) : 0);
    ends[flow.number(unit)] = end;
    spans.push_back({unit, begin, end});
  }

  double costOf(Unit unit) const {
    switch (unit.kind) {
    case Kind::forward:
      return costs.forward;
    case Kind::backward:
      return costs.backward;
    case Kind::input:
      return flow.isLast(unit) ? costs.input + costs.weight : costs.input;
    case Kind::weight:
      return costs.weight;
    }
    return 0;
  }

  std::vector<Unit> done(std::vector<Unit> lane) const {
    std::erase_if(lane, [&](Unit unit) { return !work.has(unit); });
    return lane;
  }

  static double busy(const std::vector<Span> &spans) {
    return std::accumulate(spans.begin(), spans.end(), 0.0,
                           [](double sum, const Span &span) { return sum + (span.end - span.begin); });
  }

  const Table &table;
  const Costs &costs;
  const Work &work;
  Flow flow;
  std::vector<double> ends;          // of units by number
  std::map<uint32_t, size_t> meshes; // of each stage
};

} // namespace

double Run::bubble() const {
  return makespan > 0 ? std::accumulate(idle.begin(), idle.end(), 0.0) / (makespan * double(idle.size())) : 0;
}

Run simulate(const Table &table, const Costs &costs) {
  Flow flow(table);
  return simulate(table, costs,
                  {.has = [](Unit) { return true; }, .needs = [&](Unit unit) { return flow.needs(unit); }});
}

Run simulate(const Table &table, const Costs &costs, const Work &work) {
  return Simulator(table, costs, work).run();
}

uint32_t mostKept(const std::vector<Unit> &lane) {
  std::map<std::pair<uint32_t, uint32_t>, size_t> left; // units of a stage and micro-batch
  for (Unit unit : lane)
    ++left[{unit.stage, unit.microBatch}];
  std::set<std::pair<uint32_t, uint32_t>> kept;
  size_t most = 0;
  for (Unit unit : lane) {
    std::pair key(unit.stage, unit.microBatch);
    kept.insert(key);
    most = std::max(most, kept.size());
    if (--left[key] == 0)
      kept.erase(key);
  }
  return uint32_t(most);
}

} // namespace epl::runtime::schedule
