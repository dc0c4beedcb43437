// A map from the bytes of all ranks to states, which holds once what is the same on all of them.
//
// Problem: a replay of a plan keeps a state for each byte of each rank, and nearly all ranks are alike.
// Method: adjacent bytes in one state are a segment; where ranks differ, it has a case for each class of
// bytes and ranks (Cuts.h) in a state of its own. What touches a class splits the cases that are partly in
// it; what is written takes the place of all cases in it, so that cases come together again:
//
//     written by a          reduced by b: own parts      gathered by c: the others    written by d
//     [ a               ]   [ own: b | other: a     ]    [ own: b | other: c     ]    [ d             ]
//
// Invariants: segments cover all bytes; the cases of a segment exclude each other, none is empty, and
// together they are all its bytes on all ranks; neighbours differ. Memory and time grow with what is touched,
// not with the number of ranks: a segment has two cases for each cut since it was last written as a whole. A
// touch adds at most two segments, and a write leaves one.

#ifndef EPL_RUNTIME_PLAN_MODEL_CASE_MAP_H
#define EPL_RUNTIME_PLAN_MODEL_CASE_MAP_H

#include "runtime/plan/model/Cuts.h"

#include <algorithm>
#include <cassert>

namespace epl::runtime {

/// Of one segment: bytes in parts of several all-reduces at once, of different members or tensors, none of
/// which wrote them, or in memory that as many owners use, each its own. The cases of a hostile plan would
/// double with each cut.
inline constexpr size_t maxCases = 128;

/// `State` is copied and compared.
template <typename State> class CaseMap {
public:
  struct Case {
    Condition condition;
    State state;

    bool operator==(const Case &) const = default;
  };

  /// Bytes [0, size), all in one state.
  CaseMap(Cuts &cuts, uint64_t size, State state = {}) : cuts(cuts) {
    segments[0] = {{{}, std::move(state)}};
    segments[size] = {};
  }

  /// Calls `visit` with each case in which `condition` holds, and its bytes. It may change the case's state.
  template <typename Visit> void visit(ByteRange bytes, const Condition &condition, const Visit &visit) {
    if (bytes.begin == bytes.end)
      return;
    auto last = split(bytes.end);
    for (auto it = split(bytes.begin); it != last; ++it) {
      refine(it, condition);
      for (Case &each : it->second)
        if (implies(each.condition, condition)) {
          ++visits;
          visit(bytesOf(it), each);
        }
    }
    join(bytes);
  }

  /// Puts all bytes on all ranks for which `condition` holds into one state.
  void assign(ByteRange bytes, const Condition &condition, const State &state) {
    if (bytes.begin == bytes.end)
      return;
    auto last = split(bytes.end), first = split(bytes.begin);
    if (condition.empty())
      segments.erase(std::next(first), last);
    for (auto it = first; it != last; ++it) {
      refine(it, condition);
      std::erase_if(it->second, [&](const Case &each) { return implies(each.condition, condition); });
      if (cuts.isPossible(condition, bytesOf(it)))
        it->second.push_back({condition, state});
      std::ranges::sort(it->second, {}, &Case::condition);
    }
    join(bytes);
  }

  /// How many cases have been visited.
  uint64_t visited() const { return visits; }

  /// Bytes that would have had more than maxCases cases. If there are any, visits have left out some.
  const std::optional<ByteRange> &excess() const { return tooMany; }

private:
  using Segments = std::map<uint64_t, std::vector<Case>>; // by where they begin; an empty one behind the last
  using Segment = typename Segments::iterator;

  static ByteRange bytesOf(Segment segment) { return {segment->first, std::next(segment)->first}; }

  /// Makes a segment begin at `at`.
  Segment split(uint64_t at) {
    auto next = segments.lower_bound(at);
    assert(next != segments.end() && "bytes of the map");
    if (next->first == at)
      return next;
    auto before = std::prev(next), after = segments.emplace_hint(next, at, before->second);
    for (Segment half : {before, after})
      std::erase_if(half->second,
                    [&](const Case &each) { return !cuts.isPossible(each.condition, bytesOf(half)); });
    return after;
  }

  /// Makes every case of a segment say of each literal whether it holds.
  void refine(Segment segment, const Condition &condition) {
    for (Literal literal : condition)
      refine(segment, literal);
  }

  void refine(Segment segment, Literal literal) {
    std::vector<Case> &cases = segment->second;
    auto isOpen = [&](const Case &each) { return !says(each.condition, literal.cut); };
    if (std::ranges::none_of(cases, isOpen))
      return;
    std::vector<Case> refined;
    for (const Case &each : cases)
      if (!isOpen(each))
        refined.push_back(each);
      else
        for (auto side : {Literal::Side::own, Literal::Side::other})
          if (Condition both = with(each.condition, {literal.cut, side});
              cuts.isPossible(both, bytesOf(segment)))
            refined.push_back({std::move(both), each.state});
    if (refined.size() > maxCases)
      tooMany = bytesOf(segment);
    else
      cases = std::move(refined);
    std::ranges::sort(cases, {}, &Case::condition);
  }

  static bool says(const Condition &condition, int64_t cut) {
    return std::ranges::find(condition, cut, &Literal::cut) != condition.end();
  }

  static Condition with(Condition condition, Literal literal) {
    condition.insert(std::ranges::upper_bound(condition, literal), literal);
    return condition;
  }

  /// Makes one of equal neighbours.
  void join(ByteRange bytes) {
    auto it = segments.lower_bound(bytes.begin);
    if (it != segments.begin())
      --it;
    for (auto next = std::next(it); next != segments.end() && next->first <= bytes.end; next = std::next(it))
      if (it->second == next->second)
        segments.erase(next);
      else
        it = next;
  }

  Cuts &cuts;
  Segments segments;
  uint64_t visits = 0;
  std::optional<ByteRange> tooMany;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_CASE_MAP_H
