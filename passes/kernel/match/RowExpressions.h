//===- RowExpressions.h - Elements of matrices and of their rows -*- C++ -*-===//
#pragma once

#include "passes/kernel/cluster/Expression.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <functional>

namespace mlir::epl {

/// An element: what an op of a node's payload makes, or, without `value`, what is loaded or constant.
/// Roundings, and what undoes them, are not looked at: it is what they are of.
struct Scalar {
  Element *node = nullptr;
  Value value;
  bool operator==(const Scalar &) const = default;
};

/// What a boolean argument of a kernel says of the elements of each matrix: true up to the diagonal, or true
/// beyond it; nothing if it says something else.
using MaskOf = std::function<std::optional<bool>(BlockArgument)>;

/// Follows the elements of tensors of a kernel back, at each point of matrices that lie one behind the other.
class RowExpressions {
public:
  /// `like` is a tensor of the matrices.
  RowExpressions(KernelOp kernel, Value like, int64_t rows, int64_t columns, MaskOf maskOf);

  /// Whether the matrices are dimensions of the tensor.
  bool isRegular() const { return areDimsWhole; }

  std::optional<Scalar> trace(Value tensor, const StridedAccess &access);
  /// An operand of the `Op` that makes an element; nothing if another one does.
  template <typename Op> std::optional<Scalar> operandOf(const Scalar &scalar, unsigned index) {
    auto op = scalar.value ? scalar.value.getDefiningOp<Op>() : Op();
    return op ? std::optional(resolve(scalar.node, op->getOperand(index))) : std::nullopt;
  }
  Scalar resolve(Element *node, Value value);
  std::optional<double> getNumber(const Scalar &scalar) const;
  /// The argument of the kernel that an element is loaded from at `access`, or null.
  BlockArgument getArgument(const Scalar &scalar, const StridedAccess &access) const;

  /// The element of a row that an `Op` combines, from `start` on, where `combined` is what it makes of the
  /// row.
  template <typename Op> std::optional<Scalar> reducedBy(std::optional<Scalar> combined, double start) {
    auto generic = combined ? getReduction(*combined, start) : linalg::GenericOp();
    auto op = generic ? generic.getBody()->getTerminator()->getOperand(0).template getDefiningOp<Op>() : Op();
    return op && combinesBoth(generic, op) ? reducedElement(generic) : std::nullopt;
  }

  /// What a select takes that is `other` where a causal mask does not hold; nothing if it is none.
  std::optional<Scalar> unmask(const Scalar &scalar, function_ref<bool(double)> isOther);
  /// Whether a condition holds up to the diagonal, or, if not `isKept`, beyond it.
  bool isCausal(const Scalar &condition, bool isKept);

  const StridedAccess &getWhole() const { return whole; }
  const StridedAccess &getLine() const { return line; }

private:
  Scalar resolve(ElementRef element);
  linalg::GenericOp getReduction(const Scalar &combined, double start) const;
  static bool combinesBoth(linalg::GenericOp generic, Operation *op);
  std::optional<Scalar> reducedElement(linalg::GenericOp generic);
  std::optional<SmallVector<StridedAccess>> findLoops(linalg::GenericOp generic) const;
  std::optional<StridedAccess> getPosition(const Scalar &scalar);

  int64_t columns;
  MaskOf maskOf;
  Extents domain;
  StridedAccess whole;             // the element itself
  StridedAccess row, column, line; // its row in its matrix, its column, its row among all
  bool areDimsWhole = true;        // each dimension is one of rows, of columns or of matrices
  DenseSet<Value> reductions;
  Expressions expressions;
};

} // namespace mlir::epl
