#include "runtime/servers/store/TableRows.h"

#include "runtime/Error.h"
#include "runtime/plan/model/Mesh.h"
#include "runtime/servers/model/Manifest.h"
#include "runtime/servers/model/Slices.h"

#include <algorithm>
#include <cstring>

namespace epl::runtime::servers {
namespace {

size_t aligned(size_t offset, size_t alignment) { return (offset + alignment - 1) / alignment * alignment; }

constexpr size_t kRowAlignment = 8;
constexpr size_t kCacheLine = 64;
constexpr size_t kGrowth = 16; // memory grows by this part of it

} // namespace

RowLayout::RowLayout(const manifest::TableT &table) {
  fields.push_back({0, rowBytes(table)});
  size_t end = fields.front().bytes;
  for (const auto &slot : table.slots) {
    size_t element = elementBytes(slot->type);
    fields.push_back({aligned(end, element), elementCount(slot->shape) * element});
    end = fields.back().offset + fields.back().bytes;
  }
  stride = aligned(end, kRowAlignment);
}

TableRows::TableRows(const manifest::TableT &table)
    : table(table), rowLayout(table), first(table), firstRow(rowLayout.stride) {
  for (size_t slot = 0; slot < table.slots.size(); ++slot)
    std::ranges::copy(std::as_bytes(std::span(table.slots[slot]->first)),
                      firstRow.begin() + int64_t(rowLayout.fields[slot + 1].offset));
}

size_t TableRows::bytes() const {
  size_t inUse = (used + kSlabRows - 1) / kSlabRows;
  size_t counts = sightings.bucket_count() * (sizeof(int64_t) + 2 * sizeof(uint64_t));
  return inUse * (sizeof(std::byte *) + slabBytes()) + index.bytes() + counts +
         spare.capacity() * sizeof(Row);
}

TableRows::Row TableRows::takePlace() {
  if (!spare.empty()) {
    Row row = spare.back();
    spare.pop_back();
    return row;
  }
  if (used == RowIndex::kMostRows)
    throw Error("table \"" + table.name + "\" has more than " + std::to_string(used) +
                " rows in one thread of a server, expected more servers or threads");
  if (used / kSlabRows == slabs.size())
    addSlabs();
  return used++;
}

/// The more there are the more at once, so that memory is in large pieces, which have huge pages.
void TableRows::addSlabs() {
  size_t count = slabs.size() / kGrowth + 1;
  memory.push_back(std::make_unique<Memory>(count * slabBytes(), Memory::Fill::none));
  for (size_t i = 0; i < count; ++i)
    slabs.push_back(memory.back()->data() + i * slabBytes());
}

TableRows::Row TableRows::make(int64_t id) {
  Row row = takePlace();
  changed(row) = version;
  std::memcpy(at(row), firstRow.data(), firstRow.size());
  first.write(id, at(row));
  index.insert(RowIndex::keyOf(id), row);
  return row;
}

TableRows::Row TableRows::findOrAdmit(int64_t id) {
  Row row = find(id);
  return row == kNone && table.admit == 1 ? make(id) : row;
}

TableRows::Row TableRows::sight(int64_t id) {
  Row row = findOrAdmit(id);
  if (row != kNone)
    return row;
  uint32_t &count = sightings[id];
  if (++count < table.admit)
    return kNone;
  sightings.erase(id);
  return make(id);
}

void TableRows::erase(int64_t id) {
  Row row = find(id);
  if (row == kNone)
    return;
  index.erase(RowIndex::keyOf(id));
  ++removed;
  spare.push_back(row);
}

void TableRows::clear() {
  index.clear();
  slabs.clear();
  memory.clear();
  spare.clear();
  used = 0;
  ++removed;
  sightings.clear();
}

TableRows::Row TableRows::find(int64_t id) const { return index.find(RowIndex::keyOf(id)); }

void TableRows::prefetch(std::span<const Row> some, size_t bytes) const {
  for (Row number : some) {
    if (number == kNone)
      continue;
    const std::byte *row = at(number);
    for (size_t offset = 0; offset < bytes; offset += kCacheLine)
      __builtin_prefetch(row + offset);
    __builtin_prefetch(row + bytes - 1);
  }
}

void TableRows::find(std::span<const int64_t> ids, size_t bytes, Row *found) const {
  RowIndex::Key keys[kAhead];
  for (size_t i = 0; i < ids.size(); ++i) {
    keys[i] = RowIndex::keyOf(ids[i]);
    index.prefetch(keys[i]);
  }
  for (size_t i = 0; i < ids.size(); ++i)
    found[i] = index.find(keys[i]);
  prefetch(std::span(found, ids.size()), bytes);
}

} // namespace epl::runtime::servers
