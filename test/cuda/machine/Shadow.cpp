//===- Shadow.cpp - Who touched memory last -------------------------------===//

#include "test/cuda/machine/Shadow.h"

#include <algorithm>

using namespace cuda_double;

namespace {
/// Orders accesses before one by what comes between.
struct Order {
  const Moment &now;
  uint32_t threadsPerBlock;

  uint32_t blockOf(const Moment &moment) const { return (moment.thread - 1) / threadsPerBlock; }
  uint32_t warpOf(const Moment &moment) const { return (moment.thread - 1) % threadsPerBlock / 32; }

  bool isAfter(const Moment &before, bool wasWrite) const {
    if (before.thread == 0 || before.thread == now.thread)
      return true;
    if (blockOf(before) != blockOf(now))
      return false;
    if (before.blockTime != now.blockTime)
      return true;
    if (warpOf(before) != warpOf(now))
      return false;
    return wasWrite ? before.writeTime != now.writeTime : before.readTime != now.readTime;
  }
};
} // namespace

Race Shadow::access(Cell &cell, AccessKind kind, const Moment &now, uint32_t threadsPerBlock, bool same) {
  Order order{now, threadsPerBlock};
  Race race{AccessKind::read, {}};
  bool bothAtomic = cell.isAtomic && kind == AccessKind::atomic;
  bool bothSame = kind == AccessKind::write && same;
  if (!bothAtomic && !bothSame && !order.isAfter(cell.writer, true))
    race = {cell.isAtomic ? AccessKind::atomic : AccessKind::write, cell.writer};
  if (kind != AccessKind::read) {
    for (const Moment &reader : cell.readers)
      if (!order.isAfter(reader, false))
        race = {AccessKind::read, reader};
    cell.writer = now;
    cell.isAtomic = kind == AccessKind::atomic;
    return race;
  }
  // A reader that is ordered before this one says no more than this one.
  auto &[first, second] = cell.readers;
  if (order.isAfter(first, false))
    first = now;
  else if (order.isAfter(second, false) || order.warpOf(second) == order.warpOf(first))
    second = now;
  return race;
}

Race Shadow::access(uint64_t size, uint64_t offset, uint64_t accessed, AccessKind kind, const Moment &now,
                    Epoch epoch, bool same) {
  cells.resize(size / 4 + 1);
  Race race{AccessKind::read, {}};
  auto note = [&](Cell &cell) {
    Race found = access(cell, kind, now, epoch.threadsPerBlock, same);
    if (found.who.thread != 0)
      race = found;
  };
  for (uint64_t at = offset; at < offset + accessed;) {
    Cell &cell = cells[at / 4];
    if (cell.epoch != epoch.number) {
      cell = Cell();
      cell.epoch = epoch.number;
    }
    uint64_t end = std::min(at / 4 * 4 + 4, offset + accessed);
    if (end - at < 4 && !cell.isSplit) {
      bytes[at / 4].fill(cell);
      cell.isSplit = true;
    }
    if (!cell.isSplit) {
      note(cell);
      at = end;
      continue;
    }
    for (std::array<Cell, 4> &parts = bytes[at / 4]; at < end; ++at)
      note(parts[at % 4]);
  }
  return race;
}
