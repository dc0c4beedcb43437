//===- Recipe.h - Making a value again ---------------------------*- C++ -*-===//
//
// A cheap elementwise value of the forward work that the backward work reads need not be kept from one to the
// other, if the values that it is computed from are kept anyway:
//
//   forward    %h = matmul ...      %g = gelu %h      ... = matmul %g, %w2
//   backward   reads %h and %g:     %h is kept, and %g is computed again from it by the recipe (gelu)
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Epl.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::epl {

/// The ops that compute a value again from values that are kept for its readers anyway.
class Recipe {
public:
  /// Gives the value under which the readers find a value that is kept for them; null for one that is not.
  using KeptAs = function_ref<Value(Value)>;

  /// For the result of `op`.
  Recipe(Operation *op, KeptAs getKept);

  /// Whether there is a recipe that reads no more memory than the value itself takes, about.
  bool isGood() const;
  /// Computes the value once more, before the op of the first of `uses` and as part of that op's work, and
  /// replaces all of `uses` by it.
  void replace(ArrayRef<OpOperand *> uses);

  /// Of the ops of `uses` the first in their block.
  static Operation *getFirst(ArrayRef<OpOperand *> uses);

  /// Whether computing the op's result again costs little beside reading it from memory.
  static bool isCheap(Operation *op);
  /// Whether a reader can be part of the kernel that makes what it reads: elementwise ops and reductions of
  /// one value can, products cannot.
  static bool isReader(Operation *op);

private:
  bool add(Operation *op, KeptAs getKept);
  bool addInput(Value value, KeptAs getKept);

  int64_t size;                     ///< elements of the value
  llvm::SetVector<Operation *> ops; ///< producers first
  llvm::SmallPtrSet<Value, 4> largeInputs;
  IRMapping kept; ///< inputs, as the readers have them
  bool isValid;
};

} // namespace mlir::epl
