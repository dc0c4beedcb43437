#include "runtime/host/SpareMemory.h"

#include <algorithm>
#include <bit>

namespace epl::runtime {

std::shared_ptr<Memory> SpareMemory::take(size_t bytes) {
  std::unique_ptr<Memory> block;
  {
    std::lock_guard lock(spares->mutex);
    // Not one that is far too large: whoever needs that one next would have to take a new one.
    auto found = std::ranges::find_if(spares->blocks, [&](const std::unique_ptr<Memory> &spare) {
      return spare->size() >= bytes && spare->size() / 2 <= bytes;
    });
    if (found != spares->blocks.end()) {
      block = std::move(*found);
      spares->blocks.erase(found);
    }
  }
  if (!block)
    block = std::make_unique<Memory>(roomFor(bytes), Memory::Fill::none);
  return {block.release(),
          [spares = spares](Memory *memory) { giveBack(*spares, std::unique_ptr<Memory>(memory)); }};
}

size_t SpareMemory::roomFor(size_t bytes) {
  constexpr size_t kLarge = size_t(1) << 20;
  size_t step = std::bit_floor(bytes) / 8;
  return bytes < kLarge ? bytes : (bytes + step - 1) / step * step;
}

void SpareMemory::giveBack(Spares &spares, std::unique_ptr<Memory> block) {
  std::unique_ptr<Memory> oldest; // freed when the lock is not held any more
  std::lock_guard lock(spares.mutex);
  spares.blocks.push_back(std::move(block));
  if (spares.blocks.size() <= spares.most)
    return;
  oldest = std::move(spares.blocks.front());
  spares.blocks.erase(spares.blocks.begin());
}

} // namespace epl::runtime
