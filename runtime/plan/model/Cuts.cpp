#include "runtime/plan/model/Cuts.h"

#include <algorithm>

namespace epl::runtime {

bool implies(const Condition &condition, const Condition &other) {
  return std::ranges::includes(condition, other);
}

int64_t Cuts::cutOf(RankTest test) {
  auto [index, isNew] = rankIndices.try_emplace({test.communicator, test.member}, int64_t(cuts.size()));
  if (isNew)
    cuts.push_back({.ranks = RankTest{test.communicator, test.member, true}});
  return index->second;
}

/// Adds a literal; whether the condition may still hold.
static bool add(Condition &condition, Literal literal) {
  auto same = std::ranges::find(condition, literal.cut, &Literal::cut);
  if (same != condition.end())
    return same->side == literal.side;
  condition.insert(std::ranges::upper_bound(condition, literal), literal);
  return true;
}

std::optional<Condition> Cuts::conditionOf(const std::vector<RankTest> &tests) {
  Condition condition;
  for (const RankTest &test : tests) {
    bool isAlone = mesh.memberCount(test.communicator) == 1;
    if (isAlone ? !test.isMember
                : !add(condition, {cutOf(test), test.isMember ? Literal::Side::own : Literal::Side::other}))
      return std::nullopt;
  }
  return condition;
}

/// The condition of ranks, and the part that is touched.
std::optional<Condition> Cuts::conditionOf(const Access &access, uint64_t base, Condition ranks) {
  bool own = access.extent == Extent::ownPart;
  if (mesh.memberCount(access.communicator) == 1)
    return own ? std::optional(std::move(ranks)) : std::nullopt;
  auto [index, isNew] = indices.try_emplace({base, access.count, access.elementBytes, access.communicator},
                                            int64_t(cuts.size()));
  if (isNew) {
    cuts.push_back({base, access, std::nullopt});
    cuts.back().part.extent = Extent::ownPart;
    cuts.back().part.ranks.clear();
  }
  add(ranks, {index->second, own ? Literal::Side::own : Literal::Side::other});
  return ranks;
}

/// What of ascending ranges is in the rank's own part, or outside of it.
std::vector<ByteRange> Cuts::restrict(const std::vector<ByteRange> &ranges, Literal literal,
                                      uint32_t rank) const {
  const Cut &cut = cuts[size_t(literal.cut)];
  if (cut.ranks) {
    bool isMember = mesh.memberIndex(cut.ranks->communicator, rank) == cut.ranks->member;
    return isMember == (literal.side == Literal::Side::own) ? ranges : std::vector<ByteRange>();
  }
  ByteRange part{cut.begin, cut.begin};
  for (ByteRange own : rangesOf(cut.part, mesh, rank))
    part = {cut.begin + own.begin, cut.begin + own.end};
  std::vector<ByteRange> result;
  auto add = [&](uint64_t begin, uint64_t end) {
    if (begin < end)
      result.push_back({begin, end});
  };
  for (ByteRange range : ranges)
    if (literal.side == Literal::Side::own) {
      add(std::max(range.begin, part.begin), std::min(range.end, part.end));
    } else {
      add(range.begin, std::min(range.end, part.begin));
      add(std::max(range.begin, part.end), range.end);
    }
  return result;
}

std::optional<Place> Cuts::find(const Condition &condition, ByteRange bytes) const {
  for (uint32_t rank = 0; rank < mesh.devices(); ++rank) {
    std::vector<ByteRange> ranges{bytes};
    for (Literal literal : condition)
      ranges = restrict(ranges, literal, rank);
    if (!ranges.empty())
      return Place{rank, ranges.front()};
  }
  return std::nullopt;
}

bool Cuts::isPossible(const Condition &condition, ByteRange bytes) {
  if (condition.size() < 2)
    return true; // a byte is in the part of some member, and there are others
  auto [answer, isNew] = possible.try_emplace({bytes.begin, bytes.end, condition}, false);
  if (isNew)
    answer->second = find(condition, bytes).has_value();
  return answer->second;
}

} // namespace epl::runtime
