#include "runtime/device/cpu/Memory.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <sys/mman.h>

namespace epl::runtime {

// From here on a block is mapped: it is then worth huge pages, and its zeros cost nothing until touched.
static constexpr std::size_t kMapThreshold = std::size_t(4) << 20;

Memory::Memory(std::size_t size) : bytes(size) {
  if (size == 0)
    return;
  if (isMapped()) {
    void *mapping = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED)
      throw std::bad_alloc();
    // Advice only: where the kernel has no huge pages, small ones serve.
    (void)madvise(mapping, size, MADV_HUGEPAGE);
    pointer = static_cast<std::byte *>(mapping);
    return;
  }
  std::size_t rounded = (size + kAlignment - 1) / kAlignment * kAlignment;
  pointer = static_cast<std::byte *>(std::aligned_alloc(kAlignment, rounded));
  if (!pointer)
    throw std::bad_alloc();
  std::memset(pointer, 0, rounded);
}

Memory::~Memory() {
  if (isMapped())
    munmap(pointer, bytes);
  else
    std::free(pointer);
}

bool Memory::isMapped() const { return bytes >= kMapThreshold; }

} // namespace epl::runtime
