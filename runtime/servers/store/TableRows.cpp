#define XXH_INLINE_ALL // a hash of 8 bytes takes less than a call
#include "runtime/servers/store/TableRows.h"

#include "runtime/Error.h"
#include "runtime/plan/model/Mesh.h"
#include "runtime/servers/model/Manifest.h"
#include "runtime/servers/model/Slices.h"

#include <algorithm>
#include <cstring>
#include <xxhash.h>

namespace epl::runtime::servers {
namespace {

size_t aligned(size_t offset, size_t alignment) { return (offset + alignment - 1) / alignment * alignment; }

constexpr size_t kRowAlignment = 8;
constexpr size_t kCacheLine = 64;
constexpr size_t kGrowth = 16; // memory grows by this part of it
/// The index grows when it is so full. Robin Hood hashing finds what is there in a few steps even then.
constexpr float kMostFull = 0.9F;

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

uint64_t hashOf(int64_t id) { return XXH3_64bits(&id, sizeof(id)); }

size_t TableRows::Hash::operator()(int64_t id) const { return hashOf(id); }

TableRows::TableRows(const manifest::TableT &table)
    : table(table), rowLayout(table), first(table), firstRow(rowLayout.stride),
      index(0, Hash{this}, Equal{this}) {
  index.max_load_factor(kMostFull);
  for (size_t slot = 0; slot < table.slots.size(); ++slot)
    std::ranges::copy(std::as_bytes(std::span(table.slots[slot]->first)),
                      firstRow.begin() + int64_t(rowLayout.fields[slot + 1].offset));
}

size_t TableRows::bytes() const {
  size_t inUse = (used + kSlabRows - 1) / kSlabRows;
  size_t counts = sightings.bucket_count() * (sizeof(int64_t) + 2 * sizeof(uint64_t));
  return inUse * (sizeof(Slab) + slabBytes()) + index.bucket_count() * kIndexBytes + counts +
         spare.capacity() * sizeof(Row);
}

TableRows::Row TableRows::takePlace() {
  if (!spare.empty()) {
    Row row = spare.back();
    spare.pop_back();
    return row;
  }
  if (used == kNone)
    throw Error("table \"" + table.name + "\" has more than " + std::to_string(kNone) +
                " rows at one server");
  if (used / kSlabRows == slabs.size())
    addSlabs();
  return used++;
}

/// The more there are the more at once, so that memory is in large pieces, which have huge pages.
void TableRows::addSlabs() {
  size_t count = slabs.size() / kGrowth + 1;
  memory.push_back(std::make_unique<Memory>(count * slabBytes(), Memory::Fill::none));
  for (size_t i = 0; i < count; ++i) {
    std::byte *begin = memory.back()->data() + i * slabBytes();
    auto *ids = reinterpret_cast<int64_t *>(begin);
    auto *versions = reinterpret_cast<uint64_t *>(ids + kSlabRows);
    slabs.push_back({ids, versions, reinterpret_cast<std::byte *>(versions + kSlabRows)});
  }
}

TableRows::Row TableRows::make(int64_t id) {
  Row row = takePlace();
  slabs[row / kSlabRows].ids[row % kSlabRows] = id;
  changed(row) = version;
  std::memcpy(at(row), firstRow.data(), firstRow.size());
  first.write(id, at(row));
  index.insert(row);
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
  index.erase(id);
  slabs[row / kSlabRows].ids[row % kSlabRows] = kFree;
  spare.push_back(row);
}

void TableRows::clear() {
  index.clear();
  slabs.clear();
  memory.clear();
  spare.clear();
  used = 0;
  sightings.clear();
}

void TableRows::prefetch(Row row) {
  const std::byte *begin = at(row);
  for (size_t offset = 0; offset < rowLayout.stride; offset += kCacheLine)
    __builtin_prefetch(begin + offset);
  __builtin_prefetch(begin + rowLayout.stride - 1);
}

} // namespace epl::runtime::servers
