//===- SortOrder.cpp - What a sort compares --------------------------------------===//
//
// Problem: the order of floats with NaN last and one zero takes a dozen operations; a sort of n elements
// compares each one log(n) times.
//
// Method: follow both operands of the comparator's last comparison backwards in step. If they are the same
// function of the one and of the other side's elements, its value is a key.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/nest/SortOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::epl;

Value mlir::epl::emitComparator(ImplicitLocOpBuilder &b, SortOp sort, ArrayRef<Value> left,
                                ArrayRef<Value> right) {
  Block &body = sort.getComparator().front();
  IRMapping mapping;
  for (auto [index, pair] : llvm::enumerate(llvm::zip_equal(left, right))) {
    mapping.map(body.getArgument(2 * index), std::get<0>(pair));
    mapping.map(body.getArgument(2 * index + 1), std::get<1>(pair));
  }
  for (Operation &op : body.without_terminator())
    b.clone(op, mapping);
  return mapping.lookupOrDefault(body.getTerminator()->getOperand(0));
}

namespace {

/// Compares two values of a comparator as functions of its arguments.
class SideMatcher {
public:
  explicit SideMatcher(unsigned side) : side(side) {}

  /// Whether `x`, made of the elements of one side, is what `y` is of the other side's.
  bool correspond(Value x, Value y) {
    if (!known.insert({x, y}).second)
      return true; // an answer that was no has ended the match
    auto left = dyn_cast<BlockArgument>(x), right = dyn_cast<BlockArgument>(y);
    if (left && right)
      return left.getArgNumber() % 2 == side && (left.getArgNumber() ^ 1) == right.getArgNumber();
    Operation *a = x.getDefiningOp(), *c = y.getDefiningOp();
    if (!a || !c || a->getName() != c->getName() || a->getNumRegions() != 0 || a->getNumResults() != 1 ||
        a->getAttrDictionary() != c->getAttrDictionary() || x.getType() != y.getType())
      return false;
    return llvm::all_of_zip(a->getOperands(), c->getOperands(),
                            [&](Value left, Value right) { return correspond(left, right); });
  }

private:
  unsigned side;
  DenseSet<std::pair<Value, Value>> known;
};

} // namespace

SortOrder::SortOrder(SortOp sort) : sort(sort) {
  matchKey();
  collectUsed();
}

void SortOrder::matchKey() {
  Operation *last = sort.getComparator().front().getTerminator()->getOperand(0).getDefiningOp();
  if (!isa_and_nonnull<arith::CmpIOp, arith::CmpFOp>(last))
    return;
  for (unsigned candidate : {0, 1})
    if (SideMatcher(candidate).correspond(last->getOperand(0), last->getOperand(1))) {
      comparison = last;
      side = candidate;
    }
}

void SortOrder::collectUsed() {
  Block &body = sort.getComparator().front();
  for (unsigned operand = 0; operand < sort.getNumOperands(); ++operand)
    if (!body.getArgument(2 * operand).use_empty() || !body.getArgument(2 * operand + 1).use_empty())
      used.push_back(operand);
}

SmallVector<Type> SortOrder::getComparedTypes() const {
  if (comparison)
    return {comparison->getOperand(0).getType()};
  return llvm::map_to_vector(
      used, [&](unsigned operand) { return getElementTypeOrSelf(sort.getOperands()[operand].getType()); });
}

std::optional<unsigned> SortOrder::findCompared(unsigned operand) const {
  if (comparison) {
    auto argument = dyn_cast<BlockArgument>(comparison->getOperand(0));
    return argument && argument.getArgNumber() / 2 == operand ? std::optional(0u) : std::nullopt;
  }
  auto found = llvm::find(used, operand);
  return found != used.end() ? std::optional<unsigned>(found - used.begin()) : std::nullopt;
}

bool SortOrder::comparesIntegers() const {
  auto integers = dyn_cast_or_null<arith::CmpIOp>(comparison);
  if (!integers || getStorageType(integers.getLhs().getType()) != integers.getLhs().getType())
    return false;
  using enum arith::CmpIPredicate;
  return llvm::is_contained({slt, sgt, ult, ugt}, integers.getPredicate());
}

SmallVector<Value> SortOrder::emitCompared(ImplicitLocOpBuilder &b, ArrayRef<Value> elements) const {
  if (!comparison)
    return llvm::map_to_vector(used, [&](unsigned operand) { return elements[operand]; });
  Block &body = sort.getComparator().front();
  IRMapping mapping;
  for (unsigned operand : used)
    mapping.map(body.getArgument(2 * operand + side), elements[operand]);
  Value key = comparison->getOperand(0);
  llvm::SmallDenseSet<Operation *> needed = {key.getDefiningOp()};
  for (Operation &op : llvm::reverse(body))
    if (needed.contains(&op))
      for (Value operand : op.getOperands())
        needed.insert(operand.getDefiningOp());
  for (Operation &op : body)
    if (needed.contains(&op))
      b.clone(op, mapping);
  return {mapping.lookup(key)};
}

Value SortOrder::emitBefore(ImplicitLocOpBuilder &b, ArrayRef<Value> left, ArrayRef<Value> right) const {
  if (comparison) {
    IRMapping mapping;
    mapping.map(comparison->getOperand(side), left[0]);
    mapping.map(comparison->getOperand(1 - side), right[0]);
    Value before = b.clone(*comparison, mapping)->getResult(0);
    if (auto vector = dyn_cast<VectorType>(left[0].getType()))
      before.setType(vector.clone(before.getType()));
    return before;
  }
  SmallVector<Value> lefts(sort->getNumOperands()), rights(sort->getNumOperands());
  for (auto [index, operand] : llvm::enumerate(used)) {
    lefts[operand] = left[index];
    rights[operand] = right[index];
  }
  return emitComparator(b, sort, lefts, rights);
}
