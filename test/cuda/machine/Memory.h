//===- Memory.h - Memory of a device ----------------------------*- C++ -*-===//
//
// Device memory is memory of the host, so an address is a pointer. Of each allocation it is known which bytes
// were ever written, who touched them last in the kernel that runs (Shadow.h), and what the operation that
// runs has read and written. Addresses are not given twice: whoever keeps one of freed memory is found out.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/cuda/machine/Shadow.h"

#include <map>
#include <memory>
#include <optional>
#include <span>

namespace cuda_double {

/// A set of bytes of an allocation.
class ByteSet {
public:
  explicit ByteSet(uint64_t size) : words((size + 63) / 64) {}

  void add(uint64_t begin, uint64_t size);
  void clear();
  bool contains(uint64_t begin, uint64_t size) const;
  /// Calls `visit(begin, end)` for each range of neighbors, in order.
  template <typename Visit> void forEachRange(Visit visit) const {
    uint64_t size = 64 * words.size();
    for (uint64_t begin = find(0, true); begin < size;) {
      uint64_t end = find(begin, false);
      visit(begin, end);
      begin = find(end, true);
    }
  }

private:
  /// The first byte from `begin` on that is in the set, or is not; the size if there is none.
  uint64_t find(uint64_t begin, bool isIn) const;

  std::vector<uint64_t> words;
};

struct Allocation {
  Allocation(uint64_t base, uint64_t size)
      : base(base), size(size), written(size), readNow(size), writtenNow(size) {}

  uint64_t base, size;
  ByteSet written;             ///< ever
  ByteSet readNow, writtenNow; ///< by the operation that runs
  bool isUsedNow = false;
  Shadow shadow;
  std::vector<uint8_t> sectors;   ///< of 32 bytes each: whether the kernel that runs has touched it
  std::vector<uint32_t> loadedBy; ///< the last block that has loaded it, from 1
};

/// Bytes that an operation has read or written.
struct Use {
  uint64_t begin, end;
  bool isWritten;
};

class DeviceMemory {
public:
  /// Of `capacity` bytes.
  explicit DeviceMemory(uint64_t capacity = uint64_t(64) << 30);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory &) = delete;
  DeviceMemory &operator=(const DeviceMemory &) = delete;

  /// An address, 256 bytes aligned as the driver's are; nothing if memory is full or `size` is 0. What is
  /// there is garbage.
  std::optional<uint64_t> allocate(uint64_t size);
  /// False if no allocation begins there.
  bool release(uint64_t address);
  uint64_t getFree() const { return capacity - used; }

  /// The allocation that has all of these bytes, or null.
  Allocation *find(uint64_t address, uint64_t size);
  /// What is wrong with an access that none has: "out of bounds", "freed memory".
  std::string describeMiss(uint64_t address, uint64_t size) const;

  /// Says that the operation that runs reads or writes these bytes, which an allocation has. Of a read false
  /// if some of them have never been written.
  bool use(Allocation &allocation, uint64_t address, uint64_t size, bool isWrite);
  /// What has been used since the last call, sorted by address.
  std::vector<Use> takeUses();

  /// Of the kernel that runs: forgets what the one before has touched; how many sectors were touched.
  void clearSectors();
  uint64_t countSectors() const;

private:
  uint64_t capacity, used = 0;
  uint64_t reserved = 0, next = 0; ///< addresses: all, and what was not given yet
  std::map<uint64_t, std::unique_ptr<Allocation>> allocations;
  std::map<uint64_t, uint64_t> freed; ///< address and size
  Allocation *last = nullptr;         ///< what was found last
};

} // namespace cuda_double
