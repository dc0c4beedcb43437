// What devices can do, as numbers: the one place that the compiler and the tools have them from.
#ifndef EPL_RUNTIME_MACHINE_MACHINE_H
#define EPL_RUNTIME_MACHINE_MACHINE_H

#include <cstdint>
#include <span>
#include <string>

namespace epl::runtime::machine {

/// Multiply-adds a second of one device, by the type of elements.
struct Compute {
  int64_t f64, f32, f16;
};

/// Memory of one device.
struct Memory {
  int64_t bytes, bytesPerSecond, latencyNs;
};

/// What connects devices: bytes a second that one gets, and how long the first one takes.
struct Link {
  int64_t bytesPerSecond, latencyNs;
};

/// What only GPUs have. All are 0 on CPUs.
struct Gpu {
  int64_t architecture = 0;       ///< 90 of sm_90
  int64_t multiprocessors = 0;    ///< which run blocks
  int64_t clockHz = 0;            ///< the most that it reaches
  int64_t sharedBytes = 0;        ///< of shared memory, that the blocks on a multiprocessor have together
  int64_t launchNs = 0;           ///< from the end of a kernel to the begin of the next one of a graph
  int64_t hostBytesPerSecond = 0; ///< that it copies from memory of the host, or to it
};

/// A kind of devices, or what a file says of some.
struct Machine {
  std::string kind; ///< cpu, h100
  Compute compute;
  Memory memory;
  Link withinProcess, betweenProcesses, betweenNodes;
  Gpu gpu{};

  bool isGpu() const { return gpu.multiprocessors > 0; }
};

/// Those that there is a table of: "cpu" first, then GPUs.
std::span<const Machine> machines();

/// The table of a kind; null if there is none.
const Machine *findMachine(const std::string &kind);

/// `"cpu", "a100"`, and so on, or those of GPUs alone, for errors.
std::string machineKinds(bool ofGpus = false);

} // namespace epl::runtime::machine

#endif // EPL_RUNTIME_MACHINE_MACHINE_H
