//===- Roots.h - The values that a kernel stores -------------------*- C++ -*-===//
#pragma once

#include "passes/kernel/cluster/Expression.h"

#include <vector>

namespace mlir::epl {

/// A value that a kernel stores: a result, a reduction, or a costly value that several loops read.
struct Root {
  /// What is stored; a reduction of several results has several.
  SmallVector<Value> values;
  /// Where each value goes, by linear index.
  SmallVector<StridedAccess> stores;
  /// The reduction; null for an elementwise value.
  linalg::LinalgOp reduction;
  /// If not null, what fills a part of the value, `sourceAccess` being the part's elements: an operand of an
  /// op that moves data, or the init of a reduction in memory.
  Value source;
  StridedAccess sourceAccess;
  /// The root, by number, whose value must be complete before: what is overwritten in part; -1 for none.
  int64_t after = -1;
  Extents domain;
  /// Dimensions of the domain that are reduced.
  SmallVector<bool> reduced;
  /// The reduction's iteration indices.
  SmallVector<StridedAccess> loops;
  /// An elementwise value, or the reduction's inputs (null where the payload ignores one).
  SmallVector<ElementRef> nodes;
  /// The reduction's inits, at the points where its results are.
  SmallVector<ElementRef> inits;
  /// The nest, and the place in a nest's row, where it is computed: later than all it reads from memory.
  unsigned nest = 0, level = 0;

  /// Whether each row of the nest adds to all of the result.
  bool isAccumulating() const { return !reduced.empty() && reduced.front(); }
  bool isReducing() const { return llvm::is_contained(reduced, true); }
};

/// The roots of a kernel, each with its place.
struct RootSet {
  /// What a root reads from memory stands before it.
  std::vector<Root> roots;
  /// The roots that store a value: several if they fill parts of it.
  DenseMap<Value, SmallVector<size_t>> rootsOf;
  /// Reductions and moved data: never computed where they are used.
  DenseSet<Value> materialized;
  /// Costly values: computed once by the first place that uses them, later places read them.
  SmallVector<Value> costly;
  /// Costly values that are no results.
  SmallVector<Value> temporaries;
  /// Iterations of the largest domain.
  int64_t maxVolume = 1;

  /// Whether all of `value` is in memory at level `level` of nest `nest`.
  bool isComplete(Value value, unsigned nest, unsigned level) const;
};

/// Finds the roots of a kernel. Nothing if only the general form fits.
std::optional<RootSet> collectRoots(KernelOp kernel);

/// Traces what `root` is made of over its domain.
LogicalResult traceRoot(Root &root, Expressions &expressions);
/// The same with expressions of its own; splits dimensions of the domain where views need it. Null on
/// failure.
std::unique_ptr<Expressions> traceRoot(Root &root, const DenseSet<Value> &stored);

/// Puts the loops of a reduction into the order that walks its operands through memory.
void orderLoops(Root &reduction, Expressions &expressions);

/// The binary op that adds a term to result `result` of a reduction; null if the payload is more than such
/// ops.
Operation *matchCombiner(linalg::LinalgOp reduction, unsigned result);

} // namespace mlir::epl
