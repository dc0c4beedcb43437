//===- SortNest.h - The loops of a kernel that sorts ---------------*- C++ -*-===//
#pragma once

#include "passes/kernel/cluster/Expression.h"
#include "passes/kernel/nest/KernelFunction.h"

namespace mlir::epl {

/// A kernel that does nothing else than sorting.
struct SortPlan {
  SortOp sort;
  SmallVector<unsigned> yielded; ///< the operand whose sorted elements each output holds
  Extents domain;                ///< the operands' dimensions, without those of extent 1
  /// The element of each operand at a point of the domain.
  SmallVector<ElementRef> elements;
  std::unique_ptr<Expressions> expressions;
  std::unique_ptr<DenseSet<Value>> stored;
  int64_t rows;   ///< of the operands, along the sorted dimension
  int64_t extent; ///< slices: blocks of rows
};

/// The sort that `kernel` is. Nothing if it is something else, or empty.
std::optional<SortPlan> matchSort(KernelOp kernel);

/// Fills `function` with the loops of a sort.
void emitSortNest(KernelOp kernel, const SortPlan &plan, KernelFunction &function);

} // namespace mlir::epl
