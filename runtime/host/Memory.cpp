#include "runtime/host/Memory.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <sys/mman.h>
#include <vector>

namespace epl::runtime {

// From here on a block is mapped: it is then worth huge pages, and its zeros cost nothing until touched.
static constexpr std::size_t kMapThreshold = std::size_t(4) << 20;

static std::atomic<std::size_t> live = 0;

static std::atomic<bool> isKept = false; // every block

std::size_t Memory::liveBytes() { return live.load(std::memory_order_relaxed); }

void Memory::keepAll() noexcept { isKept.store(true, std::memory_order_relaxed); }

bool Memory::keepsAll() noexcept { return isKept.load(std::memory_order_relaxed); }

/// Remembers a block, so that it counts as used and not as lost.
static void keep(std::byte *block) {
  static std::mutex mutex;
  static auto *blocks = new std::vector<std::byte *>;
  std::lock_guard lock(mutex);
  blocks->push_back(block);
}

/// A block below the threshold.
static std::byte *allocate(std::size_t size, Memory::Fill fill) {
  std::size_t rounded = (size + Memory::kAlignment - 1) / Memory::kAlignment * Memory::kAlignment;
  void *block = std::aligned_alloc(Memory::kAlignment, rounded);
  if (!block)
    throw std::bad_alloc();
  if (fill == Memory::Fill::zeros)
    std::memset(block, 0, rounded);
  return static_cast<std::byte *>(block);
}

Memory::Memory(std::size_t size, Fill fill) : bytes(size) {
  if (size == 0)
    return;
  if (isMapped()) {
    void *mapping = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED)
      throw std::bad_alloc();
    // Advice only: where the kernel has no huge pages, small ones serve.
    (void)madvise(mapping, size, MADV_HUGEPAGE);
    pointer = static_cast<std::byte *>(mapping);
  } else {
    pointer = allocate(size, fill);
  }
  live.fetch_add(size, std::memory_order_relaxed);
}

Memory::~Memory() {
  live.fetch_sub(bytes, std::memory_order_relaxed);
  if (pointer && keepsAll())
    keep(pointer);
  else if (isMapped())
    munmap(pointer, bytes);
  else
    std::free(pointer);
}

bool Memory::isMapped() const { return bytes >= kMapThreshold; }

} // namespace epl::runtime
