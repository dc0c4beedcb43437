//===- SortOrder.h - What a sort compares --------------------------*- C++ -*-===//
#pragma once

#include "passes/kernel/nest/KernelFunction.h"

namespace mlir::epl {

/// What of the elements at a position decides about their place, and how.
///
/// A comparator of the form `f(a) < f(b)` is taken apart: f is a key, computed once for each position. Any
/// other one compares the operands that it uses.
class SortOrder {
public:
  explicit SortOrder(SortOp sort);

  /// The operands that keys are made of, or that are compared.
  ArrayRef<unsigned> getUsedOperands() const { return used; }
  /// The types of the values that are compared: the key's, or those of the used operands.
  SmallVector<Type> getComparedTypes() const;
  /// Which of the compared values is the element of `operand` itself, if one is.
  std::optional<unsigned> findCompared(unsigned operand) const;
  /// Whether one integer is compared, by a strict order, which works on vectors as well.
  bool comparesIntegers() const;

  /// The values that are compared, for one element of each operand (null if it is not used).
  SmallVector<Value> emitCompared(ImplicitLocOpBuilder &b, ArrayRef<Value> elements) const;
  /// Whether `left` comes before `right`, both as `emitCompared` gives them.
  Value emitBefore(ImplicitLocOpBuilder &b, ArrayRef<Value> left, ArrayRef<Value> right) const;

private:
  void matchKey();
  void collectUsed();

  mutable SortOp sort;
  SmallVector<unsigned> used;
  Operation *comparison = nullptr; ///< of keys; null if there is none
  unsigned side = 0;               ///< whose elements its left operand is made of; 0: the even arguments
};

/// Whether the elements `left` come before the elements `right`, one of each operand: the comparator, cloned.
Value emitComparator(ImplicitLocOpBuilder &b, SortOp sort, ArrayRef<Value> left, ArrayRef<Value> right);

} // namespace mlir::epl
