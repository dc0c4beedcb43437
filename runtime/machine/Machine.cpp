#include "runtime/machine/Machine.h"

#include <algorithm>
#include <vector>

namespace epl::runtime::machine {

static constexpr int64_t kGiga = 1'000'000'000, kMega = 1'000'000, kGiB = int64_t(1) << 30;

/// Sheets count a multiply-add as two operations, and both directions of a link.
///
/// cpu: one core. 50 to 100 multiply-adds of f32 in a nanosecond, in which it gets some ten bytes from
/// another core (docs/performance.md). The latency is that of threads which share cores, where members wait
/// for each other's turn: 100 microseconds, where idle cores need less than one (`epl-plan machine`). The
/// rate is said to be one for all types, so that a step is sharded alike in each precision, though f64 takes
/// twice the time and bf16, on CPUs that multiply it, half. Figures are such that what follows from them is a
/// power of two. Between processes: shared memory, woken by the kernel; between nodes: 10 Gb/s Ethernet.
///
/// GPUs: NVIDIA's data sheets "A100 Tensor Core GPU" (80 GB SXM, 2022), "H100 Tensor Core GPU" (SXM, 2023),
/// "H200 Tensor Core GPU" (SXM, 2024) and "HGX B200" (2025, an eighth of it), multiprocessors and shared
/// memory from the architectures' tuning guides: f64 and f16 in tensor cores, dense, f32 in CUDA cores, since
/// TF32 rounds to ten bits; NVLink one way; between nodes one network card for each GPU, as in DGX systems:
/// 200 Gb/s, then 400 Gb/s; to the host PCIe of 16 lanes one way, generation 4, then 5. Latencies of links
/// are those that NCCL's tuner takes for two ranks (src/graph/tuning.cc: base 6.6 us of a ring in the
/// protocol LL, 0.6 us a step over NVLink, 2.7 over a network). No sheet says the latency of memory: public
/// measurements of cards under load. Nor the time between two kernels of a graph: about a microsecond and a
/// half on A100 and H100 in NVIDIA's blog
/// ("Constant Time Launch for Straight-Line CUDA Graphs", 2024) and others' measurements; the same is assumed
/// of later ones.
static const std::vector<Machine> &tables() {
  static const std::vector<Machine> all = {
      {"cpu",
       {83'886'080'000, 83'886'080'000, 83'886'080'000},
       {4 * kGiB, 10 * kGiga, 100},
       {10'485'760'000, 100'000},
       {5 * kGiga, 200'000},
       {1'250'000'000, 250'000}},
      {"a100",
       {9'750 * kGiga, 9'750 * kGiga, 156'000 * kGiga},
       {80 * kGiga, 2'039 * kGiga, 600},
       {300 * kGiga, 7'800},
       {300 * kGiga, 7'800},
       {25 * kGiga, 12'000},
       {80, 108, 1'410 * kMega, 164 << 10, 1'500, 32 * kGiga}},
      {"h100",
       {33'500 * kGiga, 33'500 * kGiga, 494'500 * kGiga},
       {80 * kGiga, 3'350 * kGiga, 650},
       {450 * kGiga, 7'800},
       {450 * kGiga, 7'800},
       {50 * kGiga, 12'000},
       {90, 132, 1'830 * kMega, 227 << 10, 1'500, 64 * kGiga}},
      {"h200",
       {33'500 * kGiga, 33'500 * kGiga, 494'500 * kGiga},
       {141 * kGiga, 4'800 * kGiga, 650},
       {450 * kGiga, 7'800},
       {450 * kGiga, 7'800},
       {50 * kGiga, 12'000},
       {90, 132, 1'830 * kMega, 227 << 10, 1'500, 64 * kGiga}},
      {"b200",
       {18'500 * kGiga, 37'500 * kGiga, 1'125'000 * kGiga},
       {180 * kGiga, 7'700 * kGiga, 800},
       {900 * kGiga, 7'800},
       {900 * kGiga, 7'800},
       {50 * kGiga, 12'000},
       {100, 148, 1'850 * kMega, 227 << 10, 1'500, 64 * kGiga}},
  };
  return all;
}

std::span<const Machine> machines() { return tables(); }

const Machine *findMachine(const std::string &kind) {
  auto found = std::ranges::find(tables(), kind, &Machine::kind);
  return found == tables().end() ? nullptr : &*found;
}

std::string machineKinds(bool ofGpus) {
  std::string text;
  for (const Machine &machine : tables())
    if (machine.isGpu() || !ofGpus)
      text += (text.empty() ? "\"" : ", \"") + machine.kind + '"';
  return text;
}

} // namespace epl::runtime::machine
