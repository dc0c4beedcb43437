//===- RowGradient.cpp - The gradient of the softmax of attention -----------------===//
//
// Problem: whether a fused kernel is the gradient of a softmax p along rows, where d is the gradient of p:
//   factor * p * (d - sum(d * p)).
// Method: with p = e / s that is the polynomial (RowPolynomial.h)
//   factor * (e d s^-1 - e s^-2 sum(e d)),
// whatever of e, s and p the softmax has made for it.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/match/RowGradient.h"

#include "passes/kernel/cluster/NarrowFloats.h"

using namespace mlir;
using namespace mlir::epl;

/// The factor that a polynomial has; nothing if it is another one.
static std::optional<double> getFactor(const RowPolynomial &found) {
  const RowTerm own{1, 1, -1, {}}, ofRow{1, 0, -2, {{{1, 1}, 1}}};
  if (found.size() != 2 || !found.contains(own) || !found.contains(ofRow))
    return std::nullopt;
  double factor = found.at(own), other = -found.at(ofRow);
  bool isNear = std::abs(factor - other) <= 1e-6 * std::abs(factor);
  return isNear ? std::optional(factor) : std::nullopt;
}

std::optional<double> mlir::epl::matchRowGradient(KernelOp kernel, const RowGradientArguments &arguments,
                                                  int64_t rows, int64_t columns, const MaskOf &maskOf) {
  Block &body = kernel.getBody().front();
  Operation *yield = body.getTerminator();
  if (kernel.getKind() != KernelKind::fusion || yield->getNumOperands() != 1)
    return std::nullopt;
  auto from = cast<RankedTensorType>(body.getArgument(arguments.gradient).getType()),
       to = cast<RankedTensorType>(yield->getOperand(0).getType());
  bool isFloat = to.getElementType().isF32() || isNarrowFloat(to.getElementType());
  RowExpressions expressions(kernel, body.getArgument(arguments.gradient), rows, columns, maskOf);
  if (!isFloat || from.getNumElements() != to.getNumElements() || !expressions.isRegular())
    return std::nullopt;
  auto valueOf = [&](const Scalar &scalar) -> std::optional<RowPolynomial> {
    for (bool isOfRow : {false, true}) {
      BlockArgument argument =
          expressions.getArgument(scalar, isOfRow ? expressions.getLine() : expressions.getWhole());
      if (argument && argument.getArgNumber() == arguments.gradient && !isOfRow)
        return RowPolynomial{{RowTerm{0, 1, 0, {}}, 1}};
      const auto &value = argument ? arguments.values[argument.getArgNumber()] : std::nullopt;
      if (value && value->isOfRow == isOfRow)
        return value->value;
    }
    return std::nullopt;
  };
  RowAlgebra algebra(expressions, arguments.isCausal, valueOf);
  std::optional<Scalar> element = expressions.trace(yield->getOperand(0), expressions.getWhole());
  std::optional<RowPolynomial> found = element ? algebra.expand(*element) : std::nullopt;
  return found ? getFactor(*found) : std::nullopt;
}
