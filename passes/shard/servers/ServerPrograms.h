//===- ServerPrograms.h - What servers do to blocks -------------*- C++ -*-===//
#pragma once

#include "passes/shard/servers/StepSplit.h"

namespace mlir::epl {

/// How parameters are cut into blocks.
struct BlockOptions {
  int64_t servers = 1;         ///< blocks of a parameter at most
  int64_t minBlockSize = 8192; ///< elements of a block at least, if a parameter has them
  bool slice = true;           ///< else each parameter is one block
  /// Whether programs take the parameter as the gradient's worker had it, w', and g + g g (w - w') in the
  /// place of the gradient g (DC-ASGD).
  bool compensate = false;
};

/// A part of a group, which one server holds.
struct ServerBlock {
  std::string name;     ///< the parameter's; with ".block0" behind it where there are several
  int64_t begin, rows;  ///< of dimension 0 of what is sliced; 0 and 1 of a number
  int64_t offset, size; ///< the same of the parameter in elements
  std::string program;  ///< the function that updates it
};

/// How a group is done: one argument of its programs each.
struct GroupPlan {
  enum class Kind { parameter, state, own, constant, push, backup };
  struct Argument {
    Kind kind;
    Value value; ///< of the step
    bool isSliced;
  };
  SmallVector<Argument> arguments; ///< states first, then autonomous ones, which results update in order
  SmallVector<ServerBlock> blocks;
};

/// Writes a function, without stamps, for each distinct program of blocks before the step. Gives the plans of
/// the groups in their order. With `explain` remarks say which parameters one server has whole.
SmallVector<GroupPlan> writeServerPrograms(const StepSplit &split, const BlockOptions &options, bool explain);

} // namespace mlir::epl
