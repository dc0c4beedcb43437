#include "runtime/servers/drive/RowPulls.h"

#include "runtime/Error.h"
#include "runtime/plan/format/Quoted.h"
#include "runtime/servers/store/Occurrences.h"

#include <cstring>
#include <utility>

namespace epl::runtime::servers {
namespace {

const manifest::TableT &tableAt(const Job &job, uint32_t number) {
  checkTable(job, number);
  return *job.manifest.tables[number];
}

HostTensor takeTensor(SpareMemory &spares, const TensorType &type) {
  std::shared_ptr<Memory> memory = spares.take(type.bytes());
  return {type, memory->data(), memory};
}

/// The push of one server, whose gradients are those of the rows from `begin` on.
HostTensor pushOf(const manifest::TableT &table, std::span<const int64_t> ids, const Occurrences &occurrences,
                  uint64_t begin, SpareMemory &memory) {
  RowsPush push = RowsPush::of(ids.size(), rowBytes(table));
  HostTensor result = takeTensor(memory, {plan::ElementType::i8, {int64_t(push.bytes)}});
  if (ids.empty())
    return result;
  std::memcpy(result.data, ids.data(), ids.size_bytes());
  // Zeros between: a worker sends no memory that it does not mean to.
  std::memset(result.data + ids.size_bytes(), 0, push.offset - ids.size_bytes());
  occurrences.sum(table.type, begin, begin + ids.size(), result.data + push.offset);
  return result;
}

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
  uint64_t count = table.split->rowsBefore(job->manifest.servers);
  table.rows = takeTensor(memory, {told.type, {int64_t(count), int64_t(told.dim)}});
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

void RowPulls::store(uint32_t part, uint64_t offset, std::span<const std::byte> bytes) {
  const Table &table = tables.at(job->blocks.tableNumber(part));
  uint64_t before = table.split->rowsBefore(job->blocks.serverOf(part)) * rowBytes(job->blocks.table(part));
  if (!bytes.empty())
    std::memcpy(table.rows.data + before + offset, bytes.data(), bytes.size());
}

std::vector<HostTensor> RowPulls::rows() const {
  std::vector<HostTensor> result;
  std::map<uint32_t, size_t> next; // occurrence of each table
  for (const Lookup &lookup : lookups) {
    const Table &table = tables.at(lookup.table);
    const manifest::TableT &told = *job->manifest.tables[lookup.table];
    uint64_t bytes = rowBytes(told);
    result.push_back(HostTensor::allocate({told.type, {int64_t(lookup.ids.size()), int64_t(told.dim)}},
                                          Memory::Fill::none));
    const uint32_t *row = table.split->row.data() + next[lookup.table];
    std::byte *target = result.back().data;
    for (size_t i = 0; i < lookup.ids.size(); ++i, ++row, target += bytes)
      if (*row == kNoRow)
        std::memset(target, 0, bytes);
      else
        std::memcpy(target, table.rows.data + *row * bytes, bytes);
    next[lookup.table] += lookup.ids.size();
  }
  return result;
}

std::vector<HostTensor> pushesOfRows(const Job &job, RowsKept &kept,
                                     std::span<const RowGradients> gradients) {
  std::vector<const RowGradients *> given(job.manifest.tables.size());
  for (const RowGradients &each : gradients)
    if (const manifest::TableT &told = tableAt(job, each.table); std::exchange(given[each.table], &each))
      throw Error("gradients of table " + quoted(told.name) + " are pushed twice in one step");
  std::vector<HostTensor> result;
  const RowGradients none{};
  for (size_t number = 0; number < given.size(); ++number) {
    const manifest::TableT &table = *job.manifest.tables[number];
    const RowGradients &own = given[number] ? *given[number] : none;
    std::shared_ptr<const IdsByServer> held = kept.splits.of(uint32_t(number), own.ids, own.padding);
    const IdsByServer &split = *held;
    std::vector<const std::byte *> lookups;
    std::vector<uint64_t> counts;
    for (size_t lookup = 0; lookup < own.ids.size(); ++lookup) {
      lookups.push_back(own.gradients.at(lookup).data);
      counts.push_back(own.ids[lookup].size());
    }
    Occurrences occurrences(split, lookups, counts, rowBytes(table));
    for (uint32_t server = 0; server < job.manifest.servers; ++server)
      result.push_back(pushOf(table, split.ids[server], occurrences, split.rowsBefore(server), kept.memory));
  }
  return result;
}

} // namespace epl::runtime::servers
