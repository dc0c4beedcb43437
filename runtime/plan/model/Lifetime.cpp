#include "runtime/plan/model/Lifetime.h"

#include "runtime/plan/model/Access.h"

#include <algorithm>
#include <set>

namespace epl::runtime {

std::vector<Lifetime> lifetimesOf(const plan::PlanT &plan) {
  constexpr uint32_t never = UINT32_MAX;
  std::vector<Lifetime> all;
  all.reserve(plan.buffers.size());
  for (uint32_t buffer = 0; buffer < plan.buffers.size(); ++buffer)
    all.push_back({buffer, never, 0});
  Mesh mesh(plan);
  for (uint32_t command = 0; command < plan.commands.size(); ++command)
    for (const Access &access : accessesOf(plan, mesh, *plan.commands[command])) {
      Lifetime &lifetime = all[access.root];
      lifetime.first = std::min(lifetime.first, command);
      lifetime.last = command;
    }
  std::erase_if(all, [&](const Lifetime &lifetime) {
    return plan.buffers[lifetime.buffer]->slot >= 0 || lifetime.first == never;
  });
  return all;
}

namespace {

/// The buffers in use, by their place in the arena.
class LiveSet {
public:
  explicit LiveSet(const plan::PlanT &plan) : plan(plan) {}

  void insert(uint32_t buffer) { places.insert({plan.buffers[buffer]->offset, buffer}); }
  void erase(uint32_t buffer) { places.erase({plan.buffers[buffer]->offset, buffer}); }

  uint64_t bytes() const {
    uint64_t total = 0, end = 0;
    for (auto [offset, buffer] : places) {
      uint64_t last = offset + plan.buffers[buffer]->size;
      total += last - std::min(last, std::max(offset, end));
      end = std::max(end, last);
    }
    return total;
  }

private:
  const plan::PlanT &plan;
  std::set<std::pair<uint64_t, uint32_t>> places; // offset, buffer
};

} // namespace

Peak peakOf(const plan::PlanT &plan) {
  std::vector<Lifetime> all = lifetimesOf(plan);
  std::vector<std::vector<uint32_t>> begins(plan.commands.size()), ends(plan.commands.size());
  for (const Lifetime &lifetime : all) {
    begins[lifetime.first].push_back(lifetime.buffer);
    ends[lifetime.last].push_back(lifetime.buffer);
  }
  Peak peak;
  LiveSet live(plan);
  for (uint32_t command = 0; command < plan.commands.size(); ++command) {
    for (uint32_t buffer : begins[command])
      live.insert(buffer);
    if (uint64_t bytes = live.bytes(); bytes > peak.bytes) {
      peak.command = command;
      peak.bytes = bytes;
    }
    for (uint32_t buffer : ends[command])
      live.erase(buffer);
  }
  std::copy_if(all.begin(), all.end(), std::back_inserter(peak.live), [&](const Lifetime &lifetime) {
    return lifetime.first <= peak.command && peak.command <= lifetime.last;
  });
  return peak;
}

} // namespace epl::runtime
