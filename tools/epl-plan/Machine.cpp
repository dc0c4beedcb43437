#include "Machine.h"

#include "runtime/device/cpu/Contraction.h"

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

double measureGflops() {
  constexpr int64_t extent = 512;
  plan::ContractT contract;
  contract.type = plan::ElementType::f32;
  contract.m = contract.n = contract.k = extent;
  contract.lda = contract.ldb = contract.ldc = extent;
  std::vector<float> a(extent * extent, 1.0F), b(a), c(a);
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

} // namespace epl::runtime::tool
