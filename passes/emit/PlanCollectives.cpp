//===- PlanCollectives.cpp - Collectives as commands ----------------------===//

#include "passes/emit/PlanBuilder.h"

using namespace mlir;
using namespace mlir::epl;

/// What people see: the kind, and of how many tensors if there are several.
static std::string getName(Operation *op, StringRef kind) {
  return op->getNumOperands() > 1 ? (kind + " of " + Twine(op->getNumOperands())).str() : kind.str();
}

/// What a sum reads and writes: of each result a tensor, in a buffer of that name.
std::vector<plan::ReducedTensorT> PlanBuilder::getReducedTensors(Operation *op, StringRef name) {
  std::vector<plan::ReducedTensorT> tensors;
  for (auto [operand, result] : llvm::zip_equal(op->getOperands(), op->getResults())) {
    RankedTensorType local = getLocalType(op, cast<DistType>(result.getType()));
    plan::ReducedTensorT &tensor = tensors.emplace_back();
    tensor.type = *getElementType(local.getElementType());
    tensor.source = buffers.lookup(operand);
    tensor.target = addBuffer(result, local, name);
    tensor.count = local.getNumElements();
  }
  return tensors;
}

LogicalResult PlanBuilder::addAllReduce(AllReduceOp op) {
  plan::ReducePartT reduce;
  reduce.communicator = builder.addCommunicator(toStrings(op.getReducedAxes()));
  reduce.reduction = getReductionKind(op.getReduction());
  reduce.tensors = getReducedTensors(op, "all_reduce");
  builder.allReduce(getInfo(op, getName(op, "all_reduce")), std::move(reduce));
  return success();
}

LogicalResult PlanBuilder::addReduce(ReduceOp op) {
  plan::ReduceToRootT reduce;
  plan::Owner root = getOwner(op.getOwner());
  reduce.communicator = root.communicator();
  reduce.root = root.member();
  reduce.reduction = getReductionKind(op.getReduction());
  reduce.tensors = getReducedTensors(op, "reduce");
  builder.reduceToRoot(getInfo(op, getName(op, "reduce")), std::move(reduce));
  return success();
}

/// The buffer that a root sends from and others receive into. An argument's is not written: it is copied
/// before.
uint32_t PlanBuilder::getSent(BroadcastOp op, unsigned index) {
  uint32_t source = buffers.lookup(op.getOperand(index));
  if (!builder.isArgument(source))
    return source;
  RankedTensorType local = getLocalType(op, cast<DistType>(op.getOperand(index).getType()));
  uint32_t sent = builder.addBuffer("broadcast", getBytes(local));
  builder.setOwner(getOwner(op.getOwner()));
  builder.copy(getInfo(op, "copy"), source, sent);
  builder.setOwner(std::nullopt);
  return sent;
}

/// The value keeps its buffer, which the others write.
LogicalResult PlanBuilder::addBroadcast(BroadcastOp op) {
  plan::CopyFromRootT copy;
  plan::Owner root = getOwner(op.getOwner());
  copy.communicator = root.communicator();
  copy.root = root.member();
  for (auto [index, result] : llvm::enumerate(op.getResults())) {
    RankedTensorType local = getLocalType(op, cast<DistType>(result.getType()));
    plan::GatheredTensorT &tensor = copy.tensors.emplace_back();
    tensor.type = *getElementType(local.getElementType());
    tensor.buffer = buffers[result] = getSent(op, index);
    tensor.count = local.getNumElements();
  }
  builder.copyFromRoot(getInfo(op, getName(op, "broadcast")), std::move(copy));
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
  plan::ReduceBlocksT reduce;
  reduce.communicator = builder.addCommunicator(toStrings(op.getReducedAxes()));
  reduce.reduction = getReductionKind(op.getReduction());
  for (auto [operand, result] : llvm::zip_equal(op.getOperands(), op.getResults())) {
    auto source = cast<DistType>(operand.getType()), target = cast<DistType>(result.getType());
    RankedTensorType local = getLocalType(op, source);
    plan::ReducedBlocksT &tensor = reduce.tensors.emplace_back();
    tensor.type = *getElementType(local.getElementType());
    tensor.source = buffers.lookup(operand);
    tensor.target = addBuffer(result, getLocalType(op, target), "reduce_scatter");
    tensor.shape.assign(local.getShape().begin(), local.getShape().end());
    tensor.sharding = getOwnSharding(target.getSharding(), source.getSharding());
  }
  builder.reduceScatter(getInfo(op, getName(op, "reduce_scatter")), std::move(reduce));
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
  plan::GatherBlocksT gather;
  gather.communicator = builder.addCommunicator(toStrings(op.getGatheredAxes()));
  for (auto [operand, result] : llvm::zip_equal(op.getOperands(), op.getResults())) {
    RankedTensorType local = getLocalType(op, cast<DistType>(operand.getType()));
    ArrayRef<int64_t> shape = local.getShape();
    plan::GatheredBlocksT &tensor = gather.tensors.emplace_back();
    tensor.type = *getElementType(local.getElementType());
    tensor.source = buffers.lookup(operand);
    tensor.target = addBuffer(result, getLocalType(op, cast<DistType>(result.getType())), "all_gather");
    tensor.outer = llvm::product_of(shape.take_front(op.getDim()));
    tensor.inner = llvm::product_of(shape.drop_front(op.getDim()));
  }
  builder.allGather(getInfo(op, getName(op, "all_gather")), std::move(gather));
  return success();
}
