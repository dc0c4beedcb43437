//===- ReshardBuilder.cpp - One reshard for each value and target ---------===//

#include "passes/shard/place/ReshardBuilder.h"

#include "dialect/Channels.h"
#include "passes/shard/analysis/Enlarging.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::epl;

/// Whether an op is made of nothing but constants and positions: making a part costs no more than slicing it.
static bool isCheap(Operation *op) {
  if (isUniform(op))
    return true;
  auto linalg = dyn_cast<linalg::LinalgOp>(op);
  return linalg && linalg.getNumReductionLoops() == 0 && op->getNumResults() == 1 &&
         getCapturedTensors(op).empty() && llvm::all_of(op->getOperands(), [](Value operand) {
           Operation *source = operand.getDefiningOp();
           return !isa<RankedTensorType>(operand.getType()) || (source && isUniform(source));
         });
}

/// The factor of the op's only result that `axis` shards under `sharding`.
static int64_t getResultFactor(const FactorRule &rule, ShardingAttr sharding, AxisAttr axis) {
  int64_t dim = sharding.getDimOf(axis.getName());
  return dim < 0 ? FactorRule::kBlocked : rule.results.front()[dim];
}

bool ReshardBuilder::canRematerialize(Operation *op, ShardingAttr target) const {
  if (!op || target.isPartial() || !(isCheap(op) || getEnlarged(op)))
    return false;
  return llvm::all_of(rules.getMesh().getAxes().getAsRange<AxisAttr>(), [&](AxisAttr axis) {
    if (target.getDimOf(axis.getName()) >= 0)
      return rules.canShard(op, getResultFactor(rules.getRule(op), target, axis), axis);
    // Work that shards samples over the axis would do so in the copy, too.
    return isCheap(op) || rules.getUse(op, axis) != AxisUse::batch;
  });
}

Value ReshardBuilder::rematerialize(Operation *op, ShardingAttr target, WorkAttr work) {
  IRMapping mapping;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType()))
      continue;
    ShardingAttr needed = getSharding(operand.get());
    for (AxisAttr axis : rules.getMesh().getAxes().getAsRange<AxisAttr>()) {
      int64_t factor = getResultFactor(rules.getRule(op), target, axis);
      AxisState state = rules.getOperandState(op, operand.getOperandNumber(), factor);
      needed = withAxisState(needed, rules.getMesh(), axis.getName(), state);
    }
    mapping.map(operand.get(), get(operand.get(), needed, work));
  }
  builder.setInsertionPointAfter(op);
  rematerialized.push_back(op);
  Value copy = builder.clone(*op, mapping)->getResult(0);
  setSharding(copy, target);
  for (AxisAttr axis : rules.getMesh().getAxes().getAsRange<AxisAttr>())
    setChosenFactor(copy.getDefiningOp(), axis, getResultFactor(rules.getRule(op), target, axis));
  originals[copy] = op->getResult(0);
  return copy;
}

Value ReshardBuilder::reshard(Value value, ShardingAttr target, WorkAttr work) {
  if (isReceived(value))
    builder.setInsertionPoint(getFirstReader(value));
  else
    builder.setInsertionPointAfterValue(value);
  auto reshard = ReshardOp::create(builder, value.getLoc(), value.getType(), value, target);
  if (Operation *source = value.getDefiningOp())
    work = source->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr);
  if (work)
    reshard->setAttr(EplDialect::kWorkAttr, work);
  return reshard;
}

Value ReshardBuilder::get(Value value, ShardingAttr target, WorkAttr work) {
  if (getSharding(value) == target)
    return value;
  if (Value original = originals.lookup(value)) // Copies have no rules.
    return get(original, target, work);
  if (Value known = made.lookup({value, target}))
    return known;
  Operation *source = value.getDefiningOp();
  Value other =
      canRematerialize(source, target) ? rematerialize(source, target, work) : reshard(value, target, work);
  made[{value, target}] = other;
  return other;
}

void ReshardBuilder::eraseUnread() {
  // Those that read come before what they read; an op stands in the list once for each copy of it.
  for (Operation *op : SetVector<Operation *>(rematerialized.rbegin(), rematerialized.rend()))
    if (op->use_empty())
      op->erase();
}
