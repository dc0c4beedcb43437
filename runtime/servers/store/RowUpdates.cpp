#include "runtime/servers/store/RowUpdates.h"

#include "runtime/Error.h"
#include "runtime/servers/model/CopyRow.h"

#include <algorithm>
#include <cstring>

namespace epl::runtime::servers {

namespace {

/// Its memory, which nobody else has. Null of a value without elements.
std::byte *memoryOf(StateBuffer &value) {
  std::vector<Shard> shards = value.draft().first;
  return shards.empty() ? nullptr : shards.front().data;
}

std::string nameOfPush(const BlockTable &blocks, uint32_t part) {
  return "a push of table \"" + blocks.table(part).name + "\"";
}

} // namespace

PushedRows PushedRows::of(std::span<const std::byte> bytes, const BlockTable &blocks, uint32_t part) {
  std::optional<RowsPush> push = RowsPush::withBytes(bytes.size(), rowBytes(blocks.table(part)));
  if (!push)
    throw Error(nameOfPush(blocks, part) + " has " + std::to_string(bytes.size()) +
                " bytes, which no number of rows has");
  return {{reinterpret_cast<const int64_t *>(bytes.data()), push->rows}, bytes.data() + push->offset};
}

void PushedRows::checkIds(size_t begin, size_t end, const BlockTable &blocks, uint32_t part) const {
  uint32_t servers = blocks.servers(), server = blocks.serverOf(part);
  int64_t last = begin == 0 ? -1 : ids[begin - 1];
  for (int64_t id : ids.subspan(begin, end - begin)) {
    if (id <= last)
      throw Error(nameOfPush(blocks, part) + " has id " + std::to_string(id) + " behind " +
                  std::to_string(last) + ", expected ids from 0 on that ascend");
    if (uint64_t(id) % servers != server)
      throw Error(nameOfPush(blocks, part) + " at server " + std::to_string(server) + " has id " +
                  std::to_string(id) + ", which is at server " + std::to_string(uint64_t(id) % servers));
    last = id;
  }
}

RowUpdates::RowUpdates(const manifest::TableT &table, const ApplyPlans &plans, Lane &lane, TableRows &rows)
    : table(table), bytes(rowBytes(table)), update(plans.get(table.plan)), lane(lane), rows(rows),
      sum(table.type), values(table.slots.size() + 1) {
  for (size_t i = 0; i < update.arguments.size(); ++i)
    if (isHeld(update.arguments[i])) {
      std::shared_ptr<StateBuffer> &value = values[heldIndex(update.arguments[i])];
      value = lane.session(update.plan).newState(i);
      // A last call of fewer rows computes with what is behind them, too.
      if (std::byte *memory = memoryOf(*value))
        std::memset(memory, 0, value->type().bytes());
    }
  gradient = HostTensor::allocate({table.type, shapeOfRows(std::vector<int64_t>{int64_t(table.dim)})});
  gradients.reserve(TableRows::kAhead);
  taken.reserve(kRowsAtOnce);
}

void RowUpdates::begin(double by) {
  factor = by;
  waiting = 0;
  gradients.clear();
  taken.clear();
}

void RowUpdates::add(int64_t id, TableRows::Row row, std::span<const void *const> given) {
  for (const void *gradient : given) {
    __builtin_prefetch(gradient);
    gradients.push_back(gradient);
  }
  ids[waiting] = id;
  found[waiting] = row;
  ends[waiting] = gradients.size();
  if (++waiting == ids.size())
    findRows();
}

void RowUpdates::findRows() {
  std::span<const TableRows::Row> known = std::span(found).first(waiting);
  if (std::ranges::find(known, TableRows::kNone) == known.end())
    rows.prefetch(known, rows.layout().stride);
  else
    rows.find(std::span(ids).first(waiting), rows.layout().stride, found.data());
  size_t begin = 0;
  for (size_t i = 0; i < waiting; begin = ends[i++])
    if (TableRows::Row row = found[i] != TableRows::kNone ? found[i] : rows.sight(ids[i]);
        row != TableRows::kNone)
      take(row, std::span(gradients).subspan(begin, ends[i] - begin));
  waiting = 0;
  gradients.clear();
}

void RowUpdates::take(TableRows::Row row, std::span<const void *const> given) {
  std::byte *target = gradient.data + taken.size() * bytes;
  if (given.size() == 1 && factor == 1)
    copyRow(target, given.front(), bytes);
  else
    sum(given, factor, target, table.dim);
  __builtin_prefetch(&rows.changed(row), /*for writing*/ 1); // which the end of the call marks
  taken.push_back(row);
  if (taken.size() == kRowsAtOnce)
    run();
}

void RowUpdates::finish() {
  findRows();
  if (!taken.empty())
    run();
}

/// Copies from the rows to the values at hand, or back.
void RowUpdates::move(bool back) {
  for (size_t field = 0; field < values.size(); ++field) {
    auto [offset, size] = rows.layout().fields[field];
    std::byte *memory = memoryOf(*values[field]);
    for (size_t i = 0; i < taken.size() && size != 0; ++i) {
      std::byte *row = rows.at(taken[i]) + offset, *value = memory + i * size;
      copyRow(back ? row : value, back ? value : row, size);
    }
  }
}

void RowUpdates::run() {
  move(/*back=*/false);
  update.run(
      lane, values, [&](const manifest::Argument &) { return gradient; },
      "an update of rows of \"" + table.name + "\"");
  move(/*back=*/true);
  for (TableRows::Row row : taken)
    rows.changed(row) = rows.version;
  taken.clear();
}

} // namespace epl::runtime::servers
