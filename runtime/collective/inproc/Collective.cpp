#include "runtime/collective/inproc/Collective.h"

#include <cstring>

namespace epl::runtime {

static int64_t cutPoint(int64_t count, size_t part, size_t parts) {
  if (part == parts)
    return count;
  // count * part / parts without overflow.
  int64_t members = int64_t(parts), index = int64_t(part);
  return (count / members * index + count % members * index / members) & ~int64_t(15);
}

std::pair<int64_t, int64_t> partRange(int64_t count, size_t part, size_t parts) {
  return {cutPoint(count, part, parts), cutPoint(count, part + 1, parts)};
}

void reducePart(CombineFunction combine, MemberBuffers sources, size_t self, void *target, int64_t count) {
  auto [begin, end] = partRange(count, self, sources.size());
  combine(sources.data(), sources.size(), target, begin, end);
}

void gatherParts(MemberBuffers sources, size_t self, void *target, int64_t count, size_t elementSize) {
  for (size_t member = 0; member < sources.size(); ++member) {
    auto [begin, end] = partRange(count, member, sources.size());
    if (member != self && begin < end)
      std::memcpy(static_cast<std::byte *>(target) + begin * elementSize,
                  static_cast<const std::byte *>(sources[member]) + begin * elementSize,
                  (end - begin) * elementSize);
  }
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

} // namespace epl::runtime
