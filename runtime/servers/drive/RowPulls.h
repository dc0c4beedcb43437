// What a worker asks tables for in a step, and what it pushes for them.
#ifndef EPL_RUNTIME_SERVERS_DRIVE_ROWPULLS_H
#define EPL_RUNTIME_SERVERS_DRIVE_ROWPULLS_H

#include "runtime/host/SpareMemory.h"
#include "runtime/servers/Payload.h"
#include "runtime/servers/drive/IdSplits.h"
#include "runtime/servers/logic/Requests.h"
#include "runtime/servers/store/Occurrences.h"
#include "runtime/session/State.h"

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace epl::runtime::servers {

/// A lookup of a step: it gets a row for each id, zeros for `padding`, if there is one.
struct Lookup {
  uint32_t table;
  std::span<const int64_t> ids;
  bool create = true; ///< ids without a row get one, for training
  std::optional<int64_t> padding = std::nullopt;
};

/// The gradients of all lookups of a table in a step: of each its ids, and a row for each of these.
struct RowGradients {
  uint32_t table;
  std::vector<std::span<const int64_t>> ids;
  std::vector<HostTensor> gradients;
  std::optional<int64_t> padding = std::nullopt;
};

/// What a worker keeps for its next pulls and pushes of rows.
struct RowsKept {
  IdSplits splits;
  SpareMemory memory{4};
};

/// The lookups of a step: each id once at its server, and the rows that come for it, which go to each place
/// of the batch that has the id.
class RowPulls {
public:
  /// `all`: all parts of all tables are asked, if only for no rows. Throws Error if there is no such table,
  /// for ids as IdSplitter does, and if lookups of one table have different paddings.
  RowPulls(std::shared_ptr<const Job> job, RowsKept &kept, std::span<const Lookup> lookups, bool all);

  /// What is to be asked for; the number of a part names its ids.
  const std::vector<RowsRequest> &requests() const { return parts; }
  std::span<const std::byte> ids(uint32_t part) const;
  /// Bytes of the answer for a part.
  void store(uint32_t part, uint64_t offset, const Payload &bytes);
  /// The rows of each lookup, once all have come. Those of one table are in one block of memory.
  std::vector<HostTensor> rows() const;

private:
  /// The lookups of one table.
  struct Table {
    std::vector<std::span<const int64_t>> ids = {};
    bool create = false;
    std::optional<int64_t> padding = std::nullopt;
    std::shared_ptr<const IdsByServer> split = nullptr;
    std::shared_ptr<Memory> rows = nullptr; ///< by the places of the batch
  };

  void ask(uint32_t number, Table &table, SpareMemory &memory, bool all);
  void storePiece(uint32_t part, uint64_t offset, std::span<const std::byte> bytes);
  Table &tableOf(const Lookup &lookup);

  std::shared_ptr<const Job> job;
  std::vector<Lookup> lookups;
  std::map<uint32_t, Table> tables; // by number
  std::vector<RowsRequest> parts;
};

/// What is pushed for the parts of all tables: no rows of tables that are not among the gradients. It is made
/// piece by piece, so that the first ones are sent meanwhile.
class RowPushes {
public:
  /// A push in the order of parts, the first `ready` bytes of which are there.
  struct Push {
    HostTensor memory;
    uint64_t ready;
  };

  /// What the gradients view must stay until all pieces are made. Throws Error as RowPulls does, and for a
  /// table twice.
  RowPushes(const Job &job, RowsKept &kept, std::span<const RowGradients> gradients);

  /// Of each part, with the ids that it begins with.
  const std::vector<Push> &pushes() const { return all; }
  /// Makes another piece; which push has grown by it, nothing once all are whole. In turn for all parts, as
  /// these have servers of their own.
  std::optional<size_t> grow();

private:
  /// The gradients of one table.
  struct Table {
    plan::ElementType type;
    uint64_t rowBytes;
    std::shared_ptr<const IdsByServer> split;
    Occurrences occurrences;
  };

  void begin(size_t table, uint32_t server, SpareMemory &memory);

  const uint32_t servers;
  std::vector<Table> tables;
  std::vector<Push> all;
  size_t next = 0; // part that grows next
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_DRIVE_ROWPULLS_H
