//===- RowPolynomial.cpp - What a softmax and its gradient are made of ---------------===//
//
// Problem: programs write one and the same element in many ways: divided by a sum or multiplied by its
// inverse, before or behind a sum along the row, with a mask or without it. Method: an element is a
// polynomial in exponentials e, their sum s and the gradient d of the softmax, with negative exponents, and
// in sums along the row. These are taken apart into sums of single products, whose factors that the row has
// in common come before them; then equal elements are equal polynomials. Where a causal mask does not hold e
// is 0, so a select that puts 0 there does nothing to what has e as a factor.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/match/RowPolynomial.h"

using namespace mlir;
using namespace mlir::epl;

// Longer polynomials are not multiplied out.
static constexpr size_t kMostTerms = 64;

RowValue mlir::epl::getSoftmaxValue() { return {{{RowTerm{1, 0, -1, {}}, 1}}, false}; }

/// Multiplies a term with a power of sums along the row.
static void addSums(RowTerm &term, std::pair<int, int> exponents, int power) {
  int &count = term.sums[exponents];
  count += power;
  if (count == 0)
    term.sums.erase(exponents);
}

static RowTerm multiply(const RowTerm &a, const RowTerm &b, int power) {
  RowTerm made{a.e + power * b.e, a.d + power * b.d, a.s + power * b.s, a.sums};
  for (auto [exponents, count] : b.sums)
    addSums(made, exponents, power * count);
  return made;
}

static void add(RowPolynomial &to, const RowTerm &term, double factor) {
  double &own = to[term];
  own += factor;
  if (own == 0)
    to.erase(term);
}

static RowPolynomial combine(RowPolynomial left, const RowPolynomial &right, double factor) {
  for (const auto &[term, own] : right)
    add(left, term, factor * own);
  return left;
}

/// The product, or with power -1 the quotient by one term.
static RowPolynomial multiply(const RowPolynomial &left, const RowPolynomial &right, int power) {
  RowPolynomial made;
  for (const auto &[a, factor] : left)
    for (const auto &[b, other] : right)
      add(made, multiply(a, b, power), power > 0 ? factor * other : factor / other);
  return made;
}

std::optional<RowPolynomial> RowAlgebra::expand(const Scalar &scalar) {
  auto key = std::pair(static_cast<void *>(scalar.node), scalar.value.getAsOpaquePointer());
  if (auto at = known.find(key); at != known.end())
    return at->second;
  std::optional<RowPolynomial> made = valueOf(scalar);
  if (std::optional<double> number = made ? std::nullopt : expressions.getNumber(scalar))
    made = *number == 0 ? RowPolynomial() : RowPolynomial{{RowTerm(), *number}};
  else if (!made)
    made = scalar.value ? expandOp(scalar) : expandSum(scalar);
  if (made && made->size() > kMostTerms)
    made = std::nullopt;
  return known[key] = made;
}

/// A sum along the row: of exponentials that is s.
std::optional<RowPolynomial> RowAlgebra::expandSum(const Scalar &scalar) {
  std::optional<Scalar> element = expressions.reducedBy<arith::AddFOp>(scalar, 0);
  std::optional<RowPolynomial> summed = element ? expand(*element) : std::nullopt;
  if (!summed)
    return std::nullopt;
  RowPolynomial made;
  for (const auto &[term, factor] : *summed) {
    RowTerm outer = term;
    std::pair exponents(std::exchange(outer.e, 0), std::exchange(outer.d, 0));
    if (exponents == std::pair(0, 0))
      return std::nullopt;
    if (exponents == std::pair(1, 0))
      outer.s += 1;
    else
      addSums(outer, exponents, 1);
    add(made, outer, factor);
  }
  return made;
}

std::optional<RowPolynomial> RowAlgebra::expandOp(const Scalar &scalar) {
  Operation *op = scalar.value.getDefiningOp();
  if (isa_and_nonnull<arith::SelectOp>(op))
    return expandSelect(scalar);
  if (!isa_and_nonnull<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::NegFOp>(op))
    return std::nullopt;
  SmallVector<RowPolynomial> operands;
  for (Value operand : op->getOperands())
    if (std::optional<RowPolynomial> made = expand(expressions.resolve(scalar.node, operand)))
      operands.push_back(std::move(*made));
    else
      return std::nullopt;
  if (isa<arith::NegFOp>(op))
    return combine(RowPolynomial(), operands[0], -1);
  if (isa<arith::AddFOp, arith::SubFOp>(op))
    return combine(operands[0], operands[1], isa<arith::AddFOp>(op) ? 1 : -1);
  if (isa<arith::DivFOp>(op) && operands[1].size() != 1)
    return std::nullopt;
  return multiply(operands[0], operands[1], isa<arith::MulFOp>(op) ? 1 : -1);
}

std::optional<RowPolynomial> RowAlgebra::expandSelect(const Scalar &scalar) {
  std::optional<Scalar> kept =
      isCausal ? expressions.unmask(scalar, [](double other) { return other == 0; }) : std::nullopt;
  std::optional<RowPolynomial> made = kept ? expand(*kept) : std::nullopt;
  bool isZero = made && llvm::all_of(*made, [](const auto &term) { return term.first.e > 0; });
  return isZero ? made : std::nullopt;
}
