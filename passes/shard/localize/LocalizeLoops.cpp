//===- LocalizeLoops.cpp - What enters and leaves a loop ------------------===//
//
// Values go from one iteration to the next between tasks, so the ops take and give distributed ones.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/localize/Localize.h"

using namespace mlir;
using namespace mlir::epl;

static DistType getDist(Value global, ShardingAttr sharding) {
  return DistType::get(global.getContext(), cast<RankedTensorType>(global.getType()), sharding);
}

void mlir::epl::localizeLoopEdge(Operation *op, Localizer &localizer) {
  Value from = op->getOperand(0), to = op->getResult(0);
  OpBuilder &builder = localizer.builder;
  DistType source = getDist(from, getSharding(from));
  IRMapping edges;
  edges.map(from, FromLocalOp::create(builder, op->getLoc(), source, localizer.values.lookup(from)));
  Operation *edge = builder.clone(*op, edges);
  edge->setDiscardableAttrs(DictionaryAttr::get(op->getContext()));
  edge->getResult(0).setType(getDist(to, getSharding(to)));
  localizer.values.map(to, ToLocalOp::create(builder, op->getLoc(), getLocalType(to), edge->getResult(0)));
}
