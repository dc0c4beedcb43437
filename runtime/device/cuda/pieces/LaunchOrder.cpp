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

  /// A launch, and the places of those that it needs, ascending.
  struct Needing {
    Launch launch;
    std::vector<uint32_t> needs;
  };
  /// The launches that come next, of which none needs another one: one, or partners.
  void add(std::vector<Needing> launches) {
    std::vector<Found> each;
    std::vector<uint32_t> all;
    size_t numWaits = 0;
    for (const Needing &next : launches) {
      each.push_back(find(next.needs, clockOf(next.launch.stream)));
      numWaits += each.back().waits.size();
      all.insert(all.end(), next.needs.begin(), next.needs.end());
    }
    makeUnique(all);
    Found gate = find(all, clockOf(launches.front().launch.stream));
    // The others' waits for it, and its own event, count, too.
    bool hasGate = gate.waits.size() + launches.size() < numWaits;
    auto place = uint32_t(order.launches.size());
    for (size_t i = 0; i < launches.size(); ++i) {
      Launch &launch = launches[i].launch;
      launch.isGate = hasGate && i == 0;
      launch.gate = hasGate && i > 0 ? place : kNowhere;
      if (launch.gate != kNowhere)
        each[i] = {{}, latest(clockOf(launch.stream), gate.clock)};
      Found found = launch.isGate ? gate : std::move(each[i]);
      add(std::move(launch), std::move(found));
    }
  }
  void end() {
    std::vector<uint32_t> all;
    for (uint32_t place : last)
      if (place != kNowhere)
        all.push_back(place);
    std::ranges::sort(all);
    order.ends = find(all, origin == kNowhere ? Clock(last.size()) : clockOf(origin)).waits;
    markAwaited(order.ends);
  }

private:
  using Clock = std::vector<uint32_t>;
  /// What a launch waits for, and what is before it then.
  struct Found {
    std::vector<uint32_t> waits;
    Clock clock;
  };

  static Clock latest(Clock clock, const Clock &other) {
    std::ranges::transform(clock, other, clock.begin(),
                           [](uint32_t a, uint32_t b) { return std::max(a, b); });
    return clock;
  }
  /// Of what comes next on a stream.
  Clock clockOf(uint32_t stream) const {
    return last[stream] == kNowhere ? Clock(last.size()) : clocks[last[stream]];
  }
  /// The last ones may be behind the others.
  Found find(std::span<const uint32_t> needs, Clock clock) const {
    std::vector<uint32_t> waits;
    for (size_t i = needs.size(); i-- > 0;) {
      uint32_t stream = order.launches[needs[i]].stream;
      const Clock &other = clocks[needs[i]];
      if (clock[stream] >= other[stream])
        continue;
      waits.push_back(needs[i]);
      clock = latest(std::move(clock), other);
    }
    return {std::move(waits), std::move(clock)};
  }
  void markAwaited(std::span<const uint32_t> waits) {
    for (uint32_t wait : waits)
      order.launches[wait].isAwaited = true;
  }
  void add(Launch launch, Found found) {
    markAwaited(found.waits);
    bool isFirst = last[launch.stream] == kNowhere;
    launch.awaitsBegin = isFirst && found.waits.empty() && launch.gate == kNowhere && launch.stream != origin;
    order.isBeginAwaited |= launch.awaitsBegin;
    launch.waits = std::move(found.waits);
    ++found.clock[launch.stream];
    last[launch.stream] = uint32_t(order.launches.size());
    clocks.push_back(std::move(found.clock));
    order.launches.push_back(std::move(launch));
  }

  LaunchOrder &order;
  uint32_t origin;
  std::vector<uint32_t> last; // place, of each stream
  std::vector<Clock> clocks;  // of each launch, itself included
};

/// Whether launches are partners in a transfer.
bool arePartners(std::span<const StepNode> nodes, const Launch &one, const Launch &other) {
  const std::vector<uint32_t> &partners = nodes[one.nodes.front()].partners;
  return std::ranges::find(partners, other.nodes.front()) != partners.end();
}

} // namespace

LaunchOrder orderLaunches(std::span<const StepNode> nodes, const Launches &grouped, uint32_t origin) {
  uint32_t streams = origin == kNowhere ? 0 : origin + 1;
  for (const StepNode &node : nodes)
    streams = std::max(streams, node.stream + 1);
  Needs found = findNeeds(nodes, grouped);
  std::vector<uint32_t> numbers = orderUnits(found, findUnits(nodes, found.launches));
  std::vector<uint32_t> places(numbers.size());
  for (uint32_t place = 0; place < numbers.size(); ++place)
    places[numbers[place]] = place;
  LaunchOrder order;
  WaitFinder finder(order, streams, origin);
  std::vector<WaitFinder::Needing> next;
  for (uint32_t number : numbers) {
    if (!next.empty() && !arePartners(nodes, next.front().launch, found.launches[number]))
      finder.add(std::exchange(next, {}));
    std::vector<uint32_t> needs;
    for (uint32_t need : found.needs[number])
      needs.push_back(places[need]);
    std::ranges::sort(needs);
    next.push_back({std::move(found.launches[number]), std::move(needs)});
  }
  if (!next.empty())
    finder.add(std::move(next));
  finder.end();
  return order;
}

} // namespace epl::runtime::cuda
