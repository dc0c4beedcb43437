// The free bytes of an arena, for who places one block after another.
//
// Method: a map of the places where the number of blocks changes that lie there, as blocks may share bytes
// that are free for one lane and not yet for another; and the gaps, by size. Each step takes logarithmic time
// and some for each boundary between the bytes that it changes.

#ifndef EPL_RUNTIME_PLAN_BUILD_GAPS_H
#define EPL_RUNTIME_PLAN_BUILD_GAPS_H

#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace epl::runtime {

class Gaps {
public:
  /// Puts a block there.
  void occupy(uint64_t offset, uint64_t size) { change(offset, offset + size, 1); }
  /// Takes one away that is there.
  void release(uint64_t offset, uint64_t size) { change(offset, offset + size, -1); }
  /// Where the tightest gap of at least `size` bytes is, the first one of several; else behind all blocks.
  uint64_t find(uint64_t size) const;

private:
  using Places = std::map<uint64_t, int64_t>;

  Places::iterator split(uint64_t at);
  void change(uint64_t begin, uint64_t end, int64_t by);
  void addGaps(Places::iterator first, Places::iterator last);
  void dropGaps(Places::iterator first, Places::iterator last);

  Places places{{0, 0}};                        // how many blocks there are from each place on
  std::set<std::pair<uint64_t, uint64_t>> gaps; // size and offset, but for that behind all blocks
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_BUILD_GAPS_H
