//===- Forms.h - Kernels in the form that the compiler chooses -----*- C++ -*-===//
#pragma once

#include "mlir/Support/LLVM.h"

#include <string>

namespace mlir::epl::test {

/// How `checkForms` checks.
struct FormChecks {
  unsigned seed = 0;
  std::string form = {};   ///< that the kernels are expected to have; "": any
  bool withSpecial = true; ///< with infinities and NaN among the data, too
};

/// Compiles the kernels of `text` twice: op by op in scalar loops, and for `cpu` in the form that the
/// compiler chooses. Both run on the same random data, the second one whole and in slices cut at odd places.
/// Results that differ are test failures.
void checkForms(const std::string &text, const std::string &cpu, const FormChecks &checks = {});

/// The same for the threads of a GPU, on the stand-in of one, which also looks for races and for reads of
/// what nobody wrote; in two orders of the threads.
void checkFormsOnGpu(const std::string &text, const FormChecks &checks = {});

/// CPUs with vectors of 128, 256 and 512 bits, without and with multiply-add.
constexpr const char *kLevels[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
/// Whether this machine executes code for `cpu`.
bool canExecute(StringRef cpu);

} // namespace mlir::epl::test
