#include "runtime/collective/inproc/Collective.h"

#include "runtime/plan/Mesh.h"

#include <cstring>

namespace epl::runtime {

void reducePart(CombineFunction combine, MemberBuffers sources, size_t self, void *target, int64_t count) {
  auto [begin, end] = partOf(count, uint32_t(self), uint32_t(sources.size()));
  combine(sources.data(), sources.size(), target, begin, end);
}

void gatherParts(MemberBuffers sources, size_t self, void *target, int64_t count, size_t elementSize) {
  for (size_t member = 0; member < sources.size(); ++member) {
    auto [begin, end] = partOf(count, uint32_t(member), uint32_t(sources.size()));
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
