#include "runtime/collective/inproc/Collective.h"

#include "runtime/plan/model/Mesh.h"

#include <algorithm>
#include <cstring>

namespace epl::runtime {

void reducePart(CombineFunction combine, MemberBuffers sources, size_t self, void *target, int64_t count,
                ElementRange only) {
  auto [begin, end] = partOf(count, uint32_t(self), uint32_t(sources.size()));
  begin = std::max(begin, only.begin);
  end = std::min(end, only.end);
  if (begin < end)
    combine(sources.data(), sources.size(), target, begin, end);
}

void reduceWhole(CombineFunction combine, MemberBuffers sources, void *target, int64_t count,
                 ElementRange only) {
  int64_t begin = std::max(only.begin, int64_t(0)), end = std::min(count, only.end);
  if (begin < end)
    combine(sources.data(), sources.size(), target, begin, end);
}

/// Copies bytes [begin, end) of a buffer, the last first: what was written last, by a member that combined
/// its part from begin to end, is still in a cache.
static void copyBackwards(void *target, const void *source, size_t begin, size_t end) {
  constexpr size_t kBlock = size_t(256) << 10;
  while (begin < end) {
    size_t from = end - begin > kBlock ? end - kBlock : begin;
    std::memcpy(static_cast<std::byte *>(target) + from, static_cast<const std::byte *>(source) + from,
                end - from);
    end = from;
  }
}

void gatherParts(MemberBuffers sources, void *target, int64_t count, size_t elementSize) {
  for (size_t member = 0; member < sources.size(); ++member) {
    auto [begin, end] = partOf(count, uint32_t(member), uint32_t(sources.size()));
    if (sources[member] != target)
      copyBackwards(target, sources[member], size_t(begin) * elementSize, size_t(end) * elementSize);
  }
}

void copyWhole(const void *source, void *target, size_t bytes) {
  if (source != target)
    copyBackwards(target, source, 0, bytes);
}

void gatherBlocks(MemberBuffers sources, void *target, int64_t outer, int64_t inner, size_t elementSize) {
  size_t block = inner * elementSize;
  if (block == 0)
    return;
  auto *to = static_cast<std::byte *>(target);
  for (int64_t i = 0; i < outer; ++i)
    for (const void *source : sources) {
      std::memcpy(to, static_cast<const std::byte *>(source) + i * block, block);
      to += block;
    }
}

void reduceBox(CombineFunction combine, std::span<void *> sources, void *target, const SharedBox &box,
               size_t elementSize) {
  int64_t at = 0; // where the pointers are
  box.forEachRun([&](int64_t source, int64_t to) {
    for (void *&pointer : sources)
      pointer = static_cast<std::byte *>(pointer) + (source - at) * int64_t(elementSize);
    at = source;
    combine(sources.data(), sources.size(), static_cast<std::byte *>(target) + to * int64_t(elementSize), 0,
            box.run);
  });
}

void copyBox(const void *source, void *target, const SharedBox &box, size_t elementSize) {
  size_t run = size_t(box.run) * elementSize;
  box.forEachRun([&](int64_t from, int64_t to) {
    std::memcpy(static_cast<std::byte *>(target) + size_t(to) * elementSize,
                static_cast<const std::byte *>(source) + size_t(from) * elementSize, run);
  });
}

} // namespace epl::runtime
