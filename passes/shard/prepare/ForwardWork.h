//===- ForwardWork.h - What of the forward work may be computed again -*- C++ -*-===//
//
// The forward work of one task graph, outside of loops or in the iterations of one over micro-batches, as
// `epl-recompute` sees it: which of its values are there for the backward work anyway, and who reads the
// others.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Loops.h"
#include "passes/shard/analysis/AxisState.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::epl {

/// What the values of a block are made of.
class ValueSources {
public:
  explicit ValueSources(Block &body);

  /// Whether a value depends on a batch.
  bool isOfBatch(Value value) const { return get(value).isOfBatch; }
  /// Whether a value depends on no batch, and is not much larger than an argument that it is made of: a cast
  /// of a parameter, say. A random mask is made of a key, which is much smaller.
  bool isFormOfArgument(Value value) const;

private:
  struct Source {
    bool isOfBatch = false;
    int64_t bytes = 0; ///< of the largest argument
  };
  Source get(Value value) const { return sources.lookup(value); }

  DenseMap<Value, Source> sources;
};

class ForwardWork {
public:
  ForwardWork(FlatSymbolRefAttr taskgraph, LoopAttr loop, const Loops &loops, const ValueSources &sources)
      : taskgraph(taskgraph), loop(loop), loops(&loops), sources(&sources) {}

  /// All forward work of `body`, task graphs in the order in which they begin. None of it is in a loop that
  /// is not over micro-batches.
  static SmallVector<ForwardWork, 0> findAll(Block &body, const Loops &loops, const ValueSources &sources);

  FlatSymbolRefAttr getTaskGraph() const { return taskgraph; }
  /// In program order.
  ArrayRef<Operation *> getOps() const { return ops.getArrayRef(); }
  bool contains(Operation *op) const { return ops.contains(op); }

  /// Whether a value is there for the backward work whatever is computed again: an argument, a value of other
  /// work or done once for all iterations, a constant, a form of a parameter, what the optimizer or the
  /// caller gets.
  bool isKept(Value value) const;
  bool isOfBatch(Value value) const { return sources->isOfBatch(value); }
  /// The uses of a value by work that may read what is computed again: backward work, and recomputed one, of
  /// the same task graph and loop.
  SmallVector<OpOperand *> getReaders(Value value) const;

private:
  bool isReader(Operation *op) const;

  FlatSymbolRefAttr taskgraph;
  LoopAttr loop;
  const Loops *loops;
  const ValueSources *sources;
  llvm::SetVector<Operation *> ops;
};

/// The op of the block that uses a value, in its regions maybe.
Operation *getBlockUser(OpOperand &use);

} // namespace mlir::epl
