//===- EplLocalOps.cpp - The local program: tasks and collectives ---------===//

#include "dialect/Sharding.h"

using namespace mlir;
using namespace mlir::epl;

/// The local type of `type`, or null after an error on `op`.
static RankedTensorType getCheckedLocalType(Operation *op, DistType type, const Twine &value) {
  if (failed(verifySharding(op, type.getSharding(), type.getGlobal(), value)))
    return {};
  return getLocalType(op, type);
}

static LogicalResult verifyLocalType(Operation *op, Type found, DistType dist, const Twine &value) {
  RankedTensorType expected = getCheckedLocalType(op, dist, value);
  if (!expected)
    return failure();
  if (found != expected)
    return op->emitOpError() << "local type of " << value << " is " << found << ", expected " << expected;
  return success();
}

//===----------------------------------------------------------------------===//
// Casts and coordinates
//===----------------------------------------------------------------------===//

LogicalResult ToLocalOp::verifySymbolUses(SymbolTableCollection &) {
  return verifyLocalType(*this, getType(), getOperand().getType(), "the result"); // (C1)
}

LogicalResult FromLocalOp::verifySymbolUses(SymbolTableCollection &) {
  return verifyLocalType(*this, getOperand().getType(), getType(), "the operand"); // (C1)
}

OpFoldResult ToLocalOp::fold(FoldAdaptor) {
  auto from = getOperand().getDefiningOp<FromLocalOp>();
  return from && from.getOperand().getType() == getType() ? from.getOperand() : Value();
}

OpFoldResult FromLocalOp::fold(FoldAdaptor) {
  auto to = getOperand().getDefiningOp<ToLocalOp>();
  return to && to.getOperand().getType() == getType() ? to.getOperand() : Value();
}

LogicalResult AxisIndexOp::verifySymbolUses(SymbolTableCollection &) {
  MeshOp mesh = lookupMesh(*this, getMeshAttr());
  if (!mesh)
    return emitOpError() << "names unknown mesh " << getMeshAttr();
  if (!mesh.getAxis(getAxis())) // (C1)
    return emitOpError() << "names axis \"" << getAxis() << "\", which mesh \"" << getMesh()
                         << "\" does not have";
  return success();
}

//===----------------------------------------------------------------------===//
// PredicateOp
//===----------------------------------------------------------------------===//

LogicalResult PredicateOp::verifySymbolUses(SymbolTableCollection &) {
  DistType type = getOperand().getType();
  if (failed(verifySharding(*this, type.getSharding(), type.getGlobal(), "the operand")))
    return failure();
  bool isFlag = type.getGlobal().getRank() == 0 && type.getGlobal().getElementType().isInteger(1);
  if (!isFlag || !type.getSharding().isReplicated()) // (C1)
    return emitOpError() << "operand is " << type << ", expected a replicated tensor<i1>";
  return success();
}

//===----------------------------------------------------------------------===//
// TaskOp
//===----------------------------------------------------------------------===//

static LogicalResult verifyLocalTypes(Operation *op, TypeRange found, TypeRange dists, StringRef what) {
  if (found.size() != dists.size())
    return op->emitOpError() << "has " << found.size() << " " << what << "s, expected " << dists.size();
  for (auto [index, type, dist] : llvm::enumerate(found, dists))
    if (failed(verifyLocalType(op, type, cast<DistType>(dist), what + Twine(" ") + Twine(index))))
      return failure();
  return success();
}

LogicalResult TaskOp::verifySymbolUses(SymbolTableCollection &) {
  if (!SymbolTable::lookupNearestSymbolFrom<TaskGraphOp>(*this, getWork().getTaskgraph())) // (C3)
    return emitOpError() << "names unknown task graph " << getWork().getTaskgraph();
  Block &body = getBody().front();
  if (failed(
          verifyLocalTypes(*this, body.getArgumentTypes(), getInputs().getTypes(), "block argument"))) // (C1)
    return failure();
  return verifyLocalTypes(*this, body.getTerminator()->getOperandTypes(), getResultTypes(),
                          "yielded value"); // (C2)
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// Operand and result are valid and hold the same global tensor.
static LogicalResult verifyEnds(Operation *op, DistType operand, DistType result) {
  if (operand.getGlobal() != result.getGlobal())
    return op->emitOpError() << "result has global type " << result.getGlobal() << ", expected "
                             << operand.getGlobal();
  return success(getCheckedLocalType(op, operand, "the operand") &&
                 getCheckedLocalType(op, result, "the result"));
}

static LogicalResult verifySameMesh(Operation *op, DistType operand, DistType result) {
  if (operand.getSharding().getMesh() != result.getSharding().getMesh())
    return op->emitOpError() << "result is on mesh " << result.getSharding().getMesh() << ", expected "
                             << operand.getSharding().getMesh();
  return success();
}

static LogicalResult verifySpatial(Operation *op, DistType type, ArrayRef<StringRef> axes) {
  MeshOp mesh = lookupMesh(op, type.getSharding().getMesh());
  for (StringRef axis : axes)
    if (mesh.getAxis(axis).getTemporal())
      return op->emitOpError() << "axis \"" << axis << "\" is temporal, expected a spatial axis";
  return success();
}

/// Some pending axes are completed and none are added.
static LogicalResult verifyCompletes(Operation *op, ShardingAttr from, ShardingAttr to) {
  if (!from.isPartial())
    return op->emitOpError() << "operand is not partial";
  for (StringRef axis : to.getPartialAxes())
    if (!llvm::is_contained(from.getPartialAxes(), axis))
      return op->emitOpError() << "result is pending over axis \"" << axis << "\", and the operand is not";
  if (to.getPartialAxes().size() == from.getPartialAxes().size())
    return op->emitOpError() << "completes no axis of " << from.getPartial();
  if (to.isPartial() && to.getReduction() != from.getReduction())
    return op->emitOpError() << "result is pending " << stringifyReductionKind(to.getReduction())
                             << ", expected " << stringifyReductionKind(from.getReduction());
  return success();
}

LogicalResult AllReduceOp::verifySymbolUses(SymbolTableCollection &) {
  DistType operand = getOperand().getType(), result = getType();
  if (failed(verifyEnds(*this, operand, result)) || failed(verifySameMesh(*this, operand, result))) // (C1)
    return failure();
  if (operand.getSharding().getDims() != result.getSharding().getDims()) // (C1)
    return emitOpError() << "changes the axes of a dimension, expected " << operand.getSharding().getDims();
  if (failed(verifyCompletes(*this, operand.getSharding(), result.getSharding()))) // (C2)
    return failure();
  return verifySpatial(*this, operand, getReducedAxes()); // (C3)
}

template <typename ReducingOp> static SmallVector<StringRef> getReducedAxes(ReducingOp op) {
  ShardingAttr from = op.getOperand().getType().getSharding();
  return getReducedAxes(lookupMesh(op, from.getMesh()), from, op.getType().getSharding());
}

SmallVector<StringRef> AllReduceOp::getReducedAxes() { return ::getReducedAxes(*this); }

SmallVector<StringRef> ReduceScatterOp::getReducedAxes() { return ::getReducedAxes(*this); }

LogicalResult ReduceScatterOp::verifySymbolUses(SymbolTableCollection &) {
  DistType operand = getOperand().getType(), result = getType();
  ShardingAttr from = operand.getSharding(), to = result.getSharding();
  if (failed(verifyEnds(*this, operand, result)) || failed(verifySameMesh(*this, operand, result)) || // (C1)
      failed(verifyCompletes(*this, from, to)))                                                       // (C2)
    return failure();
  for (int64_t dim = 0; dim < from.getRank(); ++dim)
    if (!getOwnAxes(from, to, dim).empty()) // (C3)
      return emitOpError() << "splits dimension " << dim << " by " << to.getDims()[dim]
                           << ", expected axes that begin with " << from.getDims()[dim];
  MeshOp mesh = lookupMesh(*this, from.getMesh());
  for (StringRef axis : getReducedAxes())
    if (to.getDimOf(axis) < 0) // (C3)
      return emitOpError() << "completes axis \"" << axis << "\", which splits no dimension of the result";
  return success(succeeded(verifySpatial(*this, operand, getReducedAxes())) && // (C4)
                 succeeded(verifySpatial(*this, operand, getMovedAxes(mesh, from, to))));
}

SmallVector<StringRef> AllGatherOp::getGatheredAxes() {
  SmallVector<StringRef> from = getOperand().getType().getSharding().getDimAxes(getDim());
  size_t kept = getType().getSharding().getDimAxes(getDim()).size();
  return SmallVector<StringRef>(llvm::drop_begin(from, kept));
}

LogicalResult AllGatherOp::verifySymbolUses(SymbolTableCollection &) {
  DistType operand = getOperand().getType(), result = getType();
  if (failed(verifyEnds(*this, operand, result)) || failed(verifySameMesh(*this, operand, result))) // (C1)
    return failure();
  ShardingAttr from = operand.getSharding(), to = result.getSharding();
  int64_t dim = getDim();
  if (dim < 0 || dim >= from.getRank()) // (C1)
    return emitOpError() << "gathers dimension " << dim << " of a tensor of rank " << from.getRank();
  if (from.getPartial() != to.getPartial()) // (C1)
    return emitOpError() << "changes the pending axes, expected " << from.getPartial();
  for (int64_t d = 0; d < from.getRank(); ++d)
    if (d != dim && from.getDims()[d] != to.getDims()[d]) // (C1)
      return emitOpError() << "changes the axes of dimension " << d << ", expected those of dimension " << dim
                           << " only";
  SmallVector<StringRef> had = from.getDimAxes(dim), kept = to.getDimAxes(dim);
  if (kept.size() >= had.size() || ArrayRef(had).take_front(kept.size()) != ArrayRef(kept)) // (C2)
    return emitOpError() << "leaves axes " << to.getDims()[dim] << ", expected a proper prefix of "
                         << from.getDims()[dim];
  return verifySpatial(*this, operand, getGatheredAxes()); // (C3)
}

static LogicalResult verifyExchange(Operation *op, DistType operand, DistType result) {
  ShardingAttr from = operand.getSharding(), to = result.getSharding();
  if (failed(verifyEnds(op, operand, result)) || failed(verifySameMesh(op, operand, result))) // (C1)
    return failure();
  if (from.getPartial() != to.getPartial() || from.getReduction() != to.getReduction()) // (C1)
    return op->emitOpError() << "changes the pending axes, expected " << from.getPartial();
  SmallVector<StringRef> moved = getMovedAxes(lookupMesh(op, from.getMesh()), from, to);
  if (moved.empty()) // (C2)
    return op->emitOpError("changes the axes of no dimension");
  return verifySpatial(op, operand, moved); // (C3)
}

LogicalResult AllToAllOp::verifySymbolUses(SymbolTableCollection &) {
  return verifyExchange(*this, getOperand().getType(), getType());
}

LogicalResult PermuteOp::verifySymbolUses(SymbolTableCollection &) {
  ShardingAttr from = getOperand().getType().getSharding(), to = getType().getSharding();
  if (failed(verifyExchange(*this, getOperand().getType(), getType())))
    return failure();
  MeshOp mesh = lookupMesh(*this, from.getMesh());
  for (int64_t dim = 0; dim < from.getRank(); ++dim) {
    int64_t had = getAxesSize(mesh, from.getDimAxes(dim)), parts = getAxesSize(mesh, to.getDimAxes(dim));
    if (had != parts) // (C2)
      return emitOpError() << "splits dimension " << dim << " into " << parts << " parts, expected " << had;
  }
  return success();
}

LogicalResult TransferOp::verifySymbolUses(SymbolTableCollection &) {
  DistType operand = getOperand().getType(), result = getType();
  if (failed(verifyEnds(*this, operand, result))) // (C1)
    return failure();
  if (operand.getSharding().getMesh() == result.getSharding().getMesh()) // (C1)
    return emitOpError() << "operand and result are on the same mesh " << operand.getSharding().getMesh();
  if (operand.getSharding().isPartial() || result.getSharding().isPartial()) // (C2)
    return emitOpError() << "transfers a partial value, expected a complete one";
  return success();
}
