//===- RowExpressions.cpp - Elements of matrices and of their rows ---------------===//
//
// Problem: what a fused kernel does with the rows of matrices, however many ops, views and broadcasts it is
// written with. Method: each element is followed back to what is in memory (Expression.h), where equal
// elements are one node. Sums and maxima of rows are values of their own; what they combine is an element of
// the row again.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/match/RowExpressions.h"

#include "passes/kernel/cluster/OpRoles.h"

using namespace mlir;
using namespace mlir::epl;
using linalg::GenericOp;

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

static bool isRounding(Operation *op) { return isa_and_nonnull<arith::ExtFOp, arith::TruncFOp>(op); }

RowExpressions::RowExpressions(KernelOp kernel, Value like, int64_t rows, int64_t columns, MaskOf maskOf)
    : columns(columns), maskOf(std::move(maskOf)), domain(getLongDims(like)),
      whole(StridedAccess::identity(domain)), reductions(findReductions(kernel.getBody().front())),
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

std::optional<Scalar> RowExpressions::trace(Value tensor, const StridedAccess &access) {
  FailureOr<ElementRef> element = expressions.trace(tensor, access);
  return succeeded(element) ? std::optional(resolve(*element)) : std::nullopt;
}

/// A value of a payload.
Scalar RowExpressions::resolve(Element *node, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (argument && argument.getOwner()->getParentOp() == node->op)
    return resolve(node->operands[argument.getArgNumber()]);
  if (value.getDefiningOp<arith::ConstantOp>())
    return {expressions.traceScalar(value).node, {}};
  if (isRounding(value.getDefiningOp()))
    return resolve(node, value.getDefiningOp()->getOperand(0));
  return {node, value};
}

Scalar RowExpressions::resolve(ElementRef element) {
  auto generic = element.node && element.node->kind == Element::Kind::payload
                     ? dyn_cast<GenericOp>(element.node->op)
                     : GenericOp();
  if (!generic)
    return {element.node, {}};
  return resolve(element.node, generic.getBody()->getTerminator()->getOperand(element.result));
}

std::optional<double> RowExpressions::getNumber(const Scalar &scalar) const {
  bool isConstant = !scalar.value && scalar.node && scalar.node->kind == Element::Kind::scalar;
  auto number = isConstant ? dyn_cast_or_null<FloatAttr>(scalar.node->constant) : FloatAttr();
  return number ? std::optional(number.getValueAsDouble()) : std::nullopt;
}

BlockArgument RowExpressions::getArgument(const Scalar &scalar, const StridedAccess &access) const {
  bool isLoad = !scalar.value && scalar.node && scalar.node->kind == Element::Kind::load &&
                scalar.node->access == access;
  auto argument = isLoad ? dyn_cast<BlockArgument>(scalar.node->tensor) : BlockArgument();
  return argument && isa<KernelOp>(argument.getOwner()->getParentOp()) ? argument : BlockArgument();
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// The op that makes an element of a row's elements, from `start` on; null if it is none.
GenericOp RowExpressions::getReduction(const Scalar &combined, double start) const {
  bool isValue = !combined.value && combined.node && combined.node->kind == Element::Kind::load &&
                 reductions.contains(combined.node->tensor);
  auto generic = isValue ? combined.node->tensor.getDefiningOp<GenericOp>() : GenericOp();
  if (!generic || generic.getNumResults() != 1 || generic.getNumDpsInputs() != 1 ||
      combined.node->access != line)
    return {};
  auto begin = dyn_cast_or_null<FloatAttr>(getFillValue(generic.getDpsInits()[0]));
  return begin && begin.getValueAsDouble() == start ? generic : GenericOp();
}

/// Whether an op of a reduction's payload combines its input with what it has so far.
bool RowExpressions::combinesBoth(GenericOp generic, Operation *op) {
  auto isCombined = [&](Value argument) {
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      return operand == argument ||
             (isRounding(operand.getDefiningOp()) && operand.getDefiningOp()->getOperand(0) == argument);
    });
  };
  return llvm::all_of(generic.getBody()->getArguments(), isCombined);
}

std::optional<Scalar> RowExpressions::reducedElement(GenericOp generic) {
  std::optional<SmallVector<StridedAccess>> loops = findLoops(generic);
  if (!loops)
    return std::nullopt;
  FailureOr<ElementRef> element = expressions.traceOperand(generic, generic->getOpOperand(0), *loops);
  return succeeded(element) ? std::optional(resolve(*element)) : std::nullopt;
}

/// Where the loops of a reduction along rows are at an element.
std::optional<SmallVector<StridedAccess>> RowExpressions::findLoops(GenericOp generic) const {
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

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

std::optional<Scalar> RowExpressions::unmask(const Scalar &scalar, function_ref<bool(double)> isOther) {
  std::optional<Scalar> condition = operandOf<arith::SelectOp>(scalar, 0);
  if (!condition)
    return std::nullopt;
  for (bool isKept : {true, false}) {
    std::optional<double> other = getNumber(*operandOf<arith::SelectOp>(scalar, isKept ? 2 : 1));
    if (other && isOther(*other) && isCausal(*condition, isKept))
      return operandOf<arith::SelectOp>(scalar, isKept ? 1 : 2);
  }
  return std::nullopt;
}

bool RowExpressions::isCausal(const Scalar &condition, bool isKept) {
  using Predicate = arith::CmpIPredicate;
  for (const StridedAccess &access : {whole, row * columns + column})
    if (BlockArgument mask = getArgument(condition, access))
      return maskOf(mask) == isKept;
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
std::optional<StridedAccess> RowExpressions::getPosition(const Scalar &scalar) {
  Operation *op = scalar.value ? scalar.value.getDefiningOp() : nullptr;
  if (auto index = dyn_cast_or_null<linalg::IndexOp>(op))
    return scalar.node->loops[index.getDim()];
  if (isa_and_nonnull<arith::IndexCastOp, arith::ExtSIOp, arith::ExtUIOp>(op))
    return getPosition(resolve(scalar.node, op->getOperand(0)));
  return std::nullopt;
}
