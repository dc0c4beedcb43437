//===- EplLoopOps.cpp - Loops of constant length --------------------------===//

#include "dialect/Loops.h"
#include "dialect/Sharding.h"

#include "llvm/ADT/SetVector.h"

#include <map>

using namespace mlir;
using namespace mlir::epl;

//===----------------------------------------------------------------------===//
// Verification of single ops
//===----------------------------------------------------------------------===//

static RankedTensorType getTensor(Type type) {
  auto dist = dyn_cast<DistType>(type);
  return dist ? dist.getGlobal() : cast<RankedTensorType>(type);
}

/// The sharding of a distributed type, as the dimensions behind the first `dropped` have it.
static ArrayRef<Attribute> getDims(Type type, size_t dropped) {
  auto dist = dyn_cast<DistType>(type);
  return dist ? dist.getSharding().getDims().getValue().drop_front(dropped) : ArrayRef<Attribute>();
}

static LogicalResult verifyDistributed(Operation *op) {
  for (Value value : {op->getOperand(0), Value(op->getResult(0))})
    if (auto dist = dyn_cast<DistType>(value.getType()))
      if (failed(verifySharding(op, dist.getSharding(), dist.getGlobal(), "the loop's value")))
        return failure();
  return success();
}

/// (C1) and (C2) of slices and stacks.
static LogicalResult verifyStack(Operation *op, LoopAttr loop, Type stackType, Type partType) {
  RankedTensorType stack = getTensor(stackType), part = getTensor(partType);
  if (stack.getRank() == 0 || stack.getDimSize(0) != loop.getTripCount())
    return op->emitOpError() << "stack is " << stack << ", expected " << loop.getTripCount()
                             << " parts along dimension 0, one for each iteration";
  auto expected = RankedTensorType::get(stack.getShape().drop_front(), stack.getElementType());
  bool alike = isa<DistType>(stackType) == isa<DistType>(partType);
  if (part != expected || !alike)
    return op->emitOpError() << "part is " << partType << ", expected the stack without dimension 0, "
                             << expected;
  auto dist = dyn_cast<DistType>(stackType);
  if (dist && !dist.getSharding().getDimAxes(0).empty())
    return op->emitOpError() << "dimension 0 of the stack is split, expected it whole";
  if (getDims(stackType, 1) != getDims(partType, 0))
    return op->emitOpError() << "part is " << partType << ", expected the stack's distribution, "
                             << stackType;
  return verifyDistributed(op);
}

/// The type with nothing pending.
static Type getCompleteType(Type type) {
  auto dist = dyn_cast<DistType>(type);
  return dist ? DistType::get(type.getContext(), dist.getGlobal(), dist.getSharding().withoutPartial())
              : type;
}

LogicalResult LoopCarryOp::verifySymbolUses(SymbolTableCollection &) {
  if (getInit().getType() != getType() && getInit().getType() != getCompleteType(getType())) // (C1)
    return emitOpError() << "begins as " << getInit().getType() << ", expected " << getType()
                         << ", or a zero of that type with nothing pending";
  return verifyDistributed(*this);
}

LogicalResult LoopLastOp::verifySymbolUses(SymbolTableCollection &) { return verifyDistributed(*this); }

LogicalResult LoopSliceOp::verifySymbolUses(SymbolTableCollection &) {
  return verifyStack(*this, getLoop(), getOperand().getType(), getType());
}

LogicalResult LoopStackOp::verifySymbolUses(SymbolTableCollection &) {
  return verifyStack(*this, getLoop(), getType(), getOperand().getType());
}

//===----------------------------------------------------------------------===//
// Membership
//===----------------------------------------------------------------------===//

LoopAttr mlir::epl::getEdgeLoop(Operation *op) {
  return op->hasTrait<LoopEdge>() ? op->getAttrOfType<LoopAttr>("loop") : LoopAttr();
}

int64_t mlir::epl::getFreeLoopId(Block &body) {
  int64_t id = 0;
  for (Operation &op : body)
    if (LoopAttr loop = getEdgeLoop(&op))
      id = std::max(id, loop.getId() + 1);
  return id;
}

bool mlir::epl::leavesLoop(Operation *op) { return isa<LoopLastOp, LoopStackOp>(op); }

Loops::Loops(Block &body) {
  for (Operation &op : body) {
    if (auto carry = dyn_cast<LoopCarryOp>(op))
      carries[{carry.getLoop(), carry.getIndex()}] = carry;
    if (auto last = dyn_cast<LoopLastOp>(op))
      lasts[{last.getLoop(), last.getIndex()}] = last;
    if (LoopAttr loop = computeLoop(op))
      loops[&op] = loop;
  }
}

LoopAttr Loops::computeLoop(Operation &op) const {
  if (LoopAttr edge = getEdgeLoop(&op))
    return edge;
  LoopAttr found;
  op.walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (LoopAttr loop = getLoop(operand); loop && isWithin(loop, found))
        found = loop;
  });
  return found;
}

LoopAttr Loops::getLoop(Value value) const {
  Operation *op = value.getDefiningOp();
  LoopAttr loop = op ? getLoop(op) : LoopAttr();
  return loop && leavesLoop(op) ? loop.getOuter() : loop;
}

//===----------------------------------------------------------------------===//
// Verification of loops
//===----------------------------------------------------------------------===//

namespace {
/// Checks the loops of one block.
class LoopVerifier {
public:
  explicit LoopVerifier(Block &body) : body(body), loops(body) {}

  LogicalResult verify() {
    for (Operation &op : body)
      if (failed(verifyOp(op)))
        return failure();
    return verifyCarries(body, loops);
  }

private:
  LogicalResult verifyOp(Operation &op) {
    LoopAttr loop = loops.getLoop(&op);
    if (failed(verifyDeclared(op)) || failed(verifyOneLoop(op, loop)))
      return failure();
    if (!loop)
      return success();
    if (op.hasTrait<OpTrait::IsTerminator>())
      return op.emitOpError() << "returns a value of the iterations of loop " << loop.getId()
                              << ", expected what \"epl.loop_last\" or \"epl.loop_stack\" make of it";
    if (leavesLoop(&op)) {
      left.try_emplace(loop.getId(), &op);
      return failure(failed(verifyBefore(op, loop.getOuter())) || failed(verifyPair(op)) ||
                     failed(verifyTogether(op)));
    }
    return succeeded(verifyBefore(op, loop)) ? verifyBefore(op, loop.getOuter()) : failure();
  }

  /// What is done in the iterations of `loop` stands before what leaves it.
  LogicalResult verifyBefore(Operation &op, LoopAttr loop) {
    auto found = loop ? left.find(loop.getId()) : left.end();
    if (found == left.end())
      return success();
    InFlightDiagnostic error = op.emitOpError() << "is done in each iteration of loop " << loop.getId()
                                                << ", expected it before what leaves the loop";
    error.attachNote(found->second->getLoc()) << "the loop is left here";
    return error;
  }

  /// No op reads values of the iterations of two loops, unless one of them is in the other.
  LogicalResult verifyOneLoop(Operation &op, LoopAttr loop) {
    LogicalResult result = success();
    bool enters = getEdgeLoop(&op) && !leavesLoop(&op);
    LoopAttr most = enters ? loop.getOuter() : loop; // whose values it may read
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        LoopAttr read = loops.getLoop(operand);
        if (succeeded(result) && read && (!most || !isWithin(most, read)))
          result = op.emitOpError() << "reads a value of the iterations of loop " << read.getId()
                                    << ", expected loops that do not nest, unless in one over micro-batches";
      }
    });
    return result;
  }

  /// All ops of one loop agree on its iterations.
  LogicalResult verifyDeclared(Operation &op) {
    LoopAttr loop = getEdgeLoop(&op);
    if (!loop)
      return success();
    LoopAttr known = declared.try_emplace(loop.getId(), loop).first->second;
    if (known.getTripCount() != loop.getTripCount())
      return op.emitOpError() << "says loop " << loop.getId() << " has " << loop.getTripCount()
                              << " iterations, expected " << known.getTripCount();
    if (known != loop)
      return op.emitOpError() << "says the loop is " << loop << ", expected " << known;
    return success();
  }

  LogicalResult verifyPair(Operation &op) {
    auto last = dyn_cast<LoopLastOp>(op);
    if (!last)
      return success();
    LoopCarryOp carry = loops.getCarry(last);
    if (carry && carry.getType() != last.getType()) // (C2)
      return last.emitOpError() << "has type " << last.getType() << ", expected that of the carried value, "
                                << carry.getType();
    if (loops.getLast(last.getLoop(), last.getIndex()) != last) // (C2)
      return last.emitOpError() << "is one of several of index " << last.getIndex() << ", expected one";
    return success();
  }

  /// A loop is left once: none of what leaves it is made of what leaves it.
  LogicalResult verifyTogether(Operation &op) {
    llvm::SetVector<Operation *> makers; // of what is the same in all iterations: else verifyBefore has it
    auto addMaker = [&](Value value) {
      if (Operation *maker = value.getDefiningOp(); maker && maker->getBlock() == &body)
        makers.insert(maker);
    };
    if (loops.getLoop(op.getOperand(0)) != getEdgeLoop(&op))
      addMaker(op.getOperand(0));
    for (size_t next = 0; next < makers.size(); ++next) {
      Operation *maker = makers[next];
      if (leavesLoop(maker) && getEdgeLoop(maker) == getEdgeLoop(&op)) {
        InFlightDiagnostic error = op.emitOpError() << "reads what is made of a value that leaves loop "
                                                    << getEdgeLoop(&op).getId()
                                                    << ", expected all that leaves it to do so at once";
        error.attachNote(maker->getLoc()) << "the loop is left here";
        return error;
      }
      maker->walk([&](Operation *inner) { llvm::for_each(inner->getOperands(), addMaker); });
    }
    return success();
  }

  Block &body;
  Loops loops;
  // By numbers that a program says, any int64_t: DenseMap keeps two of them for itself.
  std::map<int64_t, Operation *> left; ///< the first op that leaves a loop
  std::map<int64_t, LoopAttr> declared;
};
} // namespace

LogicalResult mlir::epl::verifyLoops(Block &body) { return LoopVerifier(body).verify(); }

LogicalResult mlir::epl::verifyCarries(Block &body, const Loops &loops) {
  for (auto carry : body.getOps<LoopCarryOp>())
    if (!loops.getLast(carry))
      return carry.emitOpError() << "has no \"epl.loop_last\" of index " << carry.getIndex();
  return success();
}
