//===- Branches.h - What is read only where a predicate holds ---*- C++ -*-===//
//
// Problem: a branch is no region. The ops of both sides stand in the flat list, and a selection by a scalar
// predicate takes the result of one. Which ops need not be done if the predicate is true, which if it is
// false?
//
//   %a = exp %x                   only the true side reads it      guard {%p = true}
//   %b = log %x                   only the false side reads it     guard {%p = false}
//   %c = add %x, %y               both sides read it               no guard
//   %d = mul %b, %c               only the false side reads it     guard {%p = false}
//   %r = select %p, (%a + %c), %d
//
// Method: an op has a guard if each use of its results is on that side of a selection, or is by an op that
// has the guard itself. This is computed backwards, users before producers, and again until nothing changes,
// since values that a loop carries are read by the next iteration. A predicate that is computed in the
// iterations of a loop guards ops of these iterations only, one that is made of what leaves a loop none of
// that loop. Reference: the reverse of J. Allen et al., Conversion of control dependence to data dependence,
// 1983 (if-conversion).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Loops.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::epl {

/// A predicate, a `tensor<i1>`, and the value that it must have.
struct Literal {
  Value predicate;
  bool expected;

  bool operator==(const Literal &) const = default;
};

} // namespace mlir::epl

template <> struct llvm::DenseMapInfo<mlir::epl::Literal> {
  using Predicate = DenseMapInfo<mlir::Value>;

  static mlir::epl::Literal getEmptyKey() { return {Predicate::getEmptyKey(), false}; }
  static mlir::epl::Literal getTombstoneKey() { return {Predicate::getTombstoneKey(), false}; }
  static unsigned getHashValue(const mlir::epl::Literal &literal) {
    return Predicate::getHashValue(literal.predicate) * 2 + literal.expected;
  }
  static bool isEqual(const mlir::epl::Literal &a, const mlir::epl::Literal &b) { return a == b; }
};

namespace mlir::epl {

/// The branches of a block of a global or local program, as it was when this was made.
class Branches {
public:
  explicit Branches(Block &body);

  /// The guard of an op of the block: its results are read only if all of these literals hold. Empty: always.
  SmallVector<Literal> getGuard(Operation *op) const;
  /// The guard of a use by an op of the block: the value matters there only if all of these hold.
  SmallVector<Literal> getGuard(OpOperand &use) const;

  /// Whether there is any selection by a scalar.
  bool empty() const { return literals.empty(); }

private:
  void addSides(Block &body);
  void findLoopsBefore();
  bool update(Operation &op);
  llvm::BitVector computeGuard(Operation &op) const;
  llvm::BitVector getUsesGuard(ValueRange values, bool &isRead) const;
  SmallVector<Literal> getLiterals(const llvm::BitVector &guard) const;

  Block &body;
  Loops loops;
  llvm::SetVector<Literal> literals;
  SmallVector<DenseSet<LoopAttr>>
      loopsBefore;                       ///< of each literal: what its predicate is made of leaves these
  DenseMap<OpOperand *, unsigned> sides; ///< of selections, and the literal by which they are taken
  DenseMap<Operation *, llvm::BitVector> guards;
};

/// The scalar by which an elementwise op selects one of two inputs, and the two; nothing for other ops.
struct Selection {
  Value predicate, onTrue, onFalse;
};
std::optional<Selection> matchSelection(Operation *op);

} // namespace mlir::epl
