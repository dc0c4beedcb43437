//===- ForwardWork.cpp - What of the forward work may be computed again ---===//

#include "passes/shard/prepare/ForwardWork.h"

#include "dialect/Bytes.h"
#include "passes/shard/analysis/Rules.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::epl;

Operation *mlir::epl::getBlockUser(OpOperand &use) {
  return use.get().getParentBlock()->findAncestorOpInBlock(*use.getOwner());
}

static int64_t getTensorBytes(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? getBytes(type) : 0;
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

ValueSources::ValueSources(Block &body) {
  for (BlockArgument argument : body.getArguments())
    sources[argument] = {isBatch(argument), getTensorBytes(argument)};
  for (Operation &op : body) {
    Source source;
    source.isOfBatch = isa<LoopCarryOp>(op); // what iterations make of it may be anything
    for (Value operand : getUsedValues(&op)) {
      source.isOfBatch |= get(operand).isOfBatch;
      source.bytes = std::max(source.bytes, get(operand).bytes);
    }
    for (Value result : op.getResults())
      sources[result] = source;
  }
}

bool ValueSources::isFormOfArgument(Value value) const {
  return !isOfBatch(value) && getTensorBytes(value) <= 2 * get(value).bytes;
}

//===----------------------------------------------------------------------===//
// The work
//===----------------------------------------------------------------------===//

SmallVector<ForwardWork, 0> ForwardWork::findAll(Block &body, const Loops &loops,
                                                 const ValueSources &sources) {
  llvm::MapVector<std::pair<Attribute, LoopAttr>, ForwardWork> works;
  for (Operation &op : body.without_terminator()) {
    LoopAttr loop = loops.getLoop(&op);
    if (getWorkKind(&op) != WorkKind::forward || getEdgeLoop(&op) || !isMemoryEffectFree(&op) ||
        (loop && !isOfMicroBatches(loop)))
      continue;
    FlatSymbolRefAttr taskgraph = op.getAttrOfType<WorkAttr>(EplDialect::kWorkAttr).getTaskgraph();
    auto [work, _] = works.try_emplace({taskgraph, loop}, taskgraph, loop, loops, sources);
    work->second.ops.insert(&op);
  }
  SmallVector<ForwardWork, 0> found;
  for (auto &[key, work] : works)
    found.push_back(std::move(work));
  return found;
}

bool ForwardWork::isKept(Value value) const {
  Operation *op = value.getDefiningOp();
  if (!op || !contains(op) || op->hasTrait<OpTrait::ConstantLike>() ||
      isa<tensor::EmptyOp, tensor::SplatOp>(op) || isUniform(op) || sources->isFormOfArgument(value))
    return true;
  return llvm::any_of(value.getUses(), [](OpOperand &use) {
    Operation *user = getBlockUser(use);
    return user->hasTrait<OpTrait::IsTerminator>() || getWorkKind(user) == WorkKind::apply;
  });
}

bool ForwardWork::isReader(Operation *op) const {
  auto work = op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr);
  return work && work.getKind() != WorkKind::forward && work.getKind() != WorkKind::apply &&
         work.getTaskgraph() == taskgraph && loops->getLoop(op) == loop && !getEdgeLoop(op);
}

SmallVector<OpOperand *> ForwardWork::getReaders(Value value) const {
  SmallVector<OpOperand *> readers;
  for (OpOperand &use : value.getUses())
    if (isReader(getBlockUser(use)))
      readers.push_back(&use);
  return readers;
}
