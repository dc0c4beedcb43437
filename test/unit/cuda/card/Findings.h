// What the stand-in of the driver has found, if that is the driver.
#ifndef EPL_TEST_UNIT_CUDA_CARD_FINDINGS_H
#define EPL_TEST_UNIT_CUDA_CARD_FINDINGS_H

#include "test/cuda/driver/Control.h"

#include <dlfcn.h>

#include <string>
#include <vector>

namespace epl::runtime::cuda::test {

/// A function of Control.h; null of a real driver.
template <typename Function> Function *findControl(const char *name) {
  static void *const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return driver ? reinterpret_cast<Function *>(dlsym(driver, name)) : nullptr;
}

inline std::vector<std::string> findings() {
  auto *count = findControl<decltype(eplCudaCountFindings)>("eplCudaCountFindings");
  auto *get = findControl<decltype(eplCudaGetFinding)>("eplCudaGetFinding");
  std::vector<std::string> all;
  for (size_t number = 0; count && number < count(); ++number)
    all.emplace_back(get(number));
  return all;
}

/// Forgets them, and chooses another order.
inline void restart(uint64_t seed) {
  if (auto *function = findControl<decltype(eplCudaRestart)>("eplCudaRestart"))
    function(seed);
}

} // namespace epl::runtime::cuda::test

#endif // EPL_TEST_UNIT_CUDA_CARD_FINDINGS_H
