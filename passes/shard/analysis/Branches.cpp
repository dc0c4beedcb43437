//===- Branches.cpp - What is read only where a predicate holds -----------===//

#include "passes/shard/analysis/Branches.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::epl;

//===----------------------------------------------------------------------===//
// Selections
//===----------------------------------------------------------------------===//

/// Whether the op does nothing but repeat its one input.
static bool isBroadcast(linalg::GenericOp op) {
  return op.getNumDpsInputs() == 1 && op.getNumReductionLoops() == 0 &&
         op.getBlock()->without_terminator().empty() &&
         op.getBlock()->getTerminator()->getOperand(0) == op.getBlock()->getArgument(0);
}

/// The scalar of which all elements of `value` are copies; null if there is none.
static Value findScalar(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.getElementType().isInteger(1))
    return {};
  if (type.getRank() == 0)
    return value;
  Operation *op = value.getDefiningOp();
  if (isa_and_present<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return findScalar(op->getOperand(0));
  auto generic = dyn_cast_if_present<linalg::GenericOp>(op);
  return generic && isBroadcast(generic) ? findScalar(generic.getDpsInputs()[0]) : Value();
}

/// The input that a value of the op's body is an element of; null if it is none.
static Value getInput(linalg::GenericOp op, Value scalar) {
  auto argument = dyn_cast<BlockArgument>(scalar);
  bool isInput =
      argument && argument.getOwner() == op.getBlock() && argument.getArgNumber() < op.getNumDpsInputs();
  return isInput ? op.getDpsInputs()[argument.getArgNumber()] : Value();
}

/// By which scalar, and when, the op reads the operand of `use`; nothing if it is read in any case.
static std::optional<Literal> getSide(OpOperand &use) {
  auto generic = dyn_cast<linalg::GenericOp>(use.getOwner());
  if (!generic || !generic.isDpsInput(&use))
    return std::nullopt;
  BlockArgument element = generic.getMatchingBlockArgument(&use);
  if (!element.hasOneUse())
    return std::nullopt;
  OpOperand &read = *element.use_begin();
  auto select = dyn_cast<arith::SelectOp>(read.getOwner());
  if (!select || read.getOperandNumber() == 0)
    return std::nullopt;
  Value condition = getInput(generic, select.getCondition());
  Value predicate = condition ? findScalar(condition) : Value();
  return predicate ? std::optional(Literal{predicate, read.getOperandNumber() == 1}) : std::nullopt;
}

std::optional<Selection> mlir::epl::matchSelection(Operation *op) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || generic->getNumResults() != 1 || generic.getNumReductionLoops() != 0 ||
      !llvm::hasSingleElement(generic.getBlock()->without_terminator()))
    return std::nullopt;
  auto select = dyn_cast<arith::SelectOp>(generic.getBlock()->front());
  if (!select || generic.getBlock()->getTerminator()->getOperand(0) != select.getResult())
    return std::nullopt;
  Value condition = getInput(generic, select.getCondition());
  Value predicate = condition ? findScalar(condition) : Value();
  if (!predicate)
    return std::nullopt;
  auto getSideValue = [&](Value scalar) -> Value {
    Value input = getInput(generic, scalar);
    if (!input || input.getType() != generic->getResult(0).getType())
      return {};
    unsigned number = cast<BlockArgument>(scalar).getArgNumber();
    return generic.getIndexingMapsArray()[number].isIdentity() ? input : Value();
  };
  return Selection{predicate, getSideValue(select.getTrueValue()), getSideValue(select.getFalseValue())};
}

//===----------------------------------------------------------------------===//
// The analysis
//===----------------------------------------------------------------------===//

Branches::Branches(Block &body) : body(body), loops(body) {
  addSides(body);
  if (literals.empty())
    return;
  findLoopsBefore();
  for (Operation &op : body)
    guards[&op].resize(literals.size(), !op.hasTrait<OpTrait::IsTerminator>());
  bool changed = true;
  while (changed) {
    changed = false;
    for (Operation &op : llvm::reverse(body.without_terminator()))
      changed |= update(op);
  }
}

void Branches::addSides(Block &body) {
  DenseMap<Literal, unsigned> known;
  for (Operation &op : body)
    for (OpOperand &use : op.getOpOperands())
      if (std::optional<Literal> side = getSide(use)) {
        literals.insert(*side);
        sides[&use] = known.try_emplace(*side, literals.size() - 1).first->second;
      }
}

/// What leaves a loop leaves it before anything that is made of it, and behind all that the loop reads.
void Branches::findLoopsBefore() {
  for (Literal literal : literals) {
    DenseSet<LoopAttr> &before = loopsBefore.emplace_back();
    llvm::SetVector<Operation *> makers;
    auto add = [&](Value value) {
      if (Operation *maker = value.getDefiningOp(); maker && maker->getBlock() == &body)
        makers.insert(maker);
    };
    add(literal.predicate);
    for (unsigned next = 0; next < makers.size(); ++next) {
      Operation *maker = makers[next];
      if (leavesLoop(maker) && before.insert(getEdgeLoop(maker)).second)
        for (Operation &op : body)
          if (isWithin(loops.getLoop(&op), getEdgeLoop(maker)))
            makers.insert(&op);
      maker->walk([&](Operation *inner) { llvm::for_each(inner->getOperands(), add); });
    }
  }
}

bool Branches::update(Operation &op) {
  llvm::BitVector guard = computeGuard(op);
  if (guard == guards[&op])
    return false;
  guards[&op] = guard;
  return true;
}

llvm::BitVector Branches::computeGuard(Operation &op) const {
  bool isRead = false;
  llvm::BitVector guard = getUsesGuard(op.getResults(), isRead);
  LoopAttr loop = loops.getLoop(&op);
  if (auto last = dyn_cast<LoopLastOp>(op))
    if (LoopCarryOp carry = loops.getCarry(last)) {
      llvm::BitVector next = getUsesGuard(carry->getResults(), isRead);
      for (auto [index, literal] : llvm::enumerate(literals))
        if (loops.getLoop(literal.predicate)) // the next iteration's predicate is another one
          next.reset(index);
      guard &= next;
    }
  for (auto [index, literal] : llvm::enumerate(literals)) {
    auto isBefore = [&](LoopAttr left) { return left && loopsBefore[index].contains(left); };
    if (!isWithin(loop, loops.getLoop(literal.predicate)) || isBefore(loop) ||
        isBefore(getMicroBatchLoop(loop)))
      guard.reset(index);
  }
  return isRead ? guard : llvm::BitVector(literals.size());
}

llvm::BitVector Branches::getUsesGuard(ValueRange values, bool &isRead) const {
  llvm::BitVector guard(literals.size(), true);
  for (Value value : values)
    for (OpOperand &use : value.getUses()) {
      isRead = true;
      llvm::BitVector own = guards.at(body.findAncestorOpInBlock(*use.getOwner()));
      if (auto side = sides.find(&use); side != sides.end())
        own.set(side->second);
      guard &= own;
    }
  return guard;
}

SmallVector<Literal> Branches::getLiterals(const llvm::BitVector &guard) const {
  return llvm::map_to_vector(guard.set_bits(), [&](unsigned index) { return literals[index]; });
}

SmallVector<Literal> Branches::getGuard(Operation *op) const {
  return empty() ? SmallVector<Literal>() : getLiterals(guards.at(op));
}

SmallVector<Literal> Branches::getGuard(OpOperand &use) const {
  SmallVector<Literal> guard = getGuard(use.getOwner());
  if (auto side = sides.find(&use); side != sides.end() && !llvm::is_contained(guard, literals[side->second]))
    guard.push_back(literals[side->second]);
  return guard;
}
