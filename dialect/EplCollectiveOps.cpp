//===- EplCollectiveOps.cpp - The local program: collectives --------------===//

#include "dialect/LocalTypes.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::epl;

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

static ShardingAttr getSharding(Type dist) { return cast<DistType>(dist).getSharding(); }

/// Operands and results of a collective are all of one owner, or all on every member.
static LogicalResult verifyOneOwner(Operation *op) {
  OwnerAttr owner = getOwner(op->getOperand(0).getType());
  for (auto [index, type] : llvm::enumerate(op->getOperandTypes()))
    if (getOwner(type) != owner)
      return failOwner(op, "operand", index, getOwner(type), owner);
  for (auto [index, type] : llvm::enumerate(op->getResultTypes()))
    if (getOwner(type) != owner)
      return failOwner(op, "result", index, getOwner(type), owner);
  return success();
}

static LogicalResult verifyPairs(Operation *op) {
  if (op->getNumOperands() == op->getNumResults() && op->getNumOperands() > 0)
    return success();
  return op->emitOpError() << "has " << op->getNumOperands() << " operands and " << op->getNumResults()
                           << " results, expected as many, and at least one";
}

/// The members of a collective of several tensors, and what they do, are those of its first tensor.
static LogicalResult verifyAlike(Operation *op, size_t index, ArrayRef<StringRef> axes,
                                 ArrayRef<StringRef> firstAxes) {
  ShardingAttr sharding = getSharding(op->getOperand(index).getType()),
               first = getSharding(op->getOperand(0).getType());
  auto fail = [&](const Twine &found, const Twine &expected) {
    return op->emitOpError() << "has operand " << index << " " << found << ", expected " << expected
                             << " as operand 0";
  };
  if (sharding.getMesh() != first.getMesh())
    return fail("on mesh \"" + sharding.getMesh().getValue() + "\"",
                "\"" + first.getMesh().getValue() + "\"");
  if (!isa<AllGatherOp>(op) && sharding.getReduction() != first.getReduction())
    return fail("pending " + stringifyReductionKind(sharding.getReduction()),
                stringifyReductionKind(first.getReduction()));
  if (axes != firstAxes)
    return fail("over axes " + llvm::join(axes, ", "), llvm::join(firstAxes, ", "));
  return success();
}

/// The axes over which tensor `index` of a reduction is completed, in mesh order.
static SmallVector<StringRef> getReducedAxes(Operation *op, size_t index) {
  ShardingAttr from = getSharding(op->getOperand(index).getType()),
               to = getSharding(op->getResult(index).getType());
  return getReducedAxes(lookupMesh(op, from.getMesh()), from, to);
}

SmallVector<StringRef> AllReduceOp::getReducedAxes() { return ::getReducedAxes(*this, 0); }

ReductionKind AllReduceOp::getReduction() { return ::getSharding(getOperand(0).getType()).getReduction(); }

SmallVector<StringRef> ReduceScatterOp::getReducedAxes() { return ::getReducedAxes(*this, 0); }

ReductionKind ReduceScatterOp::getReduction() {
  return ::getSharding(getOperand(0).getType()).getReduction();
}

static LogicalResult verifyTensor(AllReduceOp op, DistType operand, DistType result) {
  if (failed(verifyEnds(op, operand, result)) || failed(verifySameMesh(op, operand, result))) // (C1)
    return failure();
  if (operand.getSharding().getDims() != result.getSharding().getDims()) // (C1)
    return op.emitOpError() << "changes the axes of a dimension, expected "
                            << operand.getSharding().getDims();
  return verifyCompletes(op, operand.getSharding(), result.getSharding()); // (C2)
}

LogicalResult AllReduceOp::verifySymbolUses(SymbolTableCollection &) {
  if (failed(verifyPairs(*this))) // (C4)
    return failure();
  for (size_t i = 0; i < getNumOperands(); ++i)
    if (failed(verifyTensor(*this, cast<DistType>(getOperand(i).getType()),
                            cast<DistType>(getResult(i).getType()))) ||
        failed(verifyAlike(*this, i, ::getReducedAxes(*this, i), getReducedAxes()))) // (C5)
      return failure();
  return verifyOneOwner(*this); // (C6)
}

static LogicalResult verifyTensor(ReduceScatterOp op, DistType operand, DistType result) {
  ShardingAttr from = operand.getSharding(), to = result.getSharding();
  if (failed(verifyEnds(op, operand, result)) || failed(verifySameMesh(op, operand, result)) || // (C1)
      failed(verifyCompletes(op, from, to)))                                                    // (C2)
    return failure();
  for (int64_t dim = 0; dim < from.getRank(); ++dim)
    if (!getOwnAxes(from, to, dim).empty()) // (C3)
      return op.emitOpError() << "splits dimension " << dim << " by " << to.getDims()[dim]
                              << ", expected axes that begin with " << from.getDims()[dim];
  for (StringRef axis : getReducedAxes(lookupMesh(op, from.getMesh()), from, to))
    if (to.getDimOf(axis) < 0) // (C3)
      return op.emitOpError() << "completes axis \"" << axis << "\", which splits no dimension of the result";
  return success();
}

LogicalResult ReduceScatterOp::verifySymbolUses(SymbolTableCollection &) {
  if (failed(verifyPairs(*this))) // (C5)
    return failure();
  for (size_t i = 0; i < getNumOperands(); ++i)
    if (failed(verifyTensor(*this, cast<DistType>(getOperand(i).getType()),
                            cast<DistType>(getResult(i).getType()))) ||
        failed(verifyAlike(*this, i, ::getReducedAxes(*this, i), getReducedAxes()))) // (C6)
      return failure();
  return verifyOneOwner(*this); // (C7)
}

/// The axes over which tensor `index` is joined, major to minor.
static SmallVector<StringRef> getGatheredAxes(AllGatherOp op, size_t index) {
  SmallVector<StringRef> from = getSharding(op.getOperand(index).getType()).getDimAxes(op.getDim());
  size_t kept = getSharding(op.getResult(index).getType()).getDimAxes(op.getDim()).size();
  return SmallVector<StringRef>(llvm::drop_begin(from, kept));
}

SmallVector<StringRef> AllGatherOp::getGatheredAxes() { return ::getGatheredAxes(*this, 0); }

static LogicalResult verifyTensor(AllGatherOp op, DistType operand, DistType result) {
  if (failed(verifyEnds(op, operand, result)) || failed(verifySameMesh(op, operand, result))) // (C1)
    return failure();
  ShardingAttr from = operand.getSharding(), to = result.getSharding();
  int64_t dim = op.getDim();
  if (dim < 0 || dim >= from.getRank()) // (C1)
    return op.emitOpError() << "gathers dimension " << dim << " of a tensor of rank " << from.getRank();
  if (from.getPartial() != to.getPartial()) // (C1)
    return op.emitOpError() << "changes the pending axes, expected " << from.getPartial();
  for (int64_t d = 0; d < from.getRank(); ++d)
    if (d != dim && from.getDims()[d] != to.getDims()[d]) // (C1)
      return op.emitOpError() << "changes the axes of dimension " << d << ", expected those of dimension "
                              << dim << " only";
  SmallVector<StringRef> had = from.getDimAxes(dim), kept = to.getDimAxes(dim);
  if (kept.size() >= had.size() || ArrayRef(had).take_front(kept.size()) != ArrayRef(kept)) // (C2)
    return op.emitOpError() << "leaves axes " << to.getDims()[dim] << ", expected a proper prefix of "
                            << from.getDims()[dim];
  return success();
}

LogicalResult AllGatherOp::verifySymbolUses(SymbolTableCollection &) {
  if (failed(verifyPairs(*this))) // (C4)
    return failure();
  for (size_t i = 0; i < getNumOperands(); ++i)
    if (failed(verifyTensor(*this, cast<DistType>(getOperand(i).getType()),
                            cast<DistType>(getResult(i).getType()))) ||
        failed(verifyAlike(*this, i, ::getGatheredAxes(*this, i), getGatheredAxes()))) // (C5)
      return failure();
  return verifyOneOwner(*this); // (C6)
}

static LogicalResult verifyExchange(Operation *op, DistType operand, DistType result) {
  ShardingAttr from = operand.getSharding(), to = result.getSharding();
  if (failed(verifyEnds(op, operand, result)) || failed(verifySameMesh(op, operand, result))) // (C1)
    return failure();
  if (from.getPartial() != to.getPartial() || from.getReduction() != to.getReduction()) // (C1)
    return op->emitOpError() << "changes the pending axes, expected " << from.getPartial();
  if (getMovedAxes(lookupMesh(op, from.getMesh()), from, to).empty()) // (C2)
    return op->emitOpError("changes the axes of no dimension");
  return verifyOneOwner(op); // (C4)
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

//===----------------------------------------------------------------------===//
// Collectives with a root
//===----------------------------------------------------------------------===//

OwnerAttr ReduceOp::getOwner() { return mlir::epl::getOwner(getResult(0).getType()); }

ReductionKind ReduceOp::getReduction() { return ::getSharding(getOperand(0).getType()).getReduction(); }

OwnerAttr BroadcastOp::getOwner() { return mlir::epl::getOwner(getOperand(0).getType()); }

static LogicalResult verifyTensor(ReduceOp op, size_t index) {
  auto operand = cast<DistType>(op.getOperand(index).getType()),
       result = cast<DistType>(op.getResult(index).getType());
  if (failed(verifyEnds(op, operand, result)) || failed(verifySameMesh(op, operand, result))) // (C1)
    return failure();
  ShardingAttr from = operand.getSharding(), to = result.getSharding();
  if (from.getDims() != to.getDims()) // (C1)
    return op.emitOpError() << "changes the axes of a dimension, expected " << from.getDims();
  if (from.getOwner()) // (C2)
    return failOwner(op, "operand", index, from.getOwner(), OwnerAttr());
  if (!to.getOwner()) // (C2)
    return op.emitOpError() << "result " << index << " has no owner, expected one";
  if (failed(verifyCompletes(op, from, to))) // (C2)
    return failure();
  SmallVector<StringRef> axes = getReducedAxes(op, index);
  if (axes.size() != 1 || axes.front() != to.getOwner().getAxis()) // (C2)
    return op.emitOpError() << "completes the axes " << llvm::join(axes, ", ") << ", expected that of "
                            << describeOwner(to.getOwner());
  return success();
}

LogicalResult ReduceOp::verifySymbolUses(SymbolTableCollection &) {
  if (failed(verifyPairs(*this))) // (C3)
    return failure();
  for (size_t i = 0; i < getNumOperands(); ++i) {
    if (failed(verifyTensor(*this, i)) ||
        failed(verifyAlike(*this, i, ::getReducedAxes(*this, i), ::getReducedAxes(*this, 0)))) // (C4)
      return failure();
    if (OwnerAttr found = mlir::epl::getOwner(getResult(i).getType()); found != getOwner()) // (C4)
      return failOwner(*this, "result", i, found, getOwner());
  }
  return success();
}

static LogicalResult verifyTensor(BroadcastOp op, size_t index) {
  auto operand = cast<DistType>(op.getOperand(index).getType()),
       result = cast<DistType>(op.getResult(index).getType());
  if (failed(verifyEnds(op, operand, result))) // (C1)
    return failure();
  if (!operand.getSharding().getOwner()) // (C1)
    return op.emitOpError() << "operand " << index << " has no owner, expected one";
  ShardingAttr expected = operand.getSharding().withOwner({});
  if (result.getSharding() != expected) // (C1)
    return op.emitOpError() << "result " << index << " has sharding " << result.getSharding() << ", expected "
                            << expected;
  return success();
}

LogicalResult BroadcastOp::verifySymbolUses(SymbolTableCollection &) {
  if (failed(verifyPairs(*this))) // (C2)
    return failure();
  for (size_t i = 0; i < getNumOperands(); ++i) {
    if (failed(verifyTensor(*this, i)))
      return failure();
    if (OwnerAttr found = mlir::epl::getOwner(getOperand(i).getType()); found != getOwner()) // (C3)
      return failOwner(*this, "operand", i, found, getOwner());
    ShardingAttr sharding = ::getSharding(getOperand(i).getType()),
                 first = ::getSharding(getOperand(0).getType());
    if (sharding.getMesh() != first.getMesh()) // (C3)
      return emitOpError() << "has operand " << i << " on mesh " << sharding.getMesh() << ", expected "
                           << first.getMesh() << " as operand 0";
  }
  return success();
}
