//===- Branches.h - What is read only where a predicate holds ---*- C++ -*-===//
//
// Problem: a branch is no region. The ops of all branches stand in the flat list, and elementwise selections
// by a scalar predicate take the results of one: which ops need not be done where the predicate is otherwise?
// Method: an op whose results are read by one side of selections only, or by ops of which that holds, is
// guarded by that side. Users before producers, until nothing changes: what iterations carry is read by the
// next one. A predicate of the iterations of a loop guards ops of these iterations only. Reference: J. Allen
// et al., Conversion of control dependence to data dependence, 1983, backwards.
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

  /// Where one of these does not hold nobody reads what `op`, of the block, makes.
  SmallVector<Literal> getGuard(Operation *op) const;
  /// Where one of these does not hold the use, by an op of the block, does not matter.
  SmallVector<Literal> getGuard(OpOperand &use) const;

  /// Whether there is any selection by a scalar.
  bool empty() const { return literals.empty(); }

private:
  void addSides(Block &body);
  bool update(Operation &op);
  llvm::BitVector computeGuard(Operation &op) const;
  llvm::BitVector getUsesGuard(ValueRange values, bool &isRead) const;
  SmallVector<Literal> getLiterals(const llvm::BitVector &guard) const;

  Block &body;
  Loops loops;
  llvm::SetVector<Literal> literals;
  DenseMap<OpOperand *, unsigned> sides; ///< of selections, and the literal by which they are taken
  DenseMap<Operation *, llvm::BitVector> guards;
};

/// The scalar by which an elementwise op selects one of two inputs, and the two; nothing for other ops.
struct Selection {
  Value predicate, onTrue, onFalse;
};
std::optional<Selection> matchSelection(Operation *op);

} // namespace mlir::epl
