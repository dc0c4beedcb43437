#include "runtime/servers/store/TableStore.h"

#include "runtime/Error.h"
#include "runtime/servers/store/RowUpdates.h"

#include <atomic>
#include <cstring>
#include <mutex>
#include <queue>

namespace epl::runtime::servers {

/// The rows of a part that one lane has.
struct TableStore::Shard {
  Shard(const manifest::TableT &table, const ApplyPlans &plans, Lane &lane, uint32_t number, uint32_t count)
      : rows(table), updates(table, plans, lane, rows), lane(lane), number(number), count(count) {}

  /// By the hash's upper half: the index of the shard takes the lower one.
  bool has(int64_t id) const { return count == 1 || (hashOf(id) >> 32) % count == number; }

  void update(std::span<const PushedRows> pushes, uint64_t rowBytes, double factor);
  void updateBy(const PushedRows &push, uint64_t rowBytes, double factor);
  void merge(std::span<const PushedRows> pushes, uint64_t rowBytes, double factor);
  void gather(std::span<const int64_t> ids, uint64_t rowBytes, bool create, std::byte *target);

  FilePart filePart(uint32_t server, uint32_t servers) const { return {server, servers, number, count}; }

  TableRows rows;
  uint64_t exported = 0; ///< the version of the last export; changes behind it are new
  RowUpdates updates;
  Lane &lane;
  const uint32_t number, count;
};

void TableStore::Shard::update(std::span<const PushedRows> pushes, uint64_t rowBytes, double factor) {
  ++rows.version;
  if (pushes.size() == 1)
    updateBy(pushes.front(), rowBytes, factor);
  else
    merge(pushes, rowBytes, factor);
  updates.finish();
}

void TableStore::Shard::updateBy(const PushedRows &push, uint64_t rowBytes, double factor) {
  for (size_t i = 0; i < push.ids.size(); ++i) {
    const void *gradient = push.gradients + i * rowBytes;
    if (has(push.ids[i]))
      updates.add(push.ids[i], std::span(&gradient, 1), factor);
  }
}

/// Each id of the pushes in ascending order, with its gradients in the order of pushes.
void TableStore::Shard::merge(std::span<const PushedRows> pushes, uint64_t rowBytes, double factor) {
  using Next = std::pair<int64_t, size_t>; // id and push
  std::priority_queue<Next, std::vector<Next>, std::greater<>> queue;
  std::vector<size_t> at(pushes.size());
  auto advance = [&](size_t push) {
    const std::span<const int64_t> &ids = pushes[push].ids;
    while (at[push] < ids.size() && !has(ids[at[push]]))
      ++at[push];
    if (at[push] < ids.size())
      queue.emplace(ids[at[push]], push);
  };
  for (size_t push = 0; push < pushes.size(); ++push)
    advance(push);
  std::vector<const void *> gradients;
  while (!queue.empty()) {
    int64_t id = queue.top().first;
    gradients.clear();
    while (!queue.empty() && queue.top().first == id) {
      size_t push = queue.top().second;
      queue.pop();
      gradients.push_back(pushes[push].gradients + at[push]++ * rowBytes);
      advance(push);
    }
    updates.add(id, gradients, factor);
  }
}

void TableStore::Shard::gather(std::span<const int64_t> ids, uint64_t rowBytes, bool create,
                               std::byte *target) {
  // Rows are far apart: all of a few are on their way into the cache before the first one is read.
  constexpr size_t kAhead = 32;
  struct Found {
    size_t position;
    TableRows::Row row;
  };
  std::vector<Found> found;
  auto copy = [&] {
    for (auto [position, row] : found) {
      std::byte *value = target + position * rowBytes;
      if (row == TableRows::kNone)
        rows.writeFirst(ids[position], value);
      else
        std::memcpy(value, rows.at(row), rowBytes);
    }
    found.clear();
  };
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!has(ids[i]))
      continue;
    found.push_back({i, create ? rows.findOrAdmit(ids[i]) : rows.find(ids[i])});
    if (TableRows::Row row = found.back().row; row != TableRows::kNone) {
      __builtin_prefetch(rows.at(row));
      __builtin_prefetch(rows.at(row) + rowBytes - 1);
    }
    if (found.size() == kAhead)
      copy();
  }
  copy();
}

TableStore::TableStore(const manifest::ManifestT &manifest, uint32_t server, const ApplyPlans &plans,
                       std::span<const std::unique_ptr<Lane>> lanes)
    : manifest(manifest), blocks(manifest), server(server), tables(manifest.tables.size()) {
  for (size_t table = 0; table < tables.size(); ++table)
    for (uint32_t lane = 0; lane < lanes.size(); ++lane)
      tables[table].push_back(std::make_unique<Shard>(*manifest.tables[table], plans, *lanes[lane], lane,
                                                      uint32_t(lanes.size())));
}

TableStore::~TableStore() = default;

std::vector<std::unique_ptr<TableStore::Shard>> &TableStore::shardsOf(uint32_t part) const {
  if (!blocks.isPart(part) || part >= blocks.total() || blocks.serverOf(part) != server)
    throw Error("block " + std::to_string(part) + " is no part of a table of server " +
                std::to_string(server));
  return tables[blocks.tableNumber(part)];
}

/// Has each lane do its share; the last one says that it is done.
void TableStore::onAll(uint32_t part, Work work, Done done) {
  struct Shared {
    Shared(Work work, Done done, size_t left) : work(std::move(work)), done(std::move(done)), left(left) {}

    Work work;
    Done done;
    std::atomic<size_t> left;
    std::mutex mutex;
    std::string error;
  };
  std::vector<std::unique_ptr<Shard>> &shards = shardsOf(part);
  auto shared = std::make_shared<Shared>(std::move(work), std::move(done), shards.size());
  for (const std::unique_ptr<Shard> &shard : shards)
    shard->lane.post([shared, shard = shard.get()] {
      try {
        shared->work(*shard);
      } catch (const std::exception &caught) {
        std::scoped_lock lock(shared->mutex);
        shared->error = caught.what();
      }
      if (shared->left.fetch_sub(1) == 1)
        shared->done(shared->error);
    });
}

void TableStore::update(uint32_t part, std::vector<Push> pushes, double factor, Done done) {
  auto work = [this, part, factor, pushes = std::move(pushes)](Shard &shard) {
    std::vector<PushedRows> rows;
    for (const Push &push : pushes)
      rows.push_back(PushedRows::of({push.memory.data, push.bytes}, blocks, part));
    shard.update(rows, rowBytes(blocks.table(part)), factor);
  };
  onAll(part, std::move(work), std::move(done));
}

void TableStore::gather(uint32_t part, std::vector<int64_t> ids, bool create, Gathered done) {
  const manifest::TableT &table = blocks.table(part);
  TensorType type{table.type, {int64_t(ids.size()), int64_t(table.dim)}};
  std::shared_ptr<Memory> memory = gathered.take(type.bytes());
  HostTensor rows{type, memory->data(), memory};
  auto work = [this, part, create, rows, ids = std::move(ids)](Shard &shard) {
    for (int64_t id : ids)
      if (id < 0 || uint64_t(id) % manifest.servers != server)
        throw Error("server " + std::to_string(server) + " is asked for id " + std::to_string(id) +
                    " of table \"" + blocks.table(part).name + "\", which it has not");
    shard.gather(ids, rowBytes(blocks.table(part)), create, rows.data);
  };
  onAll(part, std::move(work),
        [rows, done = std::move(done)](const std::string &error) { done(error, rows); });
}

void TableStore::countOnAll(uint32_t part, CountingWork work, Counted done) {
  auto count = std::make_shared<std::atomic<uint64_t>>(0);
  onAll(
      part, [count, work = std::move(work)](Shard &shard) { *count += work(shard); },
      [count, done = std::move(done)](const std::string &error) { done(error, *count); });
}

void TableStore::save(uint32_t part, const std::filesystem::path &folder, bool onlyChanged, bool isExport,
                      Counted done) {
  auto work = [this, part, folder, onlyChanged, isExport](Shard &shard) {
    const manifest::TableT &table = blocks.table(part);
    std::vector<int64_t> ids =
        shard.rows.idsOf([&](uint64_t version) { return !onlyChanged || version > shard.exported; });
    std::string name = tableFileName(table.name, shard.filePart(server, manifest.servers));
    writeTableFile(table, shard.rows, ids, folder / name);
    if (isExport)
      shard.exported = shard.rows.version;
    return uint64_t(ids.size());
  };
  countOnAll(part, work, std::move(done));
}

void TableStore::load(uint32_t part, const std::filesystem::path &place, Fields fields, Counted done) {
  auto work = [this, part, place, fields](Shard &shard) {
    const manifest::TableT &table = blocks.table(part);
    std::vector<std::filesystem::path> files = tableFiles(table.name, place);
    for (const std::filesystem::path &file : files)
      checkTableFile(table, fields, file);
    shard.rows.clear();
    ++shard.rows.version; // what is loaded has changed since the last export
    auto isOwn = [&](int64_t id) { return uint64_t(id) % manifest.servers == server && shard.has(id); };
    for (const std::filesystem::path &file : files)
      readTableFile(table, fields, shard.rows, isOwn, file);
    return uint64_t(shard.rows.size());
  };
  countOnAll(part, work, std::move(done));
}

void TableStore::evict(uint32_t part, uint64_t unseen, Counted done) {
  auto work = [unseen](Shard &shard) {
    uint64_t now = shard.rows.version;
    std::vector<int64_t> ids = shard.rows.idsOf([&](uint64_t version) { return now - version >= unseen; });
    std::ranges::for_each(ids, [&](int64_t id) { shard.rows.erase(id); });
    shard.rows.forgetSightings();
    return uint64_t(ids.size());
  };
  countOnAll(part, work, std::move(done));
}

uint64_t TableStore::rows(uint32_t part) const {
  uint64_t count = 0;
  for (const std::unique_ptr<Shard> &shard : shardsOf(part))
    count += shard->rows.size();
  return count;
}

uint64_t TableStore::bytes(uint32_t part) const {
  uint64_t count = 0;
  for (const std::unique_ptr<Shard> &shard : shardsOf(part))
    count += shard->rows.bytes();
  return count;
}

} // namespace epl::runtime::servers
