//===- Block.cpp - Whose turn it is in a block ----------------------------===//

#include "test/cuda/machine/Block.h"

#include <algorithm>
#include <atomic>

using namespace cuda_double;

/// Of kernels, for Shadow.
static uint32_t nextEpoch() {
  static std::atomic<uint32_t> last = 0;
  return ++last;
}

BlockRunner::BlockRunner(const Launch &launch, DeviceMemory &memory, const Options &options,
                         Counters &counters, std::vector<Finding> &findings)
    : launch(launch), entry(*launch.entry), memory(memory), options(options), counters(counters),
      findings(findings), random(options.seed), threads(launch.block[0] * launch.block[1] * launch.block[2]),
      grid{nextEpoch(), threads} {}

std::string BlockRunner::describe(const Instruction &instruction) const {
  return "kernel \"" + entry.name + "\", line " + std::to_string(instruction.line) + " of the PTX, " +
         instruction.text;
}

void BlockRunner::report(Finding::Kind kind, const Instruction &instruction, const std::string &what) {
  if (reported.insert({kind, instruction.line}).second)
    findings.push_back({kind, describe(instruction) + ": " + what});
}

void BlockRunner::fail(const Instruction &instruction, const std::string &what) const {
  throw Fault(describe(instruction) + ": " + what);
}

Moment BlockRunner::now(const Warp &warp, unsigned lane) const {
  return {block * threads + warp.number * 32 + lane + 1, blockTime, static_cast<uint16_t>(warp.writeTime),
          static_cast<uint16_t>(warp.readTime)};
}

std::string BlockRunner::describeThread(const Moment &moment) const {
  return "thread " + std::to_string((moment.thread - 1) % threads) + " of block " +
         std::to_string((moment.thread - 1) / threads);
}

void BlockRunner::begin(uint32_t number) {
  block = number;
  blockAt = {number % launch.grid[0], number / launch.grid[0] % launch.grid[1],
             number / launch.grid[0] / launch.grid[1]};
  blockTime = 0;
  steps = 0;
  size_t sharedBytes = entry.sharedBytes + launch.dynamicShared;
  shared.assign(sharedBytes, 0xCB);
  sharedWritten.assign(sharedBytes, false);
  sharedShadow = Shadow();
  local.assign(size_t(entry.localBytes) * threads, 0xCB);
  localWritten.assign(local.size(), false);
  warps.assign((threads + 31) / 32, Warp());
  for (Warp &warp : warps) {
    warp.number = static_cast<unsigned>(&warp - warps.data());
    unsigned left = threads - 32 * warp.number;
    warp.lanes = left >= 32 ? ~Lanes(0) : (Lanes(1) << left) - 1;
    warp.registers.assign(entry.registers.size() * 32, 0xCBCBCBCBCBCBCBCB);
  }
}

void BlockRunner::run(uint32_t number) {
  begin(number);
  auto isLive = [](const Warp &warp) { return warp.live() != 0; };
  while (std::any_of(warps.begin(), warps.end(), isLive))
    if (!runWarps())
      passBlockBarrier();
}

/// Each warp runs for a while, from one that is chosen on. False if none can.
bool BlockRunner::runWarps() {
  bool moved = false;
  size_t first = random() % warps.size();
  for (size_t i = 0; i < warps.size(); ++i) {
    Warp &warp = warps[(first + i) % warps.size()];
    for (uint64_t steps = 1 + random() % 64; steps > 0 && step(warp); --steps)
      moved = true;
  }
  return moved;
}

/// Mostly the lanes that are behind, so that they come together again; sometimes others, which run ahead.
uint32_t BlockRunner::choosePlace(const Warp &warp, Lanes ready) {
  uint32_t first = ~uint32_t(0);
  bool areApart = false;
  forEachLane(ready, [&](unsigned lane) {
    areApart |= first != ~uint32_t(0) && warp.at[lane] != first;
    first = std::min(first, warp.at[lane]);
  });
  if (!areApart)
    return first;
  ++counters.divergent;
  if (random() % 4 != 0)
    return first;
  for (uint64_t skip = random() % std::popcount(ready); skip > 0; --skip)
    ready &= ready - 1;
  return warp.at[std::countr_zero(ready)];
}

/// One instruction of the lanes that are at one place. False if all lanes wait or have ended.
bool BlockRunner::step(Warp &warp) {
  Lanes ready = warp.ready();
  if (ready == 0)
    return passWarpBarriers(warp);
  uint32_t place = choosePlace(warp, ready);
  Lanes here = 0;
  forEachLane(ready, [&](unsigned lane) { here |= Lanes(warp.at[lane] == place) << lane; });
  stepAt(warp, entry.code[place], here);
  return true;
}

static bool waitsForLanes(const Instruction &instruction) {
  return instruction.opcode == Opcode::shuffle || instruction.opcode == Opcode::vote ||
         (instruction.opcode == Opcode::barrier && instruction.modifiers.ofWarp);
}

static bool waitsForBlock(const Instruction &instruction) {
  return instruction.opcode == Opcode::barrierOf ||
         (instruction.opcode == Opcode::barrier && !instruction.modifiers.ofWarp);
}

void BlockRunner::tryToExecute(Warp &warp, const Instruction &instruction, Lanes active) {
  try {
    execute(warp, instruction, active);
  } catch (const Unsupported &error) {
    fail(instruction, error.what());
  }
}

void BlockRunner::stepAt(Warp &warp, const Instruction &instruction, Lanes here) {
  Lanes active = here;
  if (instruction.guard >= 0)
    forEachLane(here, [&](unsigned lane) {
      bool holds = (warp.get(instruction.guard, lane) & 1) != 0;
      if (holds == instruction.guardNegated)
        active &= ~(Lanes(1) << lane);
    });
  ++counters.warpInstructions;
  if (++steps > options.mostSteps)
    fail(instruction, "the block has not ended after " + std::to_string(options.mostSteps) +
                          " instructions of warps; blocks must not wait for each other");
  counters.laneInstructions += std::popcount(active);
  Lanes staying = 0;
  if (instruction.opcode == Opcode::branch) {
    forEachLane(active, [&](unsigned lane) { warp.at[lane] = instruction.operands[0].value; });
    staying = active;
  } else if (instruction.opcode == Opcode::exitOf || instruction.opcode == Opcode::returnOf) {
    warp.ended |= active;
  } else if (waitsForBlock(instruction)) {
    if (instruction.operands.size() > 1)
      fail(instruction, "barriers of some threads of a block are not known");
    warp.inBlockBarrier |= active;
    staying = active;
  } else if (waitsForLanes(instruction)) {
    waitInWarp(warp, instruction, active);
    staying = active;
  } else {
    tryToExecute(warp, instruction, active);
  }
  forEachLane(here & ~staying, [&](unsigned lane) { ++warp.at[lane]; });
}

//===----------------------------------------------------------------------===//
// Lanes that wait for each other
//===----------------------------------------------------------------------===//

void BlockRunner::waitInWarp(Warp &warp, const Instruction &instruction, Lanes active) {
  forEachLane(active, [&](unsigned lane) {
    Lanes mask = maskOf(warp, instruction, lane) & warp.lanes;
    if ((mask >> lane & 1) == 0)
      report(Finding::barrier, instruction, "a lane takes part that its mask does not name");
    warp.waitsFor[lane] = mask | Lanes(1) << lane;
  });
  warp.inWarp |= active;
  forEachLane(active, [&](unsigned lane) {
    if ((warp.inWarp >> lane & 1) != 0)
      tryToPass(warp, warp.at[lane]);
  });
}

/// Executes the instruction at `place` for lanes that wait there, if all that one of them waits for do.
bool BlockRunner::tryToPass(Warp &warp, uint32_t place) {
  Lanes waiting = 0;
  forEachLane(warp.inWarp, [&](unsigned lane) { waiting |= Lanes(warp.at[lane] == place) << lane; });
  const Instruction &instruction = entry.code[place];
  for (Lanes rest = waiting; rest != 0; rest &= rest - 1) {
    Lanes mask = warp.waitsFor[std::countr_zero(rest)];
    if ((mask & warp.live() & ~waiting) != 0)
      continue;
    if ((mask & warp.ended) != 0)
      report(Finding::barrier, instruction, "the mask names lanes that have ended");
    Lanes group = mask & waiting;
    forEachLane(group, [&](unsigned lane) {
      if (warp.waitsFor[lane] != mask)
        report(Finding::barrier, instruction, "lanes that take part have different masks");
    });
    warp.inWarp &= ~group;
    ++warp.readTime;
    if (instruction.opcode == Opcode::barrier)
      ++warp.writeTime;
    else
      execute(warp, instruction, group);
    forEachLane(group, [&](unsigned lane) { ++warp.at[lane]; });
    return true;
  }
  return false;
}

/// For when no lane is ready: others may have ended since lanes began to wait.
bool BlockRunner::passWarpBarriers(Warp &warp) {
  for (Lanes waiting = warp.inWarp; waiting != 0; waiting &= waiting - 1)
    if (tryToPass(warp, warp.at[std::countr_zero(waiting)]))
      return true;
  return false;
}

//===----------------------------------------------------------------------===//
// Barriers of the block
//===----------------------------------------------------------------------===//

void BlockRunner::failDeadlock() {
  for (Warp &warp : warps)
    if (warp.inWarp != 0)
      fail(entry.code[warp.at[std::countr_zero(warp.inWarp)]],
           "deadlock: lanes that it waits for do not come here");
  for (Warp &warp : warps)
    if (warp.inBlockBarrier != 0)
      fail(entry.code[warp.at[std::countr_zero(warp.inBlockBarrier)]],
           "deadlock: threads of the block wait at another barrier");
  fail(entry.code.front(), "deadlock");
}

void BlockRunner::checkBlockBarrier(const Warp &warp) {
  if (warp.live() == 0)
    return;
  unsigned first = std::countr_zero(warp.live());
  const Instruction &instruction = entry.code[warp.at[first]];
  if (warp.ended != 0)
    report(Finding::barrier, instruction, "threads of the warp have ended");
  forEachLane(warp.live(), [&](unsigned lane) {
    if (warp.at[lane] != warp.at[first])
      report(Finding::barrier, instruction, "threads of one warp wait at different barriers");
  });
}

/// All threads that live have come to barriers of one number, or none comes any further.
void BlockRunner::passBlockBarrier() {
  std::set<uint64_t> numbers;
  for (Warp &warp : warps) {
    if ((warp.live() & ~warp.inBlockBarrier) != 0)
      failDeadlock();
    forEachLane(warp.live(), [&](unsigned lane) {
      numbers.insert(read(warp, entry.code[warp.at[lane]].operands[0], lane));
    });
  }
  if (numbers.size() > 1)
    failDeadlock();
  for (Warp &warp : warps) {
    checkBlockBarrier(warp);
    forEachLane(warp.live(), [&](unsigned lane) { ++warp.at[lane]; });
    warp.inBlockBarrier = 0;
  }
  ++blockTime;
  ++counters.barriers;
}
