//===- Machine.h - Kernels of PTX on the CPU --------------------*- C++ -*-===//
//
// Runs a kernel as a card may: blocks in any order, warps of a block in turns of any length, lanes of a warp
// free to diverge. A seed chooses. Every access is looked at; what is reported does not depend on whether the
// values are right, and mostly not on the seed:
//
//   bounds      an access beyond all allocations, to freed memory, or at an odd address
//   unwritten   a read of bytes that nobody has written
//   race        two accesses to a byte that no barrier orders, one of them a write (Shadow.h)
//   barrier     threads that wait at different barriers, or for others that have ended
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/cuda/machine/Arithmetic.h"
#include "test/cuda/machine/Memory.h"

namespace cuda_double {

struct Launch {
  const Entry *entry = nullptr;
  const Module *module = nullptr; ///< that it is of
  std::array<unsigned, 3> grid{1, 1, 1}, block{1, 1, 1};
  unsigned dynamicShared = 0;      ///< bytes beside what the kernel declares
  std::vector<uint8_t> parameters; ///< at the offsets that the kernel gives them
};

struct Options {
  uint64_t seed = 1;
  /// Instructions of the warps of a block. One that has not ended by then waits for another block, which may
  /// come after it: minutes on this machine.
  uint64_t mostSteps = 200'000'000;
};

/// Work that no card would survive, or that the machine does not know: where, and why.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Something wrong that does not end the work.
struct Finding {
  enum Kind : uint8_t { unwritten, race, barrier } kind;
  std::string text; ///< names the kernel, the line and the instruction
};

/// What a card would be busy with.
struct Counters {
  uint64_t launches = 0;
  uint64_t warpInstructions = 0, laneInstructions = 0;
  uint64_t divergent = 0;        ///< steps of a warp whose lanes are in several places
  uint64_t multiplyAdds = 0;     ///< of lanes, floating-point
  uint64_t specialFunctions = 0; ///< of lanes: ex2, rcp, ..
  uint64_t barriers = 0;
  struct Traffic {
    uint64_t requests = 0;     ///< instructions of warps
    uint64_t sectors = 0;      ///< of 32 bytes that they name
    uint64_t bytes = 0;        ///< of those that they use
  } loads, stores;             ///< global memory
  uint64_t sectorsTouched = 0; ///< different ones, of global memory
  uint64_t sectorsFetched = 0; ///< different ones that each block loads: what its cache asks memory for
  uint64_t sharedRequests = 0,
           sharedCycles = 0; ///< cycles: of requests whose lanes meet in a bank, more than one

  Counters &operator+=(const Counters &other);
};

/// Runs all of a grid. Throws Fault, with the kernel, the line and the instruction, for what no card would
/// survive and for a deadlock. Of findings at one instruction, the first of each kind is added.
void run(const Launch &launch, DeviceMemory &memory, const Options &options, Counters &counters,
         std::vector<Finding> &findings);

} // namespace cuda_double
