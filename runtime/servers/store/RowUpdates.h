// Updates of a table's rows by its plan, many at once.
#ifndef EPL_RUNTIME_SERVERS_STORE_ROWUPDATES_H
#define EPL_RUNTIME_SERVERS_STORE_ROWUPDATES_H

#include "runtime/servers/model/Manifest.h"
#include "runtime/servers/store/ApplyPlans.h"
#include "runtime/servers/store/Average.h"
#include "runtime/servers/store/Lane.h"
#include "runtime/servers/store/TableRows.h"

#include <array>

namespace epl::runtime::servers {

/// What a worker has pushed of a part of a table: ids, ascending, and the gradients of their rows.
struct PushedRows {
  std::span<const int64_t> ids;
  const std::byte *gradients;

  /// Throws Error for bytes that no push of the part has.
  static PushedRows of(std::span<const std::byte> bytes, const BlockTable &blocks, uint32_t part);
  /// Throws Error if some of the ids do not ascend, or are another server's.
  void checkIds(size_t begin, size_t end, const BlockTable &blocks, uint32_t part) const;
};

/// Applies gradients to some of the rows of a table at a server, kRowsAtOnce in a call of its plan. What the
/// call reads is gathered from the rows, and what it has written goes back there. Rows are looked up many at
/// once.
class RowUpdates {
public:
  /// Keeps references; all in the thread of the lane.
  RowUpdates(const manifest::TableT &table, const ApplyPlans &plans, Lane &lane, TableRows &rows);

  /// Begins an update that multiplies gradients by `factor`.
  void begin(double factor);
  /// Adds what workers have pushed to a row, in their order. Each id once in an update, in any order. `row`:
  /// the id's, if it is known, else kNone. The gradients stay as they are until the end.
  void add(int64_t id, TableRows::Row row, std::span<const void *const> gradients);
  /// Ends the update: the rows are as it leaves them.
  void finish();

private:
  void findRows();
  void take(TableRows::Row row, std::span<const void *const> gradients);
  void run();
  void move(bool back);

  const manifest::TableT &table;
  const uint64_t bytes; // of a gradient
  UpdatePlan update;
  Lane &lane;
  TableRows &rows;
  ScaledSum sum;
  std::vector<std::shared_ptr<StateBuffer>> values; // the value and the slots of the rows at hand
  HostTensor gradient;
  std::vector<TableRows::Row> taken; // the rows at hand
  double factor = 1;

  // What was added and has not been looked up.
  size_t waiting = 0;
  std::array<int64_t, TableRows::kAhead> ids;
  std::array<TableRows::Row, TableRows::kAhead> found;
  std::array<size_t, TableRows::kAhead> ends; // of each id's in `gradients`
  std::vector<const void *> gradients;        // of the first id, then those of the second one, ...
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_STORE_ROWUPDATES_H
