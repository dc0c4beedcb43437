// Of the accesses of a place in memory, those that order needs.

#ifndef EPL_RUNTIME_PLAN_BUILD_FRONTIER_H
#define EPL_RUNTIME_PLAN_BUILD_FRONTIER_H

#include "runtime/plan/model/Order.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace epl::runtime {

/// An access reduced to what order needs: the command, and the ranks whose memory it is in.
struct Touch {
  uint32_t command;
  Scope scope;
};

/// Of the touches of one lane and scope, those that order needs: what the outermost one is ordered with, the
/// others are too. The next is for the command that has the outermost one itself.
struct Extreme {
  uint32_t lane;
  Scope scope;
  uint32_t outermost;
  uint32_t next;
};

/// The last touches, or the first ones, of each lane and scope; as many as these at most, whatever is added.
class Frontier {
public:
  explicit Frontier(bool last) : last(last) {}

  bool empty() const { return extremes.empty(); }

  void add(uint32_t lane, Touch touch) {
    auto found = std::ranges::find_if(
        extremes, [&](const Extreme &each) { return each.lane == lane && each.scope == touch.scope; });
    if (found == extremes.end())
      extremes.push_back({lane, touch.scope, touch.command, touch.command});
    else if (touch.command != found->outermost && touch.command != found->next)
      insert(*found, touch.command);
  }

  void add(const Frontier &other) {
    for (const Extreme &each : other.extremes)
      for (uint32_t command : {each.outermost, each.next})
        add(each.lane, {command, each.scope});
  }

  /// The command that is the outermost one of all lanes.
  uint32_t extreme() const {
    uint32_t result = extremes.front().outermost;
    for (const Extreme &each : extremes)
      result = isOutside(each.outermost, result) ? each.outermost : result;
    return result;
  }

  template <typename Holds> bool allOf(const Holds &holds) const {
    return std::ranges::all_of(extremes,
                               [&](const Extreme &each) { return holds(Touch{each.outermost, each.scope}); });
  }

  /// The same for all touches of commands other than `command`.
  template <typename Holds> bool allOthers(uint32_t command, const Holds &holds) const {
    return std::ranges::all_of(extremes, [&](const Extreme &each) {
      uint32_t other = each.outermost == command ? each.next : each.outermost;
      return other == command || holds(Touch{other, each.scope});
    });
  }

  const std::vector<Extreme> &each() const { return extremes; }

private:
  bool isOutside(uint32_t a, uint32_t b) const { return last ? a > b : a < b; }

  void insert(Extreme &extreme, uint32_t command) {
    if (isOutside(command, extreme.outermost))
      extreme.next = std::exchange(extreme.outermost, command);
    else if (extreme.next == extreme.outermost || isOutside(command, extreme.next))
      extreme.next = command;
  }

  bool last;
  std::vector<Extreme> extremes;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_BUILD_FRONTIER_H
