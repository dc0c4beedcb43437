//===- Machine.cpp - Kernels of PTX on the CPU ----------------------------===//

#include "test/cuda/machine/Block.h"

#include <algorithm>

using namespace cuda_double;

static void add(Counters::Traffic &sum, const Counters::Traffic &other) {
  sum.requests += other.requests;
  sum.sectors += other.sectors;
  sum.bytes += other.bytes;
}

Counters &Counters::operator+=(const Counters &other) {
  launches += other.launches;
  warpInstructions += other.warpInstructions;
  laneInstructions += other.laneInstructions;
  divergent += other.divergent;
  multiplyAdds += other.multiplyAdds;
  specialFunctions += other.specialFunctions;
  barriers += other.barriers;
  add(loads, other.loads);
  add(stores, other.stores);
  sectorsTouched += other.sectorsTouched;
  sectorsFetched += other.sectorsFetched;
  sharedRequests += other.sharedRequests;
  sharedCycles += other.sharedCycles;
  return *this;
}

void cuda_double::run(const Launch &launch, DeviceMemory &memory, const Options &options, Counters &counters,
                      std::vector<Finding> &findings) {
  std::vector<uint32_t> blocks(uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2]);
  for (size_t i = 0; i < blocks.size(); ++i)
    blocks[i] = static_cast<uint32_t>(i);
  std::shuffle(blocks.begin(), blocks.end(), std::mt19937_64(options.seed));
  memory.clearSectors();
  ++counters.launches;
  BlockRunner runner(launch, memory, options, counters, findings);
  for (uint32_t block : blocks)
    runner.run(block);
  counters.sectorsTouched += memory.countSectors();
}
