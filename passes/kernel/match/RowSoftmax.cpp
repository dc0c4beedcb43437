//===- RowSoftmax.cpp - The softmax between the products of attention -------------===//
//
// Problem: whether a fused kernel is a softmax along rows, however many ops, views and broadcasts it is
// written with. Method: each element of the result is followed back to the input (Expression.h), in which
// equal elements are one node. What is left of it then is
//   round(exp(s - max(s)) / sum(exp(s - max(s)))), s = x * scale, or select(row >= column, x * scale,
//   -large).
// Sums and maxima are values of their own; each must be one of the row's elements that the numerator is of.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/match/RowSoftmax.h"

#include "passes/kernel/cluster/Expression.h"
#include "passes/kernel/cluster/NarrowFloats.h"
#include "passes/kernel/cluster/OpRoles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::epl;
using linalg::GenericOp;

// What is masked is below this: its exponential is 0 beside that of any score.
static constexpr double kMasked = -1e30;

namespace {

/// An element: what an op of a node's payload makes, or, without `value`, what is loaded or constant.
struct Scalar {
  Element *node = nullptr;
  Value value;
  bool operator==(const Scalar &) const = default;
};

class SoftmaxMatcher {
public:
  SoftmaxMatcher(KernelOp kernel, int64_t rows, int64_t columns)
      : body(kernel.getBody().front()), input(body.getArgument(0)), columns(columns),
        domain(getLongDims(input)), whole(StridedAccess::identity(domain)), reductions(findReductions(body)),
        expressions(domain, reductions) {
    row = column = line = StridedAccess::constant(0, domain.size());
    for (auto [dim, stride] : llvm::enumerate(whole.strides)) {
      int64_t reach = stride * domain[dim];
      if (stride < columns)
        column.strides[dim] = stride, areDimsWhole &= reach <= columns;
      else
        line.strides[dim] = stride / columns;
      if (stride >= columns && stride < rows * columns)
        row.strides[dim] = stride / columns, areDimsWhole &= reach <= rows * columns;
    }
  }

  std::optional<RowSoftmax> match() {
    FailureOr<ElementRef> result = expressions.trace(body.getTerminator()->getOperand(0), whole);
    if (!areDimsWhole || failed(result))
      return std::nullopt;
    std::optional<Scalar> quotient = operandOf<arith::TruncFOp>(resolve(*result), 0);
    std::optional<Scalar> numerator = quotient ? operandOf<arith::DivFOp>(*quotient, 0) : std::nullopt;
    std::optional<Scalar> difference = numerator ? operandOf<math::ExpOp>(*numerator, 0) : std::nullopt;
    std::optional<Scalar> score = difference ? operandOf<arith::SubFOp>(*difference, 0) : std::nullopt;
    if (!score || reducedBy<arith::AddFOp>(operandOf<arith::DivFOp>(*quotient, 1), 0) != numerator ||
        reducedBy<arith::MaximumFOp>(operandOf<arith::SubFOp>(*difference, 1), -INFINITY) != score)
      return std::nullopt;
    RowSoftmax found{1, false};
    Scalar rest = *score;
    if (std::optional<Scalar> kept = unmask(rest)) {
      found.isCausal = true;
      rest = *kept;
    }
    rest = unscale(rest, found.scale);
    bool isInput = !rest.value && rest.node && rest.node->kind == Element::Kind::load &&
                   rest.node->tensor == input && rest.node->access == whole;
    return isInput && std::isfinite(found.scale) ? std::optional(found) : std::nullopt;
  }

private:
  /// The extents of more than one element: positions along others differ in nothing.
  static Extents getLongDims(Value tensor) {
    Extents extents(cast<RankedTensorType>(tensor.getType()).getShape());
    llvm::erase(extents, 1);
    return extents;
  }

  static DenseSet<Value> findReductions(Block &body) {
    DenseSet<Value> found;
    for (auto generic : body.getOps<GenericOp>())
      if (generic.getNumReductionLoops() > 0)
        found.insert(generic->result_begin(), generic->result_end());
    return found;
  }

  /// A value of a payload.
  Scalar resolve(Element *node, Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (argument && argument.getOwner()->getParentOp() == node->op)
      return resolve(node->operands[argument.getArgNumber()]);
    if (value.getDefiningOp<arith::ConstantOp>())
      return {expressions.traceScalar(value).node, {}};
    return {node, value};
  }

  Scalar resolve(ElementRef element) {
    auto generic = element.node && element.node->kind == Element::Kind::payload
                       ? dyn_cast<GenericOp>(element.node->op)
                       : GenericOp();
    if (!generic)
      return {element.node, {}};
    return resolve(element.node, generic.getBody()->getTerminator()->getOperand(element.result));
  }

  /// An operand of the `Op` that makes an element; nothing if another one does.
  template <typename Op> std::optional<Scalar> operandOf(const Scalar &scalar, unsigned index) {
    auto op = scalar.value ? scalar.value.getDefiningOp<Op>() : Op();
    return op ? std::optional(resolve(scalar.node, op->getOperand(index))) : std::nullopt;
  }

  std::optional<double> getNumber(const Scalar &scalar) const {
    bool isConstant = !scalar.value && scalar.node && scalar.node->kind == Element::Kind::scalar;
    auto number = isConstant ? dyn_cast_or_null<FloatAttr>(scalar.node->constant) : FloatAttr();
    return number ? std::optional(number.getValueAsDouble()) : std::nullopt;
  }

  /// The element of a row that an `Op` combines, from `start` on, where `combined` is what it makes of the
  /// row.
  template <typename Op> std::optional<Scalar> reducedBy(std::optional<Scalar> combined, double start) {
    bool isValue = combined && !combined->value && combined->node &&
                   combined->node->kind == Element::Kind::load && reductions.contains(combined->node->tensor);
    auto generic = isValue ? combined->node->tensor.getDefiningOp<GenericOp>() : GenericOp();
    if (!generic || generic.getNumResults() != 1 || generic.getNumDpsInputs() != 1 ||
        combined->node->access != line)
      return std::nullopt;
    auto begin = dyn_cast_or_null<FloatAttr>(getFillValue(generic.getDpsInits()[0]));
    auto op = generic.getBody()->getTerminator()->getOperand(0).getDefiningOp<Op>();
    Block &payload = *generic.getBody();
    bool combines = op && begin && begin.getValueAsDouble() == start &&
                    llvm::is_contained(op->getOperands(), Value(payload.getArgument(0))) &&
                    llvm::is_contained(op->getOperands(), Value(payload.getArgument(1)));
    std::optional<SmallVector<StridedAccess>> loops = combines ? findLoops(generic) : std::nullopt;
    if (!loops)
      return std::nullopt;
    FailureOr<ElementRef> element = expressions.traceOperand(generic, generic->getOpOperand(0), *loops);
    return succeeded(element) ? std::optional(resolve(*element)) : std::nullopt;
  }

  /// Where the loops of a reduction along rows are at an element.
  std::optional<SmallVector<StridedAccess>> findLoops(GenericOp generic) const {
    AffineMap map = generic.getMatchingIndexingMap(generic.getDpsInitOperand(0));
    std::optional<Split> split;
    auto positions =
        delinearize(line, domain, cast<RankedTensorType>(generic.getResult(0).getType()).getShape(), split);
    if (!positions || !map.isProjectedPermutation())
      return std::nullopt;
    SmallVector<StridedAccess> loops(generic.getNumLoops(), StridedAccess::constant(0, domain.size()));
    for (auto [dim, position] : llvm::enumerate(*positions))
      loops[map.getDimPosition(dim)] = position;
    bool isAlongRows = false;
    for (auto [loop, extent] : llvm::enumerate(generic.getStaticLoopRanges())) {
      if (generic.getIteratorTypesArray()[loop] != utils::IteratorType::reduction || extent == 1)
        continue;
      if (isAlongRows || extent != columns)
        return std::nullopt;
      isAlongRows = true;
      loops[loop] = column;
    }
    return isAlongRows || columns == 1 ? std::optional(loops) : std::nullopt;
  }

  /// What a causal mask keeps; nothing if the element is not masked so.
  std::optional<Scalar> unmask(const Scalar &scalar) {
    std::optional<Scalar> condition = operandOf<arith::SelectOp>(scalar, 0);
    if (!condition)
      return std::nullopt;
    for (bool isKept : {true, false}) {
      std::optional<double> masked = getNumber(*operandOf<arith::SelectOp>(scalar, isKept ? 2 : 1));
      if (masked && *masked <= kMasked && isCausal(*condition, isKept))
        return operandOf<arith::SelectOp>(scalar, isKept ? 1 : 2);
    }
    return std::nullopt;
  }

  /// Whether a condition holds up to the diagonal, or, if not `isKept`, beyond it.
  bool isCausal(const Scalar &condition, bool isKept) {
    using Predicate = arith::CmpIPredicate;
    auto compare = condition.value ? condition.value.getDefiningOp<arith::CmpIOp>() : arith::CmpIOp();
    if (!compare)
      return false;
    std::optional<StridedAccess> left = getPosition(resolve(condition.node, compare.getLhs()));
    std::optional<StridedAccess> right = getPosition(resolve(condition.node, compare.getRhs()));
    if (!left || !right)
      return false;
    Predicate found = compare.getPredicate();
    if (*left == row && *right == column)
      return isKept ? found == Predicate::sge || found == Predicate::uge
                    : found == Predicate::slt || found == Predicate::ult;
    return *left == column && *right == row &&
           (isKept ? found == Predicate::sle || found == Predicate::ule
                   : found == Predicate::sgt || found == Predicate::ugt);
  }

  /// The position along a dimension that an element is.
  std::optional<StridedAccess> getPosition(const Scalar &scalar) {
    Operation *op = scalar.value ? scalar.value.getDefiningOp() : nullptr;
    if (auto index = dyn_cast_or_null<linalg::IndexOp>(op))
      return scalar.node->loops[index.getDim()];
    if (isa_and_nonnull<arith::IndexCastOp, arith::ExtSIOp, arith::ExtUIOp>(op))
      return getPosition(resolve(scalar.node, op->getOperand(0)));
    return std::nullopt;
  }

  /// What is multiplied with constants.
  Scalar unscale(Scalar scalar, double &scale) {
    while (true) {
      bool divides = scalar.value && scalar.value.getDefiningOp<arith::DivFOp>();
      std::optional<Scalar> left =
          divides ? operandOf<arith::DivFOp>(scalar, 0) : operandOf<arith::MulFOp>(scalar, 0);
      std::optional<Scalar> right =
          divides ? operandOf<arith::DivFOp>(scalar, 1) : operandOf<arith::MulFOp>(scalar, 1);
      if (!left)
        return scalar;
      if (!getNumber(*right) && !divides)
        std::swap(left, right);
      std::optional<double> factor = getNumber(*right);
      if (!factor)
        return scalar;
      scale = divides ? scale / *factor : scale * *factor;
      scalar = *left;
    }
  }

  Block &body;
  Value input;
  int64_t columns;
  Extents domain;
  StridedAccess whole;             // the element itself
  StridedAccess row, column, line; // its row in its matrix, its column, its row among all
  bool areDimsWhole = true;        // each dimension is one of rows, of columns or of matrices
  DenseSet<Value> reductions;
  Expressions expressions;
};

} // namespace

std::optional<RowSoftmax> mlir::epl::matchRowSoftmax(KernelOp kernel, int64_t rows, int64_t columns) {
  Block &body = kernel.getBody().front();
  Operation *yield = body.getTerminator();
  if (kernel.getKind() != KernelKind::fusion || body.getNumArguments() != 1 || yield->getNumOperands() != 1)
    return std::nullopt;
  auto from = cast<RankedTensorType>(body.getArgument(0).getType()),
       to = cast<RankedTensorType>(yield->getOperand(0).getType());
  if (!from.getElementType().isF32() || !isNarrowFloat(to.getElementType()) ||
      from.getNumElements() != to.getNumElements())
    return std::nullopt;
  return SoftmaxMatcher(kernel, rows, columns).match();
}
