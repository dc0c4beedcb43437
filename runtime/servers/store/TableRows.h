// The rows of a table in memory.
#ifndef EPL_RUNTIME_SERVERS_STORE_TABLEROWS_H
#define EPL_RUNTIME_SERVERS_STORE_TABLEROWS_H

#include "runtime/host/Memory.h"
#include "runtime/servers/store/FirstRows.h"
#include "runtime/servers/store/RowIndex.h"

#include <tsl/robin_map.h>

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

namespace epl::runtime::servers {

/// Where in a row its value (field 0) and its slots begin.
struct RowLayout {
  explicit RowLayout(const manifest::TableT &table);

  struct Field {
    size_t offset, bytes;
  };
  std::vector<Field> fields;
  size_t stride; ///< from one row to the next
};

/// Rows by id: value and slots of a row side by side, so that an update finds all of it in one place, in
/// slabs that stay where they are. An index has their numbers by ids. For one thread at a time.
class TableRows {
public:
  using Row = RowIndex::Row;
  static constexpr Row kNone = RowIndex::kNone;

  /// Keeps a reference to the table, which is valid.
  explicit TableRows(const manifest::TableT &table);
  TableRows(const TableRows &) = delete;

  const RowLayout &layout() const { return rowLayout; }
  size_t size() const { return index.size(); }
  /// Bytes that rows and index take, but for memory that no row has been in.
  size_t bytes() const;

  /// How often rows were removed: till the next time a row stays where it was found.
  uint64_t removals() const { return removed; }
  /// How many updates there were, which the next row that changes is marked with.
  uint64_t version = 0;

  /// The row of an id; kNone if there is none.
  Row find(int64_t id) const;
  /// The same for kAhead ids at most: each is a miss of all caches, and here they wait together. `bytes`: how
  /// many of each row's are about to be used; they are on their way into the cache as well.
  void find(std::span<const int64_t> ids, size_t bytes, Row *found) const;
  static constexpr size_t kAhead = 64;
  /// Has the first `bytes` of rows, some of which are kNone, on their way into the cache.
  void prefetch(std::span<const Row> some, size_t bytes) const;
  /// The row of an id, which is made if there is none and the table admits ids at once. Else kNone.
  Row findOrAdmit(int64_t id);
  /// The row of an id that an update is for: kNone if it has not been seen often enough.
  Row sight(int64_t id);
  /// What a row begins with: its value, and its slots as its layout has them.
  std::byte *at(Row row) const {
    return slabs[row / kSlabRows] + kRowsOffset + row % kSlabRows * rowLayout.stride;
  }
  /// The version that the row was changed in.
  uint64_t &changed(Row row) { return versionsOf(row)[row % kSlabRows]; }

  /// The value that a row has before there is one.
  void writeFirst(int64_t id, std::byte *value) const { first.write(id, value); }
  /// A row for an id that has none, as it is at first.
  Row make(int64_t id);
  void erase(int64_t id);
  /// Erases all, and forgets ids that were seen.
  void clear();
  /// Forgets ids that were seen and have no row yet.
  void forgetSightings() { sightings.clear(); }

  /// The ids of rows that `wanted(version of its last change)` takes, ascending.
  template <typename Wanted> std::vector<int64_t> idsOf(const Wanted &wanted);

private:
  static constexpr size_t kSlabRows = 256;
  static constexpr size_t kRowsOffset = kSlabRows * sizeof(uint64_t); // behind the versions of a slab's rows

  uint64_t *versionsOf(Row row) const { return reinterpret_cast<uint64_t *>(slabs[row / kSlabRows]); }
  size_t slabBytes() const { return kRowsOffset + kSlabRows * rowLayout.stride; }
  Row takePlace();
  void addSlabs();

  const manifest::TableT &table;
  const RowLayout rowLayout;
  const FirstRows first;
  std::vector<std::byte> firstRow; // but for its value
  std::vector<std::unique_ptr<Memory>> memory;
  std::vector<std::byte *> slabs; // all of the memory
  std::vector<Row> spare;         // places of rows that were erased
  Row used = 0;                   // places of slabs that have had a row
  uint64_t removed = 0;           // times
  RowIndex index;
  tsl::robin_map<int64_t, uint32_t> sightings; // of ids that have no row yet
};

template <typename Wanted> std::vector<int64_t> TableRows::idsOf(const Wanted &wanted) {
  std::vector<int64_t> result;
  index.forEach([&](int64_t id, Row row) {
    if (wanted(changed(row)))
      result.push_back(id);
  });
  std::ranges::sort(result);
  return result;
}

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_STORE_TABLEROWS_H
