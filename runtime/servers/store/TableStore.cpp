#include "runtime/servers/store/TableStore.h"

#include "runtime/Error.h"
#include "runtime/servers/model/CopyRow.h"
#include "runtime/servers/store/AskedRows.h"
#include "runtime/servers/store/RowUpdates.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <queue>

namespace epl::runtime::servers {

namespace {

/// A push, and which lane has which of its rows.
class DealtPush {
public:
  DealtPush(const TableStore::Push &push, const BlockTable &blocks, uint32_t part, uint32_t lanes)
      : memory(push.memory), pushed(PushedRows::of({push.memory.data, push.bytes}, blocks, part)),
        asked(push.asked),
        own(pushed.ids, lanes, LaneIds::kLargestChunk,
            [this, &blocks, part](size_t begin, size_t end) { pushed.checkIds(begin, end, blocks, part); }) {}
  DealtPush(const DealtPush &) = delete;

  /// What the worker had asked for, if the push is for the same ids; null otherwise. By any lane, which has
  /// gathered that.
  AskedRows *known() {
    std::call_once(compared, [&] {
      if (asked && !asked->areAscending(pushed.ids))
        asked = nullptr;
    });
    return asked.get();
  }
  LaneIds &lanes() { return known() ? known()->lanes : own; }
  const PushedRows &rows() const { return pushed; }

private:
  HostTensor memory;
  PushedRows pushed;
  std::once_flag compared;
  std::shared_ptr<AskedRows> asked;
  LaneIds own;
};
using DealtPushes = std::vector<std::unique_ptr<DealtPush>>;

/// Goes through the rows of a push that a lane has.
class PushCursor {
public:
  PushCursor(DealtPush &push, uint32_t lane, const TableRows &rows, uint64_t rowBytes)
      : pushed(push.rows()), own(push.lanes(), lane), rowBytes(rowBytes) {
    if (AskedRows *known = push.known(); known && known->holds(lane, rows))
      found = known->found.data();
  }

  bool next() { return own.next(); }
  int64_t id() const { return pushed.ids[own.position]; }
  const void *gradient() const { return pushed.gradients + own.position * rowBytes; }
  /// kNone if it is not known.
  TableRows::Row row() const { return found ? found[own.position] : TableRows::kNone; }

private:
  PushedRows pushed;
  LaneCursor own;
  uint64_t rowBytes;
  const TableRows::Row *found = nullptr;
};

/// Rows are gathered in parts of so many bytes, which may be sent while the next one is made.
constexpr size_t kPart = size_t(1) << 20;

} // namespace

/// The rows of a part that one lane has.
struct TableStore::Shard {
  Shard(const manifest::TableT &table, const ApplyPlans &plans, Lane &lane, uint32_t number, uint32_t count)
      : rows(table), updates(table, plans, lane, rows), lane(lane), number(number), count(count) {}

  bool has(int64_t id) const { return laneOf(id, count) == number; }

  void update(const DealtPushes &pushes, uint64_t rowBytes, double factor);
  void updateBy(DealtPush &push, uint64_t rowBytes);
  void merge(const DealtPushes &pushes, uint64_t rowBytes);
  void gather(AskedRows &asked, size_t chunk, uint64_t rowBytes, bool create, std::byte *target);

  FilePart filePart(uint32_t server, uint32_t servers) const { return {server, servers, number, count}; }

  TableRows rows;
  uint64_t exported = 0; ///< the version of the last export; changes behind it are new
  RowUpdates updates;
  Lane &lane;
  const uint32_t number, count;
};

void TableStore::Shard::update(const DealtPushes &pushes, uint64_t rowBytes, double factor) {
  ++rows.version;
  updates.begin(factor);
  if (pushes.size() == 1)
    updateBy(*pushes.front(), rowBytes);
  else
    merge(pushes, rowBytes);
  updates.finish();
}

void TableStore::Shard::updateBy(DealtPush &push, uint64_t rowBytes) {
  for (PushCursor own(push, number, rows, rowBytes); own.next();) {
    const void *gradient = own.gradient();
    updates.add(own.id(), own.row(), std::span(&gradient, 1));
  }
}

/// Each id of the pushes in ascending order, with its gradients in the order of pushes.
void TableStore::Shard::merge(const DealtPushes &pushes, uint64_t rowBytes) {
  using Next = std::pair<int64_t, size_t>; // id and push
  std::priority_queue<Next, std::vector<Next>, std::greater<>> queue;
  std::vector<PushCursor> own;
  own.reserve(pushes.size());
  auto advance = [&](size_t push) {
    if (own[push].next())
      queue.emplace(own[push].id(), push);
  };
  for (size_t push = 0; push < pushes.size(); ++push) {
    own.emplace_back(*pushes[push], number, rows, rowBytes);
    advance(push);
  }
  std::vector<const void *> gradients;
  while (!queue.empty()) {
    int64_t id = queue.top().first;
    TableRows::Row row = TableRows::kNone;
    gradients.clear();
    while (!queue.empty() && queue.top().first == id) {
      size_t push = queue.top().second;
      queue.pop();
      gradients.push_back(own[push].gradient());
      if (row == TableRows::kNone)
        row = own[push].row();
      advance(push);
    }
    updates.add(id, row, gradients);
  }
}

/// The rows of a chunk.
void TableStore::Shard::gather(AskedRows &asked, size_t chunk, uint64_t rowBytes, bool create,
                               std::byte *target) {
  std::span<const uint16_t> positions = asked.lanes.of(chunk, number);
  size_t first = asked.lanes.beginOf(chunk);
  std::array<int64_t, TableRows::kAhead> some;
  std::array<TableRows::Row, TableRows::kAhead> found;
  for (size_t begin = 0; begin < positions.size(); begin += some.size()) {
    std::span<const uint16_t> here =
        positions.subspan(begin, std::min(some.size(), positions.size() - begin));
    std::ranges::transform(here, some.begin(),
                           [&](uint16_t position) { return (*asked.ids)[first + position]; });
    rows.find(std::span(some).first(here.size()), rowBytes, found.data());
    for (size_t i = 0; i < here.size(); ++i) {
      bool make = create && found[i] == TableRows::kNone;
      TableRows::Row row = make ? rows.findOrAdmit(some[i]) : found[i];
      asked.found[first + here[i]] = row;
      std::byte *value = target + here[i] * rowBytes;
      if (row == TableRows::kNone)
        rows.writeFirst(some[i], value);
      else
        copyRow(value, rows.at(row), rowBytes);
    }
  }
}

/// Rows as lanes gather them, chunk by chunk.
struct TableStore::Gathering {
  Gathering(std::shared_ptr<AskedRows> asked, HostTensor rows, uint64_t rowBytes, uint32_t lanes,
            Gathered done)
      : asked(std::move(asked)), rows(std::move(rows)), rowBytes(rowBytes),
        left(this->asked->lanes.numChunks()), done(std::move(done)) {
    for (std::atomic<uint32_t> &lanesLeft : left)
      lanesLeft = lanes;
  }

  /// One lane's. All go through the chunks in their order, so who is the last one in a chunk has said so
  /// before any other chunk ends.
  void run(Shard &shard, bool create) {
    asked->begin(shard.number, shard.rows);
    for (size_t chunk = 0; chunk < left.size(); ++chunk) {
      shard.gather(*asked, chunk, rowBytes, create, rows.data + asked->lanes.beginOf(chunk) * rowBytes);
      if (left[chunk].fetch_sub(1) == 1 && chunk + 1 < left.size())
        done("", rows, asked->lanes.endOf(chunk) * rowBytes);
    }
  }

  const std::shared_ptr<AskedRows> asked;
  const HostTensor rows;
  const uint64_t rowBytes;
  std::vector<std::atomic<uint32_t>> left; // lanes that have not done a chunk
  const Gathered done;
};

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
  auto dealt = std::make_shared<DealtPushes>();
  for (const Push &push : pushes)
    dealt->push_back(std::make_unique<DealtPush>(push, blocks, part, uint32_t(shardsOf(part).size())));
  auto work = [this, part, factor, dealt](Shard &shard) {
    shard.update(*dealt, rowBytes(blocks.table(part)), factor);
  };
  onAll(part, std::move(work), std::move(done));
}

/// Ids that rows of a part are asked for by.
void TableStore::checkAsked(uint32_t part, std::span<const int64_t> ids) const {
  for (int64_t id : ids)
    if (id < 0 || uint64_t(id) % manifest.servers != server)
      throw Error("server " + std::to_string(server) + " is asked for id " + std::to_string(id) +
                  " of table \"" + blocks.table(part).name + "\", which it has not");
}

std::shared_ptr<AskedRows> TableStore::gather(uint32_t part, std::shared_ptr<const std::vector<int64_t>> ids,
                                              bool create, Gathered done) {
  auto lanes = uint32_t(shardsOf(part).size());
  const manifest::TableT &table = blocks.table(part);
  uint64_t bytes = rowBytes(table);
  auto asked =
      std::make_shared<AskedRows>(ids, lanes, std::clamp<size_t>(kPart / bytes, 1, LaneIds::kLargestChunk),
                                  [this, part, all = std::span(*ids)](size_t begin, size_t end) {
                                    checkAsked(part, all.subspan(begin, end - begin));
                                  });
  TensorType type{table.type, {int64_t(ids->size()), int64_t(table.dim)}};
  std::shared_ptr<Memory> memory = gathered.take(type.bytes());
  HostTensor rows{type, memory->data(), memory};
  auto all = std::make_shared<Gathering>(asked, rows, bytes, lanes, std::move(done));
  onAll(
      part, [all, create](Shard &shard) { all->run(shard, create); },
      [all](const std::string &error) { all->done(error, all->rows, all->rows.type.bytes()); });
  return asked;
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
