#include "runtime/plan/model/LaunchLists.h"

#include "runtime/plan/model/Access.h"

#include <algorithm>
#include <limits>
#include <map>

namespace epl::runtime {
namespace {

/// Bytes of slots and of the arena, as disjoint ranges.
class Bytes {
public:
  using Position = std::pair<int32_t, uint64_t>; // slot or -1, and offset

  bool meet(Position begin, uint64_t size) const {
    auto next = ranges.lower_bound(begin);
    if (next != ranges.end() && next->first.first == begin.first && next->first.second < begin.second + size)
      return true;
    return next != ranges.begin() && reaches(std::prev(next), begin);
  }
  void add(Position begin, uint64_t size) {
    uint64_t end = begin.second + size;
    auto next = ranges.lower_bound(begin);
    if (next != ranges.begin() && reaches(std::prev(next), begin))
      begin = (--next)->first;
    while (next != ranges.end() && next->first.first == begin.first && next->first.second <= end) {
      end = std::max(end, next->second);
      next = ranges.erase(next);
    }
    ranges.emplace(begin, end);
  }

private:
  using Ranges = std::map<Position, uint64_t>; // begins and ends
  static bool reaches(Ranges::const_iterator range, Position position) {
    return range->first.first == position.first && range->second > position.second;
  }

  Ranges ranges;
};

/// A list that grows.
class List {
public:
  List(const plan::PlanT &plan, const Mesh &mesh) : plan(plan), mesh(mesh) {}

  const std::vector<uint32_t> &commands() const { return members; }
  bool canTake(uint32_t command) const {
    return members.empty() || (haveOneCode(*kernelOf(command), *kernelOf(members.front())) &&
                               blocks + blocksOf(command) <= kMostBlocks && touchesNoMember(command));
  }
  void take(uint32_t command) {
    members.push_back(command);
    blocks += blocksOf(command);
    for (const Access &access : accessesOf(plan, mesh, *plan.commands[command]))
      for (const ByteRange &range : access.ranges)
        (access.write ? written : read).add(position(access, range), range.end - range.begin);
  }
  void clear() {
    members.clear();
    blocks = 0;
    read = written = {};
  }

private:
  static constexpr uint64_t kMostBlocks = std::numeric_limits<int32_t>::max();

  const plan::KernelT *kernelOf(uint32_t command) const {
    return plan.kernels[plan.commands[command]->action.AsLaunch()->kernel].get();
  }
  /// Of the phase that has most.
  uint64_t blocksOf(uint32_t command) const {
    uint64_t most = 0;
    for (const auto &grid : kernelOf(command)->grids)
      most = std::max<uint64_t>(most, grid->blocks);
    return most;
  }
  static bool haveOneCode(const plan::KernelT &a, const plan::KernelT &b) {
    return a.symbol == b.symbol && std::ranges::equal(a.grids, b.grids, [](const auto &x, const auto &y) {
             return x->threads == y->threads && x->shared == y->shared;
           });
  }
  bool touchesNoMember(uint32_t command) const {
    for (const Access &access : accessesOf(plan, mesh, *plan.commands[command]))
      for (const ByteRange &range : access.ranges) {
        Bytes::Position begin = position(access, range);
        uint64_t size = range.end - range.begin;
        if (written.meet(begin, size) || (access.write && read.meet(begin, size)))
          return false;
      }
    return true;
  }
  Bytes::Position position(const Access &access, const ByteRange &range) const {
    BufferPlace place = placeOf(plan, access.buffer);
    return {place.slot, place.offset + range.begin};
  }

  const plan::PlanT &plan;
  const Mesh &mesh;
  std::vector<uint32_t> members;
  uint64_t blocks = 0;
  Bytes read, written;
};

/// Of each command, the place of the first one that waits for it.
std::vector<size_t> firstWaiters(const plan::PlanT &plan, std::span<const size_t> places) {
  std::vector<size_t> first(plan.commands.size(), std::numeric_limits<size_t>::max());
  for (size_t command = 0; command < plan.commands.size(); ++command)
    for (const plan::Wait &wait : plan.commands[command]->waits)
      first[wait.command()] = std::min(first[wait.command()], places[command]);
  return first;
}

/// Whether a command is a launch of which all phases have something to do, whatever a library does.
bool isCode(const plan::PlanT &plan, uint32_t command) {
  const plan::LaunchT *launch = plan.commands[command]->action.AsLaunch();
  if (!launch || plan.commands[command]->attention >= 0)
    return false;
  const auto &grids = plan.kernels[launch->kernel]->grids;
  return !grids.empty() && std::ranges::all_of(grids, [](const auto &grid) { return grid->extent > 0; });
}

} // namespace

std::vector<std::vector<uint32_t>> findLaunchLists(const plan::PlanT &plan, const Mesh &mesh,
                                                   std::span<const size_t> places) {
  std::vector<std::vector<uint32_t>> lists;
  std::vector<size_t> waiters = firstWaiters(plan, places);
  for (const auto &lane : plan.lanes) {
    List list(plan, mesh);
    size_t waiter = std::numeric_limits<size_t>::max(); // the first one of a command of the list
    auto close = [&] {
      if (list.commands().size() > 1)
        lists.push_back(list.commands());
      list.clear();
      waiter = std::numeric_limits<size_t>::max();
    };
    for (uint32_t command : lane->commands) {
      bool isLaunch = isCode(plan, command);
      if (!isLaunch || waiter <= places[command] || !list.canTake(command))
        close();
      if (!isLaunch)
        continue;
      list.take(command);
      waiter = std::min(waiter, waiters[command]);
    }
    close();
  }
  return lists;
}

} // namespace epl::runtime
