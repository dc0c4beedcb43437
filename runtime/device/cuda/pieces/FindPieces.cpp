#include "runtime/device/cuda/pieces/FindPieces.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace epl::runtime::cuda {
namespace {

/// A number of each card.
using Clock = std::vector<uint32_t>;

void raise(Clock &clock, const Clock &other) {
  std::ranges::transform(clock, other, clock.begin(), [](uint32_t a, uint32_t b) { return std::max(a, b); });
}
void lower(Clock &clock, const Clock &other) {
  std::ranges::transform(clock, other, clock.begin(), [](uint32_t a, uint32_t b) { return std::min(a, b); });
}

uint32_t countCards(std::span<const StepNode> nodes) {
  uint32_t count = 0;
  for (const StepNode &node : nodes)
    count = std::max(count, node.card + 1);
  return count;
}

/// Of each node the last transfer that is before it, and 1: 0 is none. Before what follows it a transfer is
/// itself.
std::vector<Clock> findBefore(std::span<const StepNode> nodes, uint32_t cards) {
  std::vector<Clock> before(nodes.size(), Clock(cards));
  for (size_t number = 0; number < nodes.size(); ++number) {
    const StepNode &node = nodes[number];
    for (uint32_t need : node.needs)
      raise(before[number], before[need]);
    for (uint32_t partner : node.partners) {
      for (uint32_t need : nodes[partner].needs)
        raise(before[number], before[need]);
      before[number][nodes[partner].card] = partner + 1;
    }
  }
  return before;
}

/// Of each node the first transfer that is behind it; the number of nodes is none.
std::vector<Clock> findBehind(std::span<const StepNode> nodes, uint32_t cards) {
  std::vector<Clock> behind(nodes.size(), Clock(cards, uint32_t(nodes.size())));
  for (size_t number = nodes.size(); number-- > 0;) {
    const StepNode &node = nodes[number];
    Clock seen = behind[number]; // by what it needs
    for (uint32_t partner : node.partners)
      lower(seen, behind[partner]);
    for (uint32_t partner : node.partners)
      seen[nodes[partner].card] = partner;
    for (uint32_t need : node.needs)
      lower(behind[need], seen);
  }
  return behind;
}

} // namespace

std::vector<uint32_t> findPieces(std::span<const StepNode> nodes) {
  uint32_t cards = countCards(nodes);
  std::vector<Clock> before = findBefore(nodes, cards), behind = findBehind(nodes, cards);
  std::map<std::pair<Clock, Clock>, uint32_t> numbers;
  std::vector<uint32_t> pieces(nodes.size(), kNowhere);
  for (size_t number = 0; number < nodes.size(); ++number)
    if (!nodes[number].isTransfer())
      pieces[number] =
          numbers.try_emplace({std::move(before[number]), std::move(behind[number])}, numbers.size())
              .first->second;
  return pieces;
}

Launches joinPieces(std::span<const StepNode> nodes, std::span<const uint32_t> pieces, uint32_t most) {
  std::vector<uint32_t> sizes(nodes.size()), numbers(nodes.size(), kNowhere); // of pieces
  for (size_t node = 0; node < nodes.size(); ++node)
    if (pieces[node] != kNowhere && !nodes[node].isEmpty)
      ++sizes[pieces[node]];
  Launches launches{std::vector<uint32_t>(nodes.size(), kNowhere), {}};
  for (size_t node = 0; node < nodes.size(); ++node) {
    if (nodes[node].isEmpty)
      continue;
    bool isGraph = pieces[node] != kNowhere && sizes[pieces[node]] > most;
    uint32_t &number = isGraph ? numbers[pieces[node]] : launches.ofNode[node];
    if (number == kNowhere) {
      number = uint32_t(launches.isGraph.size());
      launches.isGraph.push_back(isGraph);
    }
    launches.ofNode[node] = number;
  }
  return launches;
}

Launches launchEach(std::span<const StepNode> nodes) {
  Launches launches{std::vector<uint32_t>(nodes.size()), std::vector<bool>(nodes.size())};
  std::iota(launches.ofNode.begin(), launches.ofNode.end(), 0U);
  return launches;
}

} // namespace epl::runtime::cuda
