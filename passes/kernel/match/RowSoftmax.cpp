//===- RowSoftmax.cpp - The softmax between the products of attention -------------===//
//
// Problem: whether a fused kernel is a softmax along rows. Method: each element of the result is followed
// back to the input (RowExpressions.h). What is left of it then is
//   exp(s - max(s)) / sum(exp(s - max(s))), s = x * scale, or select(row >= column, x * scale, -large),
// with roundings anywhere.
// Each sum and maximum must be one of the row's elements that the numerator is of.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/match/RowSoftmax.h"

#include "passes/kernel/cluster/NarrowFloats.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::epl;

// What is masked is below this: its exponential is 0 beside that of any score.
static constexpr double kMasked = -1e30;

namespace {

class SoftmaxMatcher {
public:
  SoftmaxMatcher(KernelOp kernel, BlockArgument input, int64_t rows, int64_t columns, const MaskOf &maskOf)
      : yield(kernel.getBody().front().getTerminator()), input(input),
        expressions(kernel, input, rows, columns, maskOf) {}

  std::optional<RowSoftmax> match(unsigned rounded) {
    std::optional<Scalar> quotient =
        expressions.isRegular() ? expressions.trace(yield->getOperand(rounded), expressions.getWhole())
                                : std::nullopt;
    numerator = quotient ? expressions.operandOf<arith::DivFOp>(*quotient, 0) : std::nullopt;
    std::optional<Scalar> difference =
        numerator ? expressions.operandOf<math::ExpOp>(*numerator, 0) : std::nullopt;
    std::optional<Scalar> score =
        difference ? expressions.operandOf<arith::SubFOp>(*difference, 0) : std::nullopt;
    if (!score)
      return std::nullopt;
    sum = expressions.operandOf<arith::DivFOp>(*quotient, 1);
    if (expressions.reducedBy<arith::AddFOp>(sum, 0) != numerator ||
        expressions.reducedBy<arith::MaximumFOp>(expressions.operandOf<arith::SubFOp>(*difference, 1),
                                                 -INFINITY) != score)
      return std::nullopt;
    RowSoftmax found{1, false, {}};
    Scalar rest = *score;
    if (std::optional<Scalar> kept =
            expressions.unmask(rest, [](double other) { return other <= kMasked; })) {
      found.isCausal = true;
      rest = *kept;
    }
    rest = unscale(rest, found.scale);
    bool isInput = expressions.getArgument(rest, expressions.getWhole()) == input;
    return isInput && std::isfinite(found.scale) && findResults(found) ? std::optional(found) : std::nullopt;
  }

private:
  /// What is multiplied with constants.
  Scalar unscale(Scalar scalar, double &scale) {
    while (true) {
      bool divides = scalar.value && scalar.value.getDefiningOp<arith::DivFOp>();
      auto operand = [&](unsigned index) {
        return divides ? expressions.operandOf<arith::DivFOp>(scalar, index)
                       : expressions.operandOf<arith::MulFOp>(scalar, index);
      };
      std::optional<Scalar> left = operand(0), right = operand(1);
      if (!left)
        return scalar;
      if (!expressions.getNumber(*right) && !divides)
        std::swap(left, right);
      std::optional<double> factor = expressions.getNumber(*right);
      if (!factor)
        return scalar;
      scale = divides ? scale / *factor : scale * *factor;
      scalar = *left;
    }
  }

  /// What else the kernel makes for gradients is made of exponentials and their sums.
  bool findResults(RowSoftmax &found) {
    RowAlgebra algebra(
        expressions, found.isCausal, [&](const Scalar &scalar) -> std::optional<RowPolynomial> {
          if (scalar == numerator)
            return RowPolynomial{{RowTerm{1, 0, 0, {}}, 1}};
          return scalar == sum ? std::optional(RowPolynomial{{RowTerm{0, 0, 1, {}}, 1}}) : std::nullopt;
        });
    int64_t elements = cast<RankedTensorType>(input.getType()).getNumElements();
    for (Value result : yield->getOperands()) {
      bool isOfRow = cast<RankedTensorType>(result.getType()).getNumElements() != elements;
      std::optional<Scalar> element =
          expressions.trace(result, isOfRow ? expressions.getLine() : expressions.getWhole());
      std::optional<RowPolynomial> value = element ? algebra.expand(*element) : std::nullopt;
      if (!value)
        return false;
      found.results.push_back({std::move(*value), isOfRow});
    }
    return true;
  }

  Operation *yield;
  BlockArgument input;
  RowExpressions expressions;
  std::optional<Scalar> numerator, sum;
};

} // namespace

std::optional<RowSoftmax> mlir::epl::matchRowSoftmax(KernelOp kernel, unsigned scores, unsigned rounded,
                                                     int64_t rows, int64_t columns, const MaskOf &maskOf) {
  Block &body = kernel.getBody().front();
  if (kernel.getKind() != KernelKind::fusion)
    return std::nullopt;
  auto from = cast<RankedTensorType>(body.getArgument(scores).getType()),
       to = cast<RankedTensorType>(body.getTerminator()->getOperand(rounded).getType());
  bool isFloat = from.getElementType().isF32() || isNarrowFloat(from.getElementType());
  if (!isFloat || !isNarrowFloat(to.getElementType()) || from.getNumElements() != to.getNumElements())
    return std::nullopt;
  return SoftmaxMatcher(kernel, body.getArgument(scores), rows, columns, maskOf).match(rounded);
}

std::optional<bool> mlir::epl::matchCausalMask(KernelOp kernel, unsigned result, int64_t rows,
                                               int64_t columns) {
  Value made = kernel.getBody().front().getTerminator()->getOperand(result);
  RowExpressions expressions(kernel, made, rows, columns, [](BlockArgument) { return std::nullopt; });
  auto type = cast<RankedTensorType>(made.getType());
  std::optional<Scalar> element = kernel.getKind() == KernelKind::fusion && expressions.isRegular() &&
                                          type.getNumElements() % (rows * columns) == 0
                                      ? expressions.trace(made, expressions.getWhole())
                                      : std::nullopt;
  for (bool isKept : {true, false})
    if (element && expressions.isCausal(*element, isKept))
      return isKept;
  return std::nullopt;
}
