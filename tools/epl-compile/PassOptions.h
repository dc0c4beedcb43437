//===- PassOptions.h - MLIR's options for looking into passes ---*- C++ -*-===//
//
// Who debugs a compilation knows MLIR's options from mlir-opt. epl-compile runs a pass manager for each phase
// and takes its command line by CLI11, so what begins with --mlir- goes to LLVM's parser, and what it asks
// for holds for every phase.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"

namespace mlir::epl {

/// The option that `Reproducer` serves instead of MLIR.
inline constexpr const char *kReproducerOption = "--mlir-pass-pipeline-crash-reproducer";

/// What --help says of the options that `takeMlirOptions` takes.
inline constexpr const char *kMlirOptionsHelp =
    "MLIR's options for debugging passes, each with its value behind '=' (docs/debugging.md):\n"
    "  --mlir-print-ir-{before,after}[=PASS], -all, -change, -failure, --mlir-print-ir-tree-dir=DIR,\n"
    "  --mlir-print-ir-module-scope, --mlir-timing";

/// Takes the arguments that begin with --mlir-, but for `kReproducerOption`, out of `arguments` and sets
/// what they say. False, with an error on standard error, for one that MLIR does not know.
bool takeMlirOptions(std::vector<char *> &arguments);

/// Makes the pass manager print what the options ask for. Its timing begins after this.
void applyMlirOptions(PassManager &pm);

/// Sets how times are printed, and whether.
void applyMlirOptions(DefaultTimingManager &timing);

/// A phase that can be run again. MLIR's own way recovers from a signal by handlers of its own, which have no
/// stack left where the stack overflowed and say nothing of the phase. So the module is written before the
/// phase begins, with its passes, and goes when the phase is done; whatever ends the process in between, the
/// file is there.
class Reproducer {
public:
  /// `file` is empty if none is asked for.
  Reproducer(StringRef file, StringRef phase) : file(file), phase(phase) {}

  /// Writes the module and the passes of `pm`. Fails, with an error, if it cannot.
  LogicalResult begin(PassManager &pm, ModuleOp module);

  /// Removes the file of a phase that has gone well; else says where it is. Gives `result`.
  LogicalResult end(LogicalResult result);

private:
  std::string file, phase;
};

} // namespace mlir::epl
