#include "runtime/servers/store/RowUpdates.h"

#include "runtime/Error.h"

#include <algorithm>
#include <cstring>

namespace epl::runtime::servers {

namespace {

/// Its memory, which nobody else has. Null of a value without elements.
std::byte *memoryOf(StateBuffer &value) {
  std::vector<Shard> shards = value.draft().first;
  return shards.empty() ? nullptr : shards.front().data;
}

} // namespace

PushedRows PushedRows::of(std::span<const std::byte> bytes, const BlockTable &blocks, uint32_t part) {
  const manifest::TableT &table = blocks.table(part);
  std::optional<RowsPush> push = RowsPush::withBytes(bytes.size(), rowBytes(table));
  std::string name = "a push of table \"" + table.name + "\"";
  if (!push)
    throw Error(name + " has " + std::to_string(bytes.size()) + " bytes, which no number of rows has");
  PushedRows result{{reinterpret_cast<const int64_t *>(bytes.data()), push->rows},
                    bytes.data() + push->offset};
  uint32_t servers = blocks.servers(), server = blocks.serverOf(part);
  int64_t last = -1;
  for (int64_t id : result.ids) {
    if (id <= last)
      throw Error(name + " has id " + std::to_string(id) + " behind " + std::to_string(last) +
                  ", expected ids from 0 on that ascend");
    if (uint64_t(id) % servers != server)
      throw Error(name + " at server " + std::to_string(server) + " has id " + std::to_string(id) +
                  ", which is at server " + std::to_string(uint64_t(id) % servers));
    last = id;
  }
  return result;
}

RowUpdates::RowUpdates(const manifest::TableT &table, const ApplyPlans &plans, Lane &lane, TableRows &rows)
    : table(table), update(plans.get(table.plan)), lane(lane), rows(rows), sum(table.type),
      values(table.slots.size() + 1) {
  for (size_t i = 0; i < update.arguments.size(); ++i)
    if (isHeld(update.arguments[i])) {
      std::shared_ptr<StateBuffer> &value = values[heldIndex(update.arguments[i])];
      value = lane.session(update.plan).newState(i);
      // A last call of fewer rows computes with what is behind them, too.
      if (std::byte *memory = memoryOf(*value))
        std::memset(memory, 0, value->type().bytes());
    }
  gradient = HostTensor::allocate({table.type, shapeOfRows(std::vector<int64_t>{int64_t(table.dim)})});
  taken.reserve(kRowsAtOnce);
}

void RowUpdates::add(int64_t id, std::span<const void *const> gradients, double factor) {
  TableRows::Row row = rows.sight(id);
  if (row == TableRows::kNone)
    return;
  rows.prefetch(row);
  std::byte *target = gradient.data + taken.size() * rowBytes(table);
  if (gradients.size() == 1 && factor == 1)
    std::memcpy(target, gradients.front(), rowBytes(table));
  else
    sum(gradients, factor, target, table.dim);
  taken.push_back(row);
  if (taken.size() == kRowsAtOnce)
    run();
}

void RowUpdates::finish() {
  if (!taken.empty())
    run();
}

/// Copies from the rows to the values at hand, or back.
void RowUpdates::move(bool back) {
  for (size_t field = 0; field < values.size(); ++field) {
    auto [offset, bytes] = rows.layout().fields[field];
    std::byte *memory = memoryOf(*values[field]);
    for (size_t i = 0; i < taken.size() && bytes != 0; ++i) {
      std::byte *row = rows.at(taken[i]) + offset, *value = memory + i * bytes;
      std::memcpy(back ? row : value, back ? value : row, bytes);
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
