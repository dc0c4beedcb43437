//===- Shadow.h - Who touched memory last -----------------------*- C++ -*-===//
//
// Two accesses of different threads to a byte, one of them a write, are a race if no barrier is between them:
//
//   threads                    | ordered by
//   ---------------------------+---------------------------------------------------------------
//   of different blocks        | nothing
//   of one block               | bar.sync, which both have passed in between
//   of one warp                | also bar.warp.sync; a read before a write, by shfl and vote, too
//
// A thread's time is how many of each it has passed. Of a byte, the last write is known and two reads that no
// barrier orders: whoever writes next races with one of these if it is not its own. Reference: Flanagan,
// Freund, "FastTrack", PLDI 2009, which this follows with barriers in the place of locks.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace cuda_double {

/// A thread of the kernel that runs, and when.
struct Moment {
  uint32_t thread = 0;    ///< in the grid, from 1; 0 is nobody
  uint32_t blockTime = 0; ///< barriers of the block
  uint16_t writeTime = 0; ///< barriers of the warp
  uint16_t readTime = 0;  ///< these, and shuffles and votes
};

/// A kernel or a block that runs, which has accesses of its own.
struct Epoch {
  uint32_t number; ///< from 1; what another has done is over
  uint32_t threadsPerBlock;
};

enum class AccessKind : uint8_t { read, write, atomic };

/// What a race is between: how the one before came, and who it was.
struct Race {
  AccessKind before;
  Moment who;
};

/// One piece of memory.
class Shadow {
public:
  /// Notes an access of `size` bytes at `offset` in a memory of `bytes`. `same`: it writes what is there
  /// already, which races with no other write. The first race, or one of thread 0.
  Race access(uint64_t bytes, uint64_t offset, uint64_t size, AccessKind kind, const Moment &now, Epoch epoch,
              bool same);

private:
  struct Cell {
    uint32_t epoch = 0;
    bool isSplit = false, isAtomic = false;
    Moment writer;
    std::array<Moment, 2> readers;
  };

  static Race access(Cell &cell, AccessKind kind, const Moment &now, uint32_t threadsPerBlock, bool same);

  std::vector<Cell> cells;                                 ///< of 4 bytes each
  std::unordered_map<uint64_t, std::array<Cell, 4>> bytes; ///< of those that were touched in part
};

} // namespace cuda_double
