//===- TaskValues.cpp - Values that tasks hand to one another -------------===//

#include "passes/kernel/match/TaskValues.h"

#include "dialect/Sharding.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::epl;

static bool isView(Operation *op) {
  return isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op);
}

Value mlir::epl::getOrigin(Value value) {
  while (true) {
    auto argument = dyn_cast<BlockArgument>(value);
    auto inside = argument ? dyn_cast<TaskOp>(argument.getOwner()->getParentOp()) : TaskOp();
    if (isView(value.getDefiningOp()))
      value = value.getDefiningOp()->getOperand(0);
    else if (auto task = value.getDefiningOp<TaskOp>())
      value = task.getBody().front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber());
    else if (inside)
      value = inside.getInputs()[argument.getArgNumber()];
    else
      return value;
  }
}

static bool addReaders(Value value, SmallVectorImpl<OpOperand *> &readers) {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *reader = use.getOwner();
    if (isView(reader))
      return addReaders(reader->getResult(0), readers);
    if (auto task = dyn_cast<TaskOp>(reader))
      return addReaders(task.getBody().front().getArgument(use.getOperandNumber()), readers);
    if (auto task = isa<YieldOp>(reader) ? dyn_cast<TaskOp>(reader->getParentOp()) : TaskOp())
      return addReaders(task.getResult(use.getOperandNumber()), readers);
    readers.push_back(&use);
    return isa<LaunchOp>(reader);
  });
}

std::optional<SmallVector<OpOperand *>> mlir::epl::getReaders(Value value) {
  SmallVector<OpOperand *> readers;
  return addReaders(value, readers) ? std::optional(readers) : std::nullopt;
}

Value mlir::epl::findInside(TaskOp to, Value origin) {
  if (origin.getParentBlock() == &to.getBody().front())
    return origin;
  for (BlockArgument argument : to.getBody().front().getArguments())
    if (getOrigin(argument) == origin)
      return argument;
  return {};
}

/// The type of a value of which each rank has `local`.
static DistType getPartsType(TaskOp task, RankedTensorType local, DistType like) {
  ShardingAttr sharding = like.getSharding();
  MeshOp mesh = lookupMesh(task, sharding.getMesh());
  if (!mesh || sharding.isPartial() || sharding.getOwner() || local.getRank() == 0)
    return {};
  SmallVector<SmallVector<StringRef>> dims(local.getRank());
  for (int64_t dim = 0; dim < sharding.getRank(); ++dim)
    llvm::append_range(dims.front(), sharding.getDimAxes(dim));
  auto made = ShardingAttr::get(task.getContext(), sharding.getMesh(), dims);
  return DistType::get(task.getContext(), getGlobalType(mesh, made, local), made);
}

/// A task has a fixed number of results: the same one with a result more.
static Value addResult(TaskOp task, Value value, DistType type) {
  OpBuilder b(task);
  SmallVector<Type> types(task.getResultTypes());
  types.push_back(type);
  auto made = TaskOp::create(b, task.getLoc(), types, task.getWork(), task.getInputs());
  made->setDiscardableAttrs(task->getDiscardableAttrDictionary());
  made.getBody().takeBody(task.getBody());
  Operation *yield = made.getBody().front().getTerminator();
  yield->insertOperands(yield->getNumOperands(), value);
  task->replaceAllUsesWith(made->getResults().drop_back());
  task.erase();
  return made->getResults().back();
}

Value mlir::epl::passTo(TaskOp to, Value value, DistType like) {
  auto from = cast<TaskOp>(value.getParentBlock()->getParentOp());
  auto local = cast<RankedTensorType>(value.getType());
  DistType type = getPartsType(from, local, like);
  if (!type)
    return {};
  to.getInputsMutable().append(addResult(from, value, type));
  return to.getBody().front().addArgument(local, value.getLoc());
}

void mlir::epl::moveBehind(Operation *place, ArrayRef<Operation *> ops) {
  if (ops.empty())
    return;
  Block *block = ops.front()->getBlock();
  // A first op that stays where it is marks the place where there is none.
  Block::iterator next = place ? std::next(Block::iterator(place)) : block->begin();
  OpBuilder b(block, next);
  Operation *marker = tensor::EmptyOp::create(b, ops.front()->getLoc(), ArrayRef<int64_t>{}, b.getF32Type());
  std::function<void(Operation *)> move = [&](Operation *op) {
    for (Value operand : op->getOperands())
      if (Operation *view = operand.getDefiningOp(); isView(view) && marker->isBeforeInBlock(view))
        move(view);
    op->moveBefore(marker);
  };
  llvm::for_each(ops, move);
  marker->erase();
}
