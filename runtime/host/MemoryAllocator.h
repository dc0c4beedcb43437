// Containers whose elements are in Memory.
#ifndef EPL_RUNTIME_HOST_MEMORYALLOCATOR_H
#define EPL_RUNTIME_HOST_MEMORYALLOCATOR_H

#include "runtime/host/Memory.h"

#include <memory>

namespace epl::runtime {

/// An allocator of the standard library for large containers that are read at random places: what is large
/// has huge pages.
template <typename T> class MemoryAllocator {
public:
  using value_type = T;

  MemoryAllocator() = default;
  template <typename Other> MemoryAllocator(const MemoryAllocator<Other> &) {}

  T *allocate(std::size_t count) {
    auto memory = std::make_unique<Memory>(kHead + count * sizeof(T), Memory::Fill::none);
    std::byte *begin = memory->data();
    *reinterpret_cast<Memory **>(begin) = memory.release();
    return reinterpret_cast<T *>(begin + kHead);
  }
  void deallocate(T *elements, std::size_t) {
    delete *reinterpret_cast<Memory **>(reinterpret_cast<std::byte *>(elements) - kHead);
  }

  template <typename Other> bool operator==(const MemoryAllocator<Other> &) const { return true; }

private:
  /// In front of the elements, for the Memory that they are in.
  static constexpr std::size_t kHead = Memory::kAlignment;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_HOST_MEMORYALLOCATOR_H
