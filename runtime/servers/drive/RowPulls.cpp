#include "runtime/servers/drive/RowPulls.h"

#include "runtime/Error.h"
#include "runtime/plan/format/Quoted.h"
#include "runtime/servers/Stream.h"
#include "runtime/servers/model/CopyRow.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace epl::runtime::servers {
namespace {

const manifest::TableT &tableAt(const Job &job, uint32_t number) {
  checkTable(job, number);
  return *job.manifest.tables[number];
}

/// A push grows by about so many bytes at once, as frames have them.
constexpr uint64_t kGrowth = kMaxFrame;
/// Rows go to places that are anywhere in the batch: so many are on their way into the cache.
constexpr size_t kAhead = 16;

} // namespace

RowPulls::RowPulls(std::shared_ptr<const Job> of, RowsKept &kept, std::span<const Lookup> given, bool all)
    : job(std::move(of)), lookups(given.begin(), given.end()) {
  for (const Lookup &lookup : lookups) {
    Table &table = tableOf(lookup);
    table.ids.push_back(lookup.ids);
    table.create |= lookup.create;
  }
  for (uint32_t number = 0; all && number < job->manifest.tables.size(); ++number)
    tables.try_emplace(number);
  for (auto &[number, table] : tables) {
    table.split = kept.splits.of(number, table.ids, table.padding);
    ask(number, table, kept.memory, all);
  }
}

RowPulls::Table &RowPulls::tableOf(const Lookup &lookup) {
  const manifest::TableT &told = tableAt(*job, lookup.table);
  auto [found, isNew] = tables.try_emplace(lookup.table);
  if (isNew)
    found->second.padding = lookup.padding;
  else if (found->second.padding != lookup.padding)
    throw Error("lookups of table " + quoted(told.name) + " in one step have different paddings");
  return found->second;
}

void RowPulls::ask(uint32_t number, Table &table, SpareMemory &memory, bool all) {
  const manifest::TableT &told = *job->manifest.tables[number];
  uint64_t bytes = rowBytes(told);
  table.rows = memory.take(std::max<uint64_t>(table.split->lookups.back() * bytes, 1));
  for (uint32_t place : table.split->padding)
    std::memset(table.rows->data() + place * bytes, 0, bytes);
  for (uint32_t server = 0; server < job->manifest.servers; ++server) {
    uint64_t ids = table.split->ids[server].size();
    uint32_t part = job->blocks.partOf(number, server);
    if (ids != 0 || all)
      parts.push_back({part, part, ids, table.create});
  }
}

std::span<const std::byte> RowPulls::ids(uint32_t part) const {
  const Table &table = tables.at(job->blocks.tableNumber(part));
  return std::as_bytes(std::span(table.split->ids[job->blocks.serverOf(part)]));
}

void RowPulls::store(uint32_t part, uint64_t offset, const Payload &bytes) {
  for (std::span<const std::byte> piece : bytes.pieces()) {
    storePiece(part, offset, piece);
    offset += piece.size();
  }
}

void RowPulls::storePiece(uint32_t part, uint64_t offset, std::span<const std::byte> bytes) {
  const Table &table = tables.at(job->blocks.tableNumber(part));
  const IdsByServer &split = *table.split;
  uint64_t size = rowBytes(job->blocks.table(part));
  uint64_t row = split.rowsBefore(job->blocks.serverOf(part)) + offset / size;
  // A piece may begin and end within a row.
  for (uint64_t within = offset % size; !bytes.empty(); ++row, within = 0) {
    std::span<const std::byte> own = bytes.first(std::min<uint64_t>(size - within, bytes.size()));
    for (uint32_t i = split.first[row]; i < split.first[row + 1]; ++i) {
      if (i + kAhead < split.places.size())
        __builtin_prefetch(table.rows->data() + split.places[i + kAhead] * size, /*for writing*/ 1);
      copyRow(table.rows->data() + split.places[i] * size + within, own.data(), own.size());
    }
    bytes = bytes.subspan(own.size());
  }
}

std::vector<HostTensor> RowPulls::rows() const {
  std::vector<HostTensor> result;
  std::map<uint32_t, size_t> next; // lookup of each table
  for (const Lookup &lookup : lookups) {
    const Table &table = tables.at(lookup.table);
    const manifest::TableT &told = *job->manifest.tables[lookup.table];
    TensorType type{told.type, {int64_t(lookup.ids.size()), int64_t(told.dim)}};
    size_t begin = table.split->lookups[next[lookup.table]++] * rowBytes(told);
    result.push_back({type, table.rows->data() + begin, table.rows});
  }
  return result;
}

RowPushes::RowPushes(const Job &job, RowsKept &kept, std::span<const RowGradients> gradients)
    : servers(job.manifest.servers) {
  std::vector<const RowGradients *> given(job.manifest.tables.size());
  for (const RowGradients &each : gradients)
    if (const manifest::TableT &told = tableAt(job, each.table); std::exchange(given[each.table], &each))
      throw Error("gradients of table " + quoted(told.name) + " are pushed twice in one step");
  const RowGradients none{};
  for (size_t number = 0; number < given.size(); ++number) {
    const manifest::TableT &table = *job.manifest.tables[number];
    const RowGradients &own = given[number] ? *given[number] : none;
    std::shared_ptr<const IdsByServer> split = kept.splits.of(uint32_t(number), own.ids, own.padding);
    std::vector<const std::byte *> lookups;
    lookups.reserve(own.ids.size());
    for (size_t lookup = 0; lookup < own.ids.size(); ++lookup)
      lookups.push_back(own.gradients.at(lookup).data);
    tables.push_back({table.type, rowBytes(table), split, Occurrences(*split, lookups, rowBytes(table))});
    for (uint32_t server = 0; server < servers; ++server)
      begin(number, server, kept.memory);
  }
}

/// The push of one server, with its ids.
void RowPushes::begin(size_t table, uint32_t server, SpareMemory &memory) {
  std::span<const int64_t> ids = tables[table].split->ids[server];
  RowsPush push = RowsPush::of(ids.size(), tables[table].rowBytes);
  std::shared_ptr<Memory> block = memory.take(push.bytes);
  HostTensor whole{{plan::ElementType::i8, {int64_t(push.bytes)}}, block->data(), block};
  if (!ids.empty()) {
    std::memcpy(whole.data, ids.data(), ids.size_bytes());
    // Zeros between: a worker sends no memory that it does not mean to.
    std::memset(whole.data + ids.size_bytes(), 0, push.offset - ids.size_bytes());
  }
  all.push_back({whole, push.offset});
}

std::optional<size_t> RowPushes::grow() {
  for (size_t tried = 0; tried < all.size(); ++tried) {
    size_t number = std::exchange(next, (next + 1) % all.size());
    const Table &table = tables[number / servers];
    Push &push = all[number];
    uint64_t left = push.memory.type.bytes() - push.ready;
    if (left == 0)
      continue;
    uint64_t rows = std::min(left / table.rowBytes, std::max<uint64_t>(kGrowth / table.rowBytes, 1));
    uint64_t first = table.split->rowsBefore(number % servers) + table.split->ids[number % servers].size() -
                     left / table.rowBytes;
    table.occurrences.sum(table.type, first, first + rows, push.memory.data + push.ready);
    push.ready += rows * table.rowBytes;
    return number;
  }
  return std::nullopt;
}

} // namespace epl::runtime::servers
