//===- Block.h - A block of threads that runs -------------------*- C++ -*-===//
#pragma once

#include "test/cuda/machine/Machine.h"

#include <random>
#include <set>

namespace cuda_double {

using Lanes = uint32_t; ///< a set of lanes of a warp, as bits

/// Calls `visit(lane)` for each.
template <typename Visit> void forEachLane(Lanes lanes, Visit visit) {
  for (; lanes != 0; lanes &= lanes - 1)
    visit(static_cast<unsigned>(std::countr_zero(lanes)));
}

struct Warp {
  unsigned number = 0;                  ///< in its block
  std::vector<uint64_t> registers;      ///< [register][lane]
  std::array<uint32_t, 32> at{};        ///< the next instruction of each lane
  Lanes lanes = 0, ended = 0;           ///< those that it has, and those of them that have ended
  Lanes inBlockBarrier = 0, inWarp = 0; ///< those that wait: for the block, for lanes of the warp
  std::array<Lanes, 32> waitsFor{};     ///< of lanes that wait for others of the warp: these
  Lanes carry = 0;
  uint32_t writeTime = 0, readTime = 0; ///< Moment has them

  Lanes live() const { return lanes & ~ended; }
  Lanes ready() const { return live() & ~inBlockBarrier & ~inWarp; }
  uint64_t &get(int number, unsigned lane) { return registers[static_cast<size_t>(number) * 32 + lane]; }
};

/// Runs the blocks of a grid, one after another.
class BlockRunner {
public:
  BlockRunner(const Launch &launch, DeviceMemory &memory, const Options &options, Counters &counters,
              std::vector<Finding> &findings);

  void run(uint32_t block);

private:
  // Block.cpp: whose turn it is.
  void begin(uint32_t block);
  bool runWarps();
  bool step(Warp &warp);
  uint32_t choosePlace(const Warp &warp, Lanes ready);
  void tryToExecute(Warp &warp, const Instruction &instruction, Lanes active);
  void stepAt(Warp &warp, const Instruction &instruction, Lanes here);
  void passBlockBarrier();
  void checkBlockBarrier(const Warp &warp);
  bool passWarpBarriers(Warp &warp);
  void waitInWarp(Warp &warp, const Instruction &instruction, Lanes active);
  bool tryToPass(Warp &warp, uint32_t place);
  [[noreturn]] void failDeadlock();

  // Execute.cpp: what instructions do. All for the lanes `active` of `warp`, whose next instruction it is.
  void execute(Warp &warp, const Instruction &instruction, Lanes active);
  void executeMove(Warp &warp, const Instruction &instruction, Lanes active);
  void executeCompute(Warp &warp, const Instruction &instruction, Lanes active);
  void executeSetPredicate(Warp &warp, const Instruction &instruction, Lanes active);
  void executeShuffle(Warp &warp, const Instruction &instruction, Lanes active);
  void executeVote(Warp &warp, const Instruction &instruction, Lanes active);
  void executeConvert(Warp &warp, const Instruction &instruction, Lanes active);
  void executeInsertBits(Warp &warp, const Instruction &instruction, Lanes active);
  void executeLogic(Warp &warp, const Instruction &instruction, Lanes active);
  uint64_t read(Warp &warp, const Operand &operand, unsigned lane);
  uint64_t readSpecial(const Warp &warp, Special special, unsigned lane) const;
  void write(Warp &warp, const Operand &operand, unsigned lane, uint64_t value);
  Lanes maskOf(Warp &warp, const Instruction &instruction, unsigned lane);

  // Access.cpp: memory.
  struct Access {
    Space space;
    uint64_t address;
    unsigned size;
    AccessKind kind;
    const uint8_t *stored; ///< of a write: the bytes
  };
  void executeAccess(Warp &warp, const Instruction &instruction, Lanes active);
  void executeAtomic(Warp &warp, const Instruction &instruction, Lanes active);
  void executeConvertAddress(Warp &warp, const Instruction &instruction, Lanes active);
  uint64_t addressOf(Warp &warp, const Operand &operand, unsigned lane);
  uint8_t *find(Warp &warp, const Instruction &instruction, unsigned lane, const Access &access);
  uint8_t *findGlobal(Warp &warp, const Instruction &instruction, unsigned lane, const Access &access);
  uint8_t *findShared(Warp &warp, const Instruction &instruction, unsigned lane, const Access &access);
  uint8_t *findLocal(Warp &warp, const Instruction &instruction, unsigned lane, const Access &access);
  uint8_t *findVariable(const Instruction &instruction, const Access &access);
  uint8_t *findParameter(const Instruction &instruction, const Access &access);
  void checkRace(Warp &warp, const Instruction &instruction, unsigned lane, Shadow &shadow, uint64_t bytes,
                 uint64_t offset, const Access &access, const uint8_t *now, Epoch epoch);
  void count(const Instruction &instruction, Lanes active, const std::array<uint64_t, 32> &addresses,
             unsigned size);
  void countShared(Lanes active, const std::array<uint64_t, 32> &addresses, unsigned size);

  std::string describe(const Instruction &instruction) const;
  void report(Finding::Kind kind, const Instruction &instruction, const std::string &what);
  [[noreturn]] void fail(const Instruction &instruction, const std::string &what) const;
  Moment now(const Warp &warp, unsigned lane) const;
  std::string describeThread(const Moment &moment) const;

  const Launch &launch;
  const Entry &entry;
  DeviceMemory &memory;
  const Options &options;
  Counters &counters;
  std::vector<Finding> &findings;
  std::set<std::pair<Finding::Kind, unsigned>> reported; ///< what, in which line
  std::mt19937_64 random;

  unsigned threads;   ///< of a block
  Epoch grid;         ///< of global memory
  uint32_t block = 0; ///< its number in the grid
  std::array<unsigned, 3> blockAt{};
  uint32_t blockTime = 0;
  uint64_t steps = 0; ///< of the warps of the block
  std::vector<Warp> warps;
  std::vector<uint8_t> shared, local;
  std::vector<bool> sharedWritten, localWritten;
  Shadow sharedShadow;
};

} // namespace cuda_double
