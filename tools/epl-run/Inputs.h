// Where the arguments of a run come from, and where its results go.

#ifndef EPL_TOOLS_EPL_RUN_INPUTS_H
#define EPL_TOOLS_EPL_RUN_INPUTS_H

#include "runtime/session/State.h"

#include <filesystem>
#include <optional>
#include <random>
#include <string_view>

namespace epl::runtime::tool {

/// The arguments of a plan's steps: random, or from files.
class Inputs {
public:
  /// `source` is random:SEED or a folder that holds, for the argument in slot i, the file si.bin: the
  /// elements in row-major order as NumPy's tofile writes them. Random integers are below `integerRange`;
  /// random floats are small integers, so that sums and products of a few are exact, and not negative for
  /// states, which may be variances. Throws Error if `source` is neither.
  Inputs(const std::string &source, int64_t integerRange);

  /// A new value for an argument. Throws Error if its file is missing or has another size.
  HostTensor next(const plan::PlanT &plan, size_t slot);

private:
  int64_t integerRange;
  std::filesystem::path folder;
  std::optional<std::mt19937_64> generator; // none: from files
};

/// Writes a result to si.bin in `folder`, which is made if it is missing. Throws Error.
void writeOutput(const std::filesystem::path &folder, size_t slot, const HostTensor &tensor);

/// Writes a file. Throws Error with the system's reason.
void writeFile(const std::filesystem::path &path, std::string_view content);

} // namespace epl::runtime::tool

#endif // EPL_TOOLS_EPL_RUN_INPUTS_H
