//===- RowPolynomial.h - What a softmax and its gradient are made of -*- C++ -*-===//
#pragma once

#include "passes/kernel/match/RowExpressions.h"

#include <map>

namespace mlir::epl {

/// For an element of a row whose softmax is e / s, e being exponentials and s their sum, and d the gradient
/// of the softmax: e^i d^j s^k, times sums along the row of e^i d^j by their exponents.
struct RowTerm {
  int e = 0, d = 0, s = 0;
  std::map<std::pair<int, int>, int> sums;
  auto operator<=>(const RowTerm &) const = default;
};

/// Terms by what each is multiplied with, which is not 0.
using RowPolynomial = std::map<RowTerm, double>;

/// What a tensor has for each element of matrices, or for each of their rows.
struct RowValue {
  RowPolynomial value;
  bool isOfRow;

  bool operator==(const RowValue &) const = default;
};

/// The softmax itself.
RowValue getSoftmaxValue();

/// Writes elements as polynomials.
class RowAlgebra {
public:
  /// `valueOf` says what some elements are: before anything else is asked.
  using ValueOf = std::function<std::optional<RowPolynomial>(const Scalar &)>;

  RowAlgebra(RowExpressions &expressions, bool isCausal, ValueOf valueOf)
      : expressions(expressions), isCausal(isCausal), valueOf(std::move(valueOf)) {}

  /// Nothing if the element is none, or one of many terms.
  std::optional<RowPolynomial> expand(const Scalar &scalar);

private:
  std::optional<RowPolynomial> expandOp(const Scalar &scalar);
  std::optional<RowPolynomial> expandSum(const Scalar &scalar);
  std::optional<RowPolynomial> expandSelect(const Scalar &scalar);

  RowExpressions &expressions;
  bool isCausal;
  ValueOf valueOf;
  std::map<std::pair<void *, const void *>, std::optional<RowPolynomial>> known;
};

} // namespace mlir::epl
