// What the CPU under us can do, by CPUID.
#ifndef EPL_RUNTIME_DEVICE_CPU_FEATURES_H
#define EPL_RUNTIME_DEVICE_CPU_FEATURES_H

#include <string>
#include <string_view>
#include <vector>

namespace epl::runtime {

/// Whether this CPU has `feature`, by LLVM's name for it (avx2, avx512f, ...); false for an unknown name.
bool cpuSupports(std::string_view feature);

/// Throws Error naming every feature of `features` that this CPU lacks.
void checkCpuFeatures(const std::vector<std::string> &features);

/// All that CPUID tells which code for this CPU may depend on: the model and every feature, as one text.
std::string describeCpu();

/// The number of cores that this process may run on.
unsigned availableCores();

} // namespace epl::runtime

#endif // EPL_RUNTIME_DEVICE_CPU_FEATURES_H
