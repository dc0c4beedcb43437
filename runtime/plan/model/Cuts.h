// How collectives cut bytes into the parts of their members, for all ranks at once.
//
// Problem: commands touch the same bytes on all ranks, but for the halves of an all-reduce: there a rank
// touches the part that it owns, or all parts but that one. What must hold on every rank should not be
// computed for one rank after another. Method: a pair of a byte and a rank in whose memory it is meets an
// access, or not, by one question for each cut: is the byte in the rank's own part? The answers are literals;
// pairs with the same answers see the same accesses. A conjunction of literals is a class of pairs:
//
//     cut over 4 members        rank 0   [own  |other|other|other]
//                               rank 1   [other|own  |other|other]     two classes, own and other,
//                               ...                                    whatever the number of members
//
// Whether the rank is one member of a communicator, the root of a collective or the owner of a command, is
// such a question, too, of the rank alone.
//
// Two cuts make up to four classes; some may be empty, as where one divides the parts of the other: in the
// parts of a cut over {data, model}, no byte that a rank owns is outside its part of a cut over {data}.
// `find` decides that by looking for a pair.
// Invariant: bytes [begin, begin + count * elementBytes) of a cut are in the part of exactly one member
// index. Reference: R. Paige, R. Tarjan, Three partition refinement algorithms, 1987 (classes by what they
// meet).

#ifndef EPL_RUNTIME_PLAN_MODEL_CUTS_H
#define EPL_RUNTIME_PLAN_MODEL_CUTS_H

#include "runtime/plan/model/Access.h"

#include <compare>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace epl::runtime {

/// That a byte is in the part of a cut that the rank owns, or that it is in another one. Of a cut of ranks:
/// that the rank is the member, or that it is another one.
struct Literal {
  enum class Side : uint8_t { own, other };

  int64_t cut;
  Side side;

  auto operator<=>(const Literal &) const = default;
};

/// All of some literals, ascending, of different cuts. None: every byte on every rank.
using Condition = std::vector<Literal>;

/// Whether the condition says all that `other` does.
bool implies(const Condition &condition, const Condition &other);

/// Bytes in the memory of a rank.
struct Place {
  uint32_t rank;
  ByteRange bytes;
};

class Cuts {
public:
  explicit Cuts(const Mesh &mesh) : mesh(mesh) {}

  /// Calls `visit` with bytes and the condition under which `access` touches them, on every rank. `base` is
  /// the address of its buffer.
  template <typename Visit> void visit(const Access &access, uint64_t base, const Visit &visit) {
    std::optional<Condition> ranks = conditionOf(access.ranks);
    if (!ranks)
      return;
    for (ByteRange range : access.ranges)
      visit(ByteRange{base + range.begin, base + range.end}, *ranks);
    if (access.extent == Extent::ranges || access.count == 0)
      return;
    if (std::optional<Condition> part = conditionOf(access, base, *ranks))
      visit(ByteRange{base, base + uint64_t(access.count) * access.elementBytes}, *part);
  }

  /// That all of these hold for a rank; nothing if they hold for none.
  std::optional<Condition> conditionOf(const std::vector<RankTest> &tests);

  /// The first rank, and its first bytes, of those in `bytes` for which a condition holds.
  std::optional<Place> find(const Condition &condition, ByteRange bytes) const;

  /// Whether there is one. Needs bytes within all cuts.
  bool isPossible(const Condition &condition, ByteRange bytes);

private:
  /// By the parts of a tensor, or by ranks alone.
  struct Cut {
    uint64_t begin = 0;
    Access part{};                   // the part that its rank owns
    std::optional<RankTest> ranks{}; // which ranks; then nothing else is set
  };

  int64_t cutOf(RankTest test);
  std::optional<Condition> conditionOf(const Access &access, uint64_t base, Condition ranks);
  std::vector<ByteRange> restrict(const std::vector<ByteRange> &ranges, Literal literal, uint32_t rank) const;

  const Mesh &mesh;
  std::vector<Cut> cuts;
  std::map<std::tuple<uint64_t, int64_t, uint64_t, uint32_t>, int64_t> indices; // of `cuts` by parts
  std::map<std::pair<uint32_t, uint32_t>, int64_t> rankIndices;                 // of those by ranks
  std::map<std::tuple<uint64_t, uint64_t, Condition>, bool> possible;           // answers found before
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_CUTS_H
