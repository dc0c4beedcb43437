#include "runtime/device/cuda/pieces/LaunchOrder.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <queue>

namespace epl::runtime::cuda {
namespace {

void makeUnique(std::vector<uint32_t> &numbers) {
  std::ranges::sort(numbers);
  numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
}

/// The launches, and of each those that it needs, by their numbers.
struct Needs {
  std::vector<Launch> launches;
  std::vector<std::vector<uint32_t>> needs;
};

/// Through nodes that have no launch.
Needs findNeeds(std::span<const StepNode> nodes, const Launches &grouped) {
  Needs found{std::vector<Launch>(grouped.isGraph.size()), {}};
  found.needs.resize(grouped.isGraph.size());
  std::vector<std::vector<uint32_t>> through(nodes.size()); // of those nodes
  for (uint32_t number = 0; number < nodes.size(); ++number) {
    const StepNode &node = nodes[number];
    uint32_t own = grouped.ofNode[number];
    std::vector<uint32_t> &needs = own == kNowhere ? through[number] : found.needs[own];
    for (uint32_t need : node.needs)
      if (uint32_t launch = grouped.ofNode[need]; launch == kNowhere)
        needs.insert(needs.end(), through[need].begin(), through[need].end());
      else
        needs.push_back(launch);
    makeUnique(needs);
    if (own == kNowhere)
      continue;
    std::erase(needs, own); // nodes of a piece
    Launch &launch = found.launches[own];
    if (launch.nodes.empty())
      launch.isGraph = grouped.isGraph[own], launch.isTransfer = node.isTransfer(),
      launch.stream = node.stream, launch.card = node.card;
    launch.nodes.push_back(number);
  }
  return found;
}

/// What the host enqueues at once, by the number of its first launch: a launch, or the transfers of a
/// command.
std::vector<uint32_t> findUnits(std::span<const StepNode> nodes, const std::vector<Launch> &launches) {
  std::vector<uint32_t> units(launches.size());
  for (uint32_t number = 0; number < launches.size(); ++number) {
    bool isNext =
        number > 0 && launches[number].isTransfer && launches[number - 1].isTransfer &&
        nodes[launches[number].nodes.front()].item == nodes[launches[number - 1].nodes.front()].item;
    units[number] = isNext ? units[number - 1] : number;
  }
  return units;
}

/// All units behind those that they need, of several the first one first; transfers in their own order, which
/// is one in all processes.
std::vector<uint32_t> orderUnits(const Needs &found, const std::vector<uint32_t> &units) {
  std::vector<std::vector<uint32_t>> followers(units.size()), members(units.size());
  std::vector<uint32_t> open(units.size()); // how many needs
  auto follow = [&](uint32_t before, uint32_t unit) {
    followers[before].push_back(unit);
    ++open[unit];
  };
  uint32_t transfer = kNowhere; // the unit before
  for (uint32_t number = 0; number < units.size(); ++number) {
    members[units[number]].push_back(number);
    for (uint32_t need : found.needs[number])
      follow(units[need], units[number]);
    if (found.launches[number].isTransfer && units[number] == number) {
      if (transfer != kNowhere)
        follow(transfer, number);
      transfer = number;
    }
  }
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (uint32_t unit = 0; unit < units.size(); ++unit)
    if (units[unit] == unit && open[unit] == 0)
      ready.push(unit);
  std::vector<uint32_t> order;
  while (!ready.empty()) {
    uint32_t unit = ready.top();
    ready.pop();
    order.insert(order.end(), members[unit].begin(), members[unit].end());
    for (uint32_t follower : followers[unit])
      if (--open[follower] == 0)
        ready.push(follower);
  }
  assert(order.size() == units.size() && "launches do not wait for each other");
  return order;
}

/// Finds which waits are needed, by vector clocks: of each launch how many of each stream are before it.
class WaitFinder {
public:
  WaitFinder(LaunchOrder &order, uint32_t streams, uint32_t origin)
      : order(order), origin(origin), last(streams, kNowhere) {}

  /// The launch that comes next, and the places of those that it needs, ascending.
  void add(Launch launch, std::span<const uint32_t> needs) {
    auto place = uint32_t(order.launches.size());
    Clock clock = clockOf(launch.stream);
    bool isFirst = last[launch.stream] == kNowhere;
    launch.waits = wait(needs, clock);
    launch.awaitsBegin = isFirst && launch.waits.empty() && launch.stream != origin;
    order.isBeginAwaited |= launch.awaitsBegin;
    ++clock[launch.stream];
    last[launch.stream] = place;
    clocks.push_back(std::move(clock));
    order.launches.push_back(std::move(launch));
  }
  void end() {
    std::vector<uint32_t> all;
    for (uint32_t place : last)
      if (place != kNowhere)
        all.push_back(place);
    std::ranges::sort(all);
    Clock clock = origin == kNowhere ? Clock(last.size()) : clockOf(origin);
    order.ends = wait(all, clock);
  }

private:
  using Clock = std::vector<uint32_t>;

  /// Of what comes next on a stream.
  Clock clockOf(uint32_t stream) const {
    return last[stream] == kNowhere ? Clock(last.size()) : clocks[last[stream]];
  }
  /// The last ones may be behind the others.
  std::vector<uint32_t> wait(std::span<const uint32_t> needs, Clock &clock) {
    std::vector<uint32_t> waits;
    for (size_t i = needs.size(); i-- > 0;) {
      uint32_t stream = order.launches[needs[i]].stream;
      const Clock &other = clocks[needs[i]];
      if (clock[stream] >= other[stream])
        continue;
      waits.push_back(needs[i]);
      order.launches[needs[i]].isAwaited = true;
      std::ranges::transform(clock, other, clock.begin(),
                             [](uint32_t a, uint32_t b) { return std::max(a, b); });
    }
    return waits;
  }

  LaunchOrder &order;
  uint32_t origin;
  std::vector<uint32_t> last; // place, of each stream
  std::vector<Clock> clocks;  // of each launch, itself included
};

} // namespace

LaunchOrder orderLaunches(std::span<const StepNode> nodes, const Launches &grouped, uint32_t origin) {
  uint32_t streams = origin == kNowhere ? 0 : origin + 1;
  for (const StepNode &node : nodes)
    streams = std::max(streams, node.stream + 1);
  Needs found = findNeeds(nodes, grouped);
  std::vector<uint32_t> numbers = orderUnits(found, findUnits(nodes, found.launches));
  std::vector<uint32_t> places(numbers.size());
  LaunchOrder order;
  WaitFinder finder(order, streams, origin);
  for (uint32_t place = 0; place < numbers.size(); ++place) {
    places[numbers[place]] = place;
    std::vector<uint32_t> needs;
    for (uint32_t need : found.needs[numbers[place]])
      needs.push_back(places[need]);
    std::ranges::sort(needs);
    finder.add(std::move(found.launches[numbers[place]]), needs);
  }
  finder.end();
  return order;
}

} // namespace epl::runtime::cuda
