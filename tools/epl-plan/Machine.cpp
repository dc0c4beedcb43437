#include "Machine.h"

#include "runtime/device/cpu/Contraction.h"
#include "runtime/plan/model/Mesh.h"

#include <chrono>
#include <cstring>
#include <limits>
#include <vector>

namespace epl::runtime::tool {

/// The shortest of a few runs: whatever disturbs a run makes it longer.
template <typename Action> static double bestNanoseconds(const Action &action) {
  using Clock = std::chrono::steady_clock;
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < 6; ++run) {
    Clock::time_point begin = Clock::now();
    action();
    best = std::min(best, std::chrono::duration<double, std::nano>(Clock::now() - begin).count());
  }
  return best;
}

double measureGflops(plan::ElementType type) {
  constexpr int64_t extent = 512;
  plan::ContractT contract;
  contract.type = type;
  contract.m = contract.n = contract.k = extent;
  contract.lda = contract.ldb = contract.ldc = extent;
  std::vector<double> a((extent * extent * elementBytes(type) + 7) / 8, 0.0), b(a), c(a); // no odd values
  Contraction product(contract);
  double nanoseconds = bestNanoseconds([&] { product.run(a.data(), b.data(), c.data()); });
  return 2.0 * extent * extent * extent / nanoseconds;
}

double measureGbps() {
  constexpr size_t size = size_t(1) << 26;
  std::vector<char> source(size, 1), target(size);
  double nanoseconds = bestNanoseconds([&] {
    std::memcpy(target.data(), source.data(), size);
    asm volatile("" : : "r"(target.data()) : "memory"); // nobody reads the copy: it must not be left out
  });
  return 2.0 * size / nanoseconds;
}

/// Each line of memory names the next one, in an order that no prefetcher guesses: the numbers of a linear
/// congruential generator of full period (D. Knuth, The Art of Computer Programming, 3.2.1), one cycle
/// through all lines.
double measureLatencyNanoseconds() {
  struct alignas(64) Line {
    uint32_t next;
  };
  constexpr uint32_t numLines = uint32_t(1) << 20, numSteps = numLines / 8;
  std::vector<Line> lines(numLines);
  for (uint32_t i = 0; i < numLines; ++i)
    lines[i].next = (i * 1664525U + 1013904223U) % numLines;
  uint32_t at = 0;
  double nanoseconds = bestNanoseconds([&] {
    for (uint32_t step = 0; step < numSteps; ++step)
      at = lines[at].next;
    asm volatile("" : : "r"(at) : "memory"); // nobody reads where it ends: it must not be left out
  });
  return nanoseconds / numSteps;
}

} // namespace epl::runtime::tool
