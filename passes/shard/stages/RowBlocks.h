//===- RowBlocks.h - In which blocks rows of stacks are ---------*- C++ -*-===//
//
// Where stages are found stacked parameters are whole still: later each stage has the rows of its layers
// (StackRows.h). So work on rows is in the block of each, wherever its op is:
//
//   w   ── bf16 ──  row 0 │ row 1 │ row 2     a row is rounded in the block that reads it
//   dw  ── f32  ──  row 0 │ row 1 │ row 2     a concatenation of gradients, or a sum of padded ones
//
// and a stack crosses no cut, but for what reads rows of several layers together.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/shard/analysis/FactorRule.h"
#include "passes/shard/stages/WorkChain.h"

namespace mlir::epl {

/// What an op does by row.
struct RowWork {
  int64_t rows;                 ///< that its operands have
  SmallVector<unsigned> blocks; ///< of those that it computes
};

/// The forward and backward work on rows of stacks.
class RowBlocks {
public:
  RowBlocks(func::FuncOp function, const WorkChain &work);

  /// What an op does by row; null if that is nothing.
  const RowWork *getWork(Operation *op) const;
  bool hasRows(Value value) const { return rows.contains(value); }
  /// Whether forward work reads the rows of a value where they are.
  bool isReadByRow(Value value) const;

private:
  /// The rows along a dimension of a value. Those that are zero have no block.
  struct Rows {
    int64_t dim;
    SmallVector<std::optional<unsigned>> blocks;
  };

  void visit(BlockArgument argument);
  void visit(Operation *op);
  bool joinRows(Operation *op);
  bool isSliceOfRows(Operation *op) const;
  static SmallVector<std::optional<unsigned>> merge(ArrayRef<const Rows *> operands);
  SmallVector<const Rows *> getOperands(Operation *op, const FactorRule &rule, int64_t &factor) const;

  const WorkChain &work;
  DenseMap<Value, Rows> rows;
  DenseMap<Operation *, RowWork> works;
  /// How many rows stacks have.
  DenseSet<int64_t> extents;
};

} // namespace mlir::epl
