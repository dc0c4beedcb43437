//===- Progress.h - How far a compilation is --------------------*- C++ -*-===//
#pragma once

#include "mlir/Pass/PassManager.h"

namespace mlir::epl {

/// Lines for the program that started the compiler: "progress: 43% shard, epl-place", "progress: 81% codegen,
/// 12/40 kernels". They go to stderr, and come in order.
class Progress {
public:
  enum class Phase { parse, annotate, shard, localize, kernel, codegen, plan };

  explicit Progress(bool enabled) : enabled(enabled) {}

  /// Ends the phase before and begins the next one.
  void begin(Phase next);
  /// Counts the passes of `pm` as parts of the phase.
  void watch(PassManager &pm);
  /// Says that `done` of `total` parts of the phase are done. Calls must not overlap.
  void report(size_t done, size_t total, StringRef what);

private:
  bool enabled;
  Phase phase = Phase::parse;
};

} // namespace mlir::epl
