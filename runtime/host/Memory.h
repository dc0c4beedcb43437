// Owned, aligned memory of the host.
#ifndef EPL_RUNTIME_HOST_MEMORY_H
#define EPL_RUNTIME_HOST_MEMORY_H

#include <cstddef>
#include <utility>

namespace epl::runtime {

/// Memory aligned to 64 bytes; huge blocks come from the system in pages of their own.
class Memory {
public:
  static constexpr std::size_t kAlignment = 64;

  /// What a block holds at first: zeros, or anything, for what is written whole before it is read.
  enum class Fill { zeros, none };

  /// Bytes of all blocks of the process that are not freed yet; for tests and reports.
  static std::size_t liveBytes();

  /// From here on no block is given back to the system: somebody outside of the process's control, who was
  /// given the address of one, may still read or write it. For a process that is about to end.
  static void keepAll() noexcept;
  static bool keepsAll() noexcept;

  Memory() = default;
  /// Throws std::bad_alloc.
  explicit Memory(std::size_t size, Fill fill = Fill::zeros);
  Memory(Memory &&other) noexcept
      : pointer(std::exchange(other.pointer, nullptr)), bytes(std::exchange(other.bytes, 0)) {}
  Memory &operator=(Memory &&other) noexcept {
    std::swap(pointer, other.pointer);
    std::swap(bytes, other.bytes);
    return *this;
  }
  ~Memory();

  std::byte *data() const { return pointer; }
  std::size_t size() const { return bytes; }

private:
  bool isMapped() const;

  std::byte *pointer = nullptr;
  std::size_t bytes = 0;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_HOST_MEMORY_H
