//===- Recipe.h - Making a value again ---------------------------*- C++ -*-===//
//
// A cheap elementwise value that is read long after it was made need not be kept if what it is made of is.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Epl.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::epl {

/// The ops that make a value again from values that its readers have anyway.
class Recipe {
public:
  /// What the readers have of a value that they have anyway, else null.
  using KeptAs = function_ref<Value(Value)>;

  /// For the result of `op`.
  Recipe(Operation *op, KeptAs getKept);

  /// Whether there is a recipe that reads no more memory than the value itself takes, about.
  bool isGood() const;
  /// Makes the value again before the first of `uses`, all by readers, as part of its work, for all of them.
  void replace(ArrayRef<OpOperand *> uses);

  /// The first reader of some in their block.
  static Operation *getFirst(ArrayRef<OpOperand *> uses);

  /// Whether making the op's result again costs little beside reading it.
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
