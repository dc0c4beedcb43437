// The tables of a server, and the threads that update them.
#ifndef EPL_RUNTIME_SERVERS_STORE_TABLESTORE_H
#define EPL_RUNTIME_SERVERS_STORE_TABLESTORE_H

#include "runtime/host/SpareMemory.h"
#include "runtime/servers/store/ApplyPlans.h"
#include "runtime/servers/store/Lane.h"
#include "runtime/servers/store/TableFiles.h"
#include "runtime/session/State.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace epl::runtime::servers {

class AskedRows;

/// A server's parts of all tables. The rows of a part are dealt out to the lanes by their ids, so all lanes
/// work at once, each at its own ids (LaneIds.h). What is asked for of a part is done in the order in which
/// it was asked. For one thread at a time.
class TableStore {
public:
  /// Called by a thread of a lane; the text is why it failed, empty if it has not.
  using Done = std::function<void(const std::string &error)>;

  /// `plans` are complete, for `server`. All outlive this, and the lanes' threads have ended before it goes.
  TableStore(const manifest::ManifestT &manifest, uint32_t server, const ApplyPlans &plans,
             std::span<const std::unique_ptr<Lane>> lanes);
  ~TableStore();

  /// A push of a part as it has come: bytes, and their owner's memory. `asked`: what its worker has asked for
  /// before, which says where rows are if the ids are the same; may be null.
  struct Push {
    HostTensor memory;
    uint64_t bytes;
    std::shared_ptr<AskedRows> asked = nullptr;
  };
  /// Updates rows of a part: the workers' gradients of each id are added in the order of `pushes`, and
  /// multiplied by `factor`.
  void update(uint32_t part, std::vector<Push> pushes, double factor, Done done);

  /// Called while rows are gathered, again and again, by one thread at a time: `bytes` of `rows` are there,
  /// from the first one on, and stay as they are. All are there in the last call, which alone may have an
  /// error.
  using Gathered = std::function<void(const std::string &error, const HostTensor &rows, uint64_t bytes)>;
  /// The rows of ids, in their order. `create`: ids without one get one, if the table admits them at once.
  /// Returned: what a push for the same ids may be given.
  std::shared_ptr<AskedRows> gather(uint32_t part, std::shared_ptr<const std::vector<int64_t>> ids,
                                    bool create, Gathered done);

  /// Called as Done; `rows`: how many it was done with.
  using Counted = std::function<void(const std::string &error, uint64_t rows)>;
  /// Writes rows of a part to files of a folder, one for each lane, each of which appears whole or not at
  /// all: all rows, or those that have changed since the last export. `isExport`: this is one.
  void save(uint32_t part, const std::filesystem::path &folder, bool onlyChanged, bool isExport,
            Counted done);
  /// Makes a part what the files of a folder, or one file, say, however many servers and lanes wrote them.
  /// Files that are missing or of other rows are found before rows are dropped.
  void load(uint32_t part, const std::filesystem::path &place, Fields fields, Counted done);
  /// Drops rows that have not changed in the last `unseen` updates of the part, and forgets ids that have
  /// been seen too seldom for a row.
  void evict(uint32_t part, uint64_t unseen, Counted done);

  /// How many rows a part has, and the bytes that they take, with all that finds them. Nothing of it is
  /// updated.
  uint64_t rows(uint32_t part) const;
  uint64_t bytes(uint32_t part) const;

private:
  struct Shard;
  struct Gathering;
  using Work = std::function<void(Shard &shard)>;

  std::vector<std::unique_ptr<Shard>> &shardsOf(uint32_t part) const;
  void onAll(uint32_t part, Work work, Done done);
  void checkAsked(uint32_t part, std::span<const int64_t> ids) const;
  /// The same, for work that says how many rows it was done with.
  using CountingWork = std::function<uint64_t(Shard &shard)>;
  void countOnAll(uint32_t part, CountingWork work, Counted done);

  const manifest::ManifestT &manifest;
  BlockTable blocks;
  uint32_t server;
  SpareMemory gathered{2};                                         // for rows that are sent
  mutable std::vector<std::vector<std::unique_ptr<Shard>>> tables; // of each table, one for each lane
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_STORE_TABLESTORE_H
