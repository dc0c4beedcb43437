//===- PlanCollectives.cpp - Collectives as commands ----------------------===//

#include "passes/emit/PlanBuilder.h"

using namespace mlir;
using namespace mlir::epl;

LogicalResult PlanBuilder::addAllReduce(AllReduceOp op) {
  ShardingAttr sharding = op.getOperand().getType().getSharding();
  RankedTensorType local = getLocalType(op, op.getType());
  uint32_t communicator = builder.addCommunicator(toStrings(op.getReducedAxes()));
  uint32_t source = buffers.lookup(op.getOperand());
  uint32_t target = addBuffer(op.getResult(), local, "all_reduce");
  builder.allReduce(getInfo(op, "all_reduce"), communicator, getReductionKind(sharding.getReduction()),
                    *getElementType(local.getElementType()), source, target, local.getNumElements());
  return success();
}

/// The axes of each dimension of `sharding` behind those that it begins with in `other`, too: those on which
/// the parts of the members of a collective differ.
static std::vector<std::unique_ptr<plan::DimShardingT>> getOwnSharding(ShardingAttr sharding,
                                                                       ShardingAttr other) {
  std::vector<std::unique_ptr<plan::DimShardingT>> dims;
  for (int64_t dim = 0; dim < sharding.getRank(); ++dim) {
    dims.push_back(std::make_unique<plan::DimShardingT>());
    dims.back()->axes = toStrings(getOwnAxes(sharding, other, dim));
  }
  return dims;
}

LogicalResult PlanBuilder::addReduceScatter(ReduceScatterOp op) {
  ShardingAttr from = op.getOperand().getType().getSharding(), to = op.getType().getSharding();
  RankedTensorType local = getLocalType(op, op.getOperand().getType());
  plan::ReduceBlocksT reduce;
  reduce.communicator = builder.addCommunicator(toStrings(op.getReducedAxes()));
  reduce.reduction = getReductionKind(from.getReduction());
  reduce.type = *getElementType(local.getElementType());
  reduce.source = buffers.lookup(op.getOperand());
  reduce.target = addBuffer(op.getResult(), getLocalType(op, op.getType()), "reduce_scatter");
  reduce.shape.assign(local.getShape().begin(), local.getShape().end());
  reduce.sharding = getOwnSharding(to, from);
  builder.reduceScatter(getInfo(op, "reduce_scatter"), std::move(reduce));
  return success();
}

/// The members of an exchange hold together what is theirs along the axes that change.
LogicalResult PlanBuilder::addExchange(Operation *op, StringRef name) {
  auto source = cast<DistType>(op->getOperand(0).getType()),
       target = cast<DistType>(op->getResult(0).getType());
  ShardingAttr from = source.getSharding(), to = target.getSharding();
  RankedTensorType local = getLocalType(op, source);
  plan::ExchangeBlocksT exchange;
  exchange.communicator = builder.addCommunicator(toStrings(getMovedAxes(mesh, from, to)));
  exchange.type = *getElementType(local.getElementType());
  exchange.source = buffers.lookup(op->getOperand(0));
  exchange.target = addBuffer(op->getResult(0), getLocalType(op, target), name);
  for (int64_t dim = 0; dim < from.getRank(); ++dim)
    exchange.shape.push_back(local.getDimSize(dim) * getAxesSize(mesh, getOwnAxes(from, to, dim)));
  exchange.from = getOwnSharding(from, to);
  exchange.to = getOwnSharding(to, from);
  builder.exchange(getInfo(op, name), std::move(exchange));
  return success();
}

LogicalResult PlanBuilder::addAllGather(AllGatherOp op) {
  RankedTensorType local = getLocalType(op, op.getOperand().getType());
  ArrayRef<int64_t> shape = local.getShape();
  int64_t outer = llvm::product_of(shape.take_front(op.getDim()));
  int64_t inner = llvm::product_of(shape.drop_front(op.getDim()));
  uint32_t communicator = builder.addCommunicator(toStrings(op.getGatheredAxes()));
  uint32_t source = buffers.lookup(op.getOperand());
  uint32_t target = addBuffer(op.getResult(), getLocalType(op, op.getType()), "all_gather");
  builder.allGather(getInfo(op, "all_gather"), communicator, *getElementType(local.getElementType()), source,
                    target, outer, inner);
  return success();
}
