// What the CPU under us can do, by CPUID. The environment variable EPL_CPU makes it less: "x86-64",
// "x86-64-v2", "-v3" or "-v4" hides what goes beyond that level of the psABI, so that a plan runs, with its
// libraries, as it would on such a machine. Unset, empty or "host" hides nothing.
#ifndef EPL_RUNTIME_DEVICE_CPU_FEATURES_H
#define EPL_RUNTIME_DEVICE_CPU_FEATURES_H

#include <string>
#include <string_view>
#include <vector>

namespace epl::runtime {

/// Whether this CPU has `feature`, by LLVM's name for it (avx2, avx512f, ...); false for an unknown name and
/// for what EPL_CPU hides. Throws Error if EPL_CPU names no level.
bool cpuSupports(std::string_view feature);

/// Hides from here on what goes beyond a level, as EPL_CPU does. To be called before code for the CPU is
/// chosen. Throws Error if the CPU has no such level, or hides some of it already.
void limitCpu(const std::string &level);

/// Throws Error naming every feature of `features` that this CPU lacks.
void checkCpuFeatures(const std::vector<std::string> &features);

/// All that code for this CPU may depend on, as one text: the model (with EPL_CPU the level) and every
/// feature.
std::string describeCpu();

/// The highest level of the psABI, "x86-64" to "x86-64-v4", all of whose features this CPU has.
std::string describeLevel();

} // namespace epl::runtime

#endif // EPL_RUNTIME_DEVICE_CPU_FEATURES_H
