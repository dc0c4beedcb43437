// Which rows the ids have that a worker has asked for.
#ifndef EPL_RUNTIME_SERVERS_STORE_ASKEDROWS_H
#define EPL_RUNTIME_SERVERS_STORE_ASKEDROWS_H

#include "runtime/servers/store/LaneIds.h"
#include "runtime/servers/store/TableRows.h"

#include <algorithm>
#include <atomic>
#include <memory>

namespace epl::runtime::servers {

/// Ids that a worker has asked for, and the rows that the lanes have found. A step pushes gradients of the
/// ids that it has asked for, as a rule: these are dealt out to the lanes, and need no search, any more.
class AskedRows {
public:
  /// `check` and `chunkSize`: see LaneIds.
  AskedRows(std::shared_ptr<const std::vector<int64_t>> of, uint32_t numLanes, size_t chunkSize,
            LaneIds::Check check)
      : ids(std::move(of)), lanes(*ids, numLanes, chunkSize,
                                  [this, check = std::move(check)](size_t begin, size_t end) {
                                    check(begin, end);
                                    checkOrder(begin, end);
                                  }),
        found(ids->size(), TableRows::kNone), removals(numLanes) {}

  /// Whether these are ids, in their order, and ascend. Once a lane has gone through all chunks.
  bool areAscending(std::span<const int64_t> given) const {
    return ascend && std::ranges::equal(given, *ids);
  }
  /// The lane's rows are about to be found.
  void begin(uint32_t lane, const TableRows &rows) { removals[lane] = rows.removals(); }
  /// Whether the lane's rows are still those that were found.
  bool holds(uint32_t lane, const TableRows &rows) const { return removals[lane] == rows.removals(); }

  const std::shared_ptr<const std::vector<int64_t>> ids;
  LaneIds lanes;
  /// Of each id, which its lane alone writes; kNone of an id without one.
  std::vector<TableRows::Row> found;

private:
  void checkOrder(size_t begin, size_t end) {
    auto first = ids->begin() + int64_t(begin == 0 ? 0 : begin - 1);
    if (!std::is_sorted(first, ids->begin() + int64_t(end), std::less_equal<>()))
      ascend = false;
  }

  std::atomic<bool> ascend = true;
  std::vector<uint64_t> removals; // of each lane's rows when they were found
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_STORE_ASKEDROWS_H
