//===- Memory.cpp - Memory of a device ------------------------------------===//

#include "test/cuda/machine/Memory.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <sys/mman.h>

using namespace cuda_double;

/// Addresses of which each is given once; they cost nothing until they are used.
static constexpr uint64_t kAddresses = uint64_t(1) << 38;
static constexpr uint64_t kAlign = 256;
static constexpr uint64_t kPage = 4096;
/// Of bytes that nobody has written: as a float of 32 bits about -26,656,556.
static constexpr uint8_t kGarbage = 0xCB;

static uint64_t roundUp(uint64_t value, uint64_t align) { return (value + align - 1) / align * align; }

//===----------------------------------------------------------------------===//
// Sets of bytes
//===----------------------------------------------------------------------===//

static uint64_t maskFrom(uint64_t bit) { return ~uint64_t(0) << (bit % 64); }

/// Bits [begin, end) of one word, of which both are.
static uint64_t maskOf(uint64_t begin, uint64_t end) {
  return maskFrom(begin) & ~(end % 64 == 0 ? 0 : maskFrom(end));
}

void ByteSet::add(uint64_t begin, uint64_t size) {
  for (uint64_t end = begin + size; begin < end;) {
    uint64_t stop = std::min(end, roundUp(begin + 1, 64));
    words[begin / 64] |= maskOf(begin, stop);
    begin = stop;
  }
}

void ByteSet::clear() { std::fill(words.begin(), words.end(), 0); }

bool ByteSet::contains(uint64_t begin, uint64_t size) const {
  for (uint64_t end = begin + size; begin < end;) {
    uint64_t stop = std::min(end, roundUp(begin + 1, 64)), mask = maskOf(begin, stop);
    if ((words[begin / 64] & mask) != mask)
      return false;
    begin = stop;
  }
  return true;
}

uint64_t ByteSet::find(uint64_t begin, bool isIn) const {
  for (uint64_t word = begin / 64; word < words.size(); ++word) {
    uint64_t bits = isIn ? words[word] : ~words[word];
    if (word == begin / 64)
      bits &= maskFrom(begin);
    if (bits != 0)
      return 64 * word + std::countr_zero(bits);
  }
  return 64 * words.size();
}

//===----------------------------------------------------------------------===//
// Allocations
//===----------------------------------------------------------------------===//

DeviceMemory::DeviceMemory(uint64_t capacity) : capacity(capacity) {
  void *addresses = mmap(nullptr, kAddresses, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (addresses == MAP_FAILED)
    throw std::bad_alloc();
  reserved = next = reinterpret_cast<uint64_t>(addresses);
}

DeviceMemory::~DeviceMemory() { munmap(reinterpret_cast<void *>(reserved), kAddresses); }

/// Allocations are some bytes apart: an access behind one is in none.
std::optional<uint64_t> DeviceMemory::allocate(uint64_t size) {
  if (size == 0 || size > getFree() || next + size + kPage > reserved + kAddresses)
    return std::nullopt;
  uint64_t base = next, end = roundUp(base + size + kAlign, kAlign);
  uint64_t firstPage = base / kPage * kPage;
  if (mprotect(reinterpret_cast<void *>(firstPage), roundUp(end, kPage) - firstPage,
               PROT_READ | PROT_WRITE) != 0)
    return std::nullopt;
  std::memset(reinterpret_cast<void *>(base), kGarbage, size);
  allocations[base] = std::make_unique<Allocation>(base, size);
  next = end;
  used += size;
  return base;
}

bool DeviceMemory::release(uint64_t address) {
  auto found = allocations.find(address);
  if (found == allocations.end())
    return false;
  uint64_t size = found->second->size;
  freed[address] = size;
  used -= size;
  last = nullptr;
  allocations.erase(found);
  // The pages that no other allocation has.
  uint64_t begin = roundUp(address, kPage), end = (address + size) / kPage * kPage;
  if (begin < end)
    madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
  return true;
}

static bool holds(const Allocation &allocation, uint64_t address, uint64_t size) {
  return address >= allocation.base && address + size <= allocation.base + allocation.size &&
         address + size >= address;
}

Allocation *DeviceMemory::find(uint64_t address, uint64_t size) {
  if (last && holds(*last, address, size))
    return last;
  auto behind = allocations.upper_bound(address);
  if (behind == allocations.begin())
    return nullptr;
  Allocation *found = std::prev(behind)->second.get();
  return holds(*found, address, size) ? last = found : nullptr;
}

std::string DeviceMemory::describeMiss(uint64_t address, uint64_t size) const {
  auto behind = freed.upper_bound(address);
  if (behind != freed.begin()) {
    auto [begin, bytes] = *std::prev(behind);
    if (address < begin + bytes)
      return "memory that was freed";
  }
  auto above = allocations.upper_bound(address);
  if (above == allocations.begin())
    return "no memory of the device";
  const Allocation &nearest = *std::prev(above)->second;
  return std::to_string(address + size - nearest.base - nearest.size) +
         " bytes beyond the end of an allocation of " + std::to_string(nearest.size);
}

bool DeviceMemory::use(Allocation &allocation, uint64_t address, uint64_t size, bool isWrite) {
  uint64_t begin = address - allocation.base;
  allocation.isUsedNow = true;
  (isWrite ? allocation.writtenNow : allocation.readNow).add(begin, size);
  if (!isWrite)
    return allocation.written.contains(begin, size);
  allocation.written.add(begin, size);
  return true;
}

std::vector<Use> DeviceMemory::takeUses() {
  std::vector<Use> uses;
  for (auto &[base, allocation] : allocations) {
    if (!allocation->isUsedNow)
      continue;
    size_t first = uses.size();
    auto addTo = [&, base = base](bool isWritten) {
      return [&uses, base, isWritten](uint64_t begin, uint64_t end) {
        uses.push_back({base + begin, base + end, isWritten});
      };
    };
    allocation->readNow.forEachRange(addTo(false));
    allocation->writtenNow.forEachRange(addTo(true));
    std::sort(uses.begin() + static_cast<ptrdiff_t>(first), uses.end(),
              [](const Use &a, const Use &b) { return a.begin < b.begin; });
    allocation->readNow.clear();
    allocation->writtenNow.clear();
    allocation->isUsedNow = false;
  }
  return uses;
}

void DeviceMemory::clearSectors() {
  for (auto &[base, allocation] : allocations) {
    allocation->sectors.assign(allocation->size / 32 + 1, 0);
    allocation->loadedBy.assign(allocation->size / 32 + 1, 0);
  }
}

uint64_t DeviceMemory::countSectors() const {
  uint64_t count = 0;
  for (auto &[base, allocation] : allocations)
    count += std::count(allocation->sectors.begin(), allocation->sectors.end(), 1);
  return count;
}
