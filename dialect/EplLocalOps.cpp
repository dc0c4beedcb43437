//===- EplLocalOps.cpp - The local program: tasks, casts, predicates ------===//

#include "dialect/LocalTypes.h"

using namespace mlir;
using namespace mlir::epl;

RankedTensorType mlir::epl::getCheckedLocalType(Operation *op, DistType type, const Twine &value) {
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

OwnerAttr mlir::epl::getOwner(Type dist) { return cast<DistType>(dist).getSharding().getOwner(); }

std::string mlir::epl::describeOwner(OwnerAttr owner) {
  return owner ? ("owner \"" + owner.getAxis() + "\" = " + Twine(owner.getCoordinate())).str() : "no owner";
}

LogicalResult mlir::epl::failOwner(Operation *op, StringRef what, size_t index, OwnerAttr found,
                                   OwnerAttr expected) {
  return op->emitOpError() << what << " " << index << " has " << describeOwner(found) << ", expected "
                           << describeOwner(expected);
}

static LogicalResult verifyOwners(TaskOp task) {
  OwnerAttr owner = task.getOwner();
  for (auto [index, type] : llvm::enumerate(task.getResultTypes()))
    if (OwnerAttr found = getOwner(type); found != owner)
      return failOwner(task, "result", index, found, owner);
  for (auto [index, type] : llvm::enumerate(task.getInputs().getTypes()))
    if (OwnerAttr found = getOwner(type); found && found != owner)
      return failOwner(task, "input", index, found, owner);
  return success();
}

LogicalResult TaskOp::verifySymbolUses(SymbolTableCollection &) {
  if (!SymbolTable::lookupNearestSymbolFrom<TaskGraphOp>(*this, getWork().getTaskgraph())) // (C3)
    return emitOpError() << "names unknown task graph " << getWork().getTaskgraph();
  Block &body = getBody().front();
  if (failed(
          verifyLocalTypes(*this, body.getArgumentTypes(), getInputs().getTypes(), "block argument"))) // (C1)
    return failure();
  if (failed(verifyLocalTypes(*this, body.getTerminator()->getOperandTypes(), getResultTypes(),
                              "yielded value"))) // (C2)
    return failure();
  return verifyOwners(*this); // (C4)
}

OwnerAttr TaskOp::getOwner() {
  return getNumResults() > 0 ? mlir::epl::getOwner(getResultTypes()[0]) : OwnerAttr();
}
