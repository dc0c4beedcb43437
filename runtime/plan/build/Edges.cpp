#include "runtime/plan/build/Edges.h"

#include "runtime/plan/model/Access.h"
#include "runtime/plan/model/Order.h"
#include "runtime/plan/model/SharedStates.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

namespace epl::runtime {
namespace {

/// A command's access to bytes, without its ranges: the bytes say where it is.
struct Touch {
  Touch(uint32_t command, const Access &access)
      : command(command), communicator(access.communicator), count(access.count),
        elementBytes(access.elementBytes), offset(access.offset), extent(access.extent), write(access.write),
        remote(access.remote) {}

  uint32_t command;
  uint32_t communicator;
  int64_t count;
  uint64_t elementBytes;
  uint64_t offset;
  Extent extent;
  bool write, remote;
};

/// Whether two touches of the same bytes are parts of one cut.
bool areOfOneCut(const Touch &a, const Touch &b) {
  return a.extent != Extent::ranges && b.extent != Extent::ranges && a.communicator == b.communicator &&
         a.count == b.count && a.elementBytes == b.elementBytes && a.offset == b.offset;
}

/// Whether two touches of the same bytes may meet in the memory of some rank.
bool mayMeet(const Touch &a, const Touch &b) { return !areOfOneCut(a, b) || a.extent == b.extent; }

/// The touches of adjacent bytes that later ones must wait for.
struct Segment {
  uint64_t end;
  std::vector<Touch> writes, reads;
};

/// The touches of one buffer by bytes. A write stands for the earlier touches of what it writes: it waits for
/// them, and whoever would conflict with them waits for it.
class TouchMap {
public:
  /// Calls `visit` with each touch that `access` conflicts with, then adds it.
  template <typename Visit> void add(uint32_t command, const Access &access, const Visit &visit) {
    for (ByteRange bytes : access.ranges)
      addRange({command, access}, {access.offset + bytes.begin, access.offset + bytes.end}, visit);
    if (access.extent != Extent::ranges)
      addRange({command, access},
               {access.offset, access.offset + uint64_t(access.count) * access.elementBytes}, visit);
  }

private:
  template <typename Visit> void addRange(const Touch &touch, ByteRange bytes, const Visit &visit) {
    fill(bytes);
    for (auto it = segments.find(bytes.begin); it != segments.end() && it->first < bytes.end; ++it) {
      Segment &segment = it->second;
      visitConflicts(segment.writes, touch, visit);
      if (!touch.write) {
        segment.reads.push_back(touch);
        continue;
      }
      visitConflicts(segment.reads, touch, visit);
      auto stands = [&](const Touch &earlier) { return standsFor(touch, earlier); };
      std::erase_if(segment.writes, stands);
      std::erase_if(segment.reads, stands);
      segment.writes.push_back(touch);
    }
  }

  template <typename Visit>
  static void visitConflicts(const std::vector<Touch> &touches, const Touch &later, const Visit &visit) {
    for (const Touch &earlier : touches)
      if (earlier.command != later.command && mayMeet(earlier, later))
        visit(earlier);
  }

  static bool standsFor(const Touch &write, const Touch &earlier) {
    return earlier.command != write.command &&
           (write.extent == Extent::ranges ||
            (areOfOneCut(write, earlier) && write.extent == earlier.extent));
  }

  /// Makes segments that begin and end where `bytes` does, and none between them missing.
  void fill(ByteRange bytes) {
    if (bytes.begin == bytes.end)
      return;
    split(bytes.begin);
    split(bytes.end);
    uint64_t at = bytes.begin;
    for (auto it = segments.lower_bound(at); at < bytes.end; ++it) {
      uint64_t next = it == segments.end() ? bytes.end : std::min(it->first, bytes.end);
      if (at < next)
        it = segments.emplace_hint(it, at, Segment{next, {}, {}});
      at = it->second.end;
    }
  }

  void split(uint64_t at) {
    auto it = segments.lower_bound(at);
    if (it == segments.begin() || std::prev(it)->second.end <= at)
      return;
    Segment tail = std::prev(it)->second;
    std::prev(it)->second.end = at;
    segments.emplace_hint(it, at, std::move(tail));
  }

  std::map<uint64_t, Segment> segments;
};

/// The wait that puts one access behind an earlier one to the same memory. At most one of the two is remote:
/// only reads are. The instance that it belongs to may be any member's, so all members' are waited for.
plan::Wait waitFor(const Touch &earlier, const Access &later) {
  if (earlier.remote)
    return {earlier.command, plan::WaitScope::members, earlier.communicator};
  if (later.remote)
    return {earlier.command, plan::WaitScope::members, later.communicator};
  return {earlier.command, plan::WaitScope::self, 0};
}

auto key(const plan::Wait &wait) { return std::tuple(wait.command(), wait.scope(), wait.communicator()); }

void sortWaits(std::vector<plan::Wait> &waits) {
  std::ranges::sort(waits, {}, key);
  auto repeated = std::ranges::unique(waits, {}, key);
  waits.erase(repeated.begin(), repeated.end());
}

/// Has the owner of a state that all ranks hold alike write it behind what the others read of the old value.
void orderSharedStates(plan::PlanT &plan) {
  for (const SharedState &state : sharedStatesOf(plan))
    for (uint32_t write : state.writes) {
      std::vector<plan::Wait> &waits = plan.commands[write]->waits;
      for (uint32_t read : state.earlierReads)
        waits.emplace_back(read, plan::WaitScope::members, state.communicator);
      sortWaits(waits);
    }
}

/// The waits of `command` that neither its lane nor the others imply. A later command may imply an earlier
/// one and a wide scope a narrow one, never the reverse, so one pass from the strongest finds them all.
std::vector<plan::Wait> neededWaits(const plan::PlanT &plan, uint32_t command, Order &order) {
  std::vector<plan::Wait> waits = plan.commands[command]->waits, needed;
  std::ranges::sort(waits, std::greater(), [&](const plan::Wait &wait) {
    return std::pair(wait.command(), std::popcount(order.scopeOf(wait)));
  });
  order.begin(command);
  for (const plan::Wait &wait : waits) {
    Scope scope = order.scopeOf(wait);
    if (order.before(wait.command(), command, scope))
      continue;
    order.wait(command, wait.command(), scope);
    needed.push_back(wait);
  }
  return needed;
}

} // namespace

uint64_t addEdges(plan::PlanT &plan) {
  Mesh mesh(plan);
  uint64_t conflicts = 0;
  std::vector<TouchMap> touches(plan.buffers.size());
  for (uint32_t command = 0; command < plan.commands.size(); ++command) {
    std::vector<plan::Wait> &waits = plan.commands[command]->waits;
    for (const Access &access : accessesOf(plan, mesh, *plan.commands[command]))
      touches[access.root].add(command, access, [&](const Touch &earlier) {
        waits.push_back(waitFor(earlier, access));
        ++conflicts;
      });
    sortWaits(waits);
  }
  orderSharedStates(plan);
  return conflicts;
}

void elideEdges(plan::PlanT &plan) {
  Order order(plan);
  for (uint32_t command = 0; command < plan.commands.size(); ++command) {
    plan.commands[command]->waits = neededWaits(plan, command, order);
    sortWaits(plan.commands[command]->waits);
  }
}

} // namespace epl::runtime
