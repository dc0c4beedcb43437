//===- Sharding.cpp - Shardings against their mesh ------------------------===//

#include "dialect/Sharding.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::epl;

MeshOp mlir::epl::lookupMesh(Operation *from, FlatSymbolRefAttr mesh) {
  return SymbolTable::lookupNearestSymbolFrom<MeshOp>(from, mesh);
}

FailureOr<MeshOp> mlir::epl::getMesh(Operation *function) {
  auto module = function->getParentOfType<ModuleOp>();
  if (auto name = function->getAttrOfType<FlatSymbolRefAttr>(EplDialect::kMeshAttr)) {
    if (MeshOp mesh = lookupMesh(module, name))
      return mesh;
    return function->emitOpError() << "is computed on unknown mesh " << name;
  }
  auto meshes = llvm::to_vector(module.getOps<MeshOp>());
  if (meshes.size() == 1)
    return meshes[0];
  if (meshes.empty())
    return function->emitOpError("is computed on no mesh, as the module has no epl.mesh");
  InFlightDiagnostic error = function->emitOpError()
                             << "has no \"" << EplDialect::kMeshAttr << "\", expected it as there are "
                             << meshes.size() << " meshes";
  error.attachNote(meshes[0].getLoc()) << "the first mesh is here";
  return error;
}

SmallVector<TaskGraphOp> mlir::epl::getTaskGraphs(MeshOp mesh) {
  auto isOn = [&](TaskGraphOp taskgraph) {
    return !taskgraph.getMeshAttr() || taskgraph.getMeshAttr().getAttr() == mesh.getSymNameAttr();
  };
  return llvm::filter_to_vector(mesh->getParentOfType<ModuleOp>().getOps<TaskGraphOp>(), isOn);
}

ShardingAttr mlir::epl::getSharding(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
    return function
               ? function.getArgAttrOfType<ShardingAttr>(argument.getArgNumber(), EplDialect::kShardingAttr)
               : ShardingAttr();
  }
  if (auto reshard = value.getDefiningOp<ReshardOp>())
    return reshard.getSharding();
  auto result = cast<OpResult>(value);
  auto shardings = result.getOwner()->getAttrOfType<ArrayAttr>(EplDialect::kShardingAttr);
  return shardings ? cast<ShardingAttr>(shardings[result.getResultNumber()]) : ShardingAttr();
}

int64_t mlir::epl::getAxesSize(MeshOp mesh, ArrayRef<StringRef> axes) {
  int64_t size = 1;
  for (StringRef axis : axes)
    size *= mesh.getAxis(axis).getSize();
  return size;
}

/// The axes of the mesh that `isWanted` picks.
static SmallVector<StringRef> filterAxes(MeshOp mesh, function_ref<bool(StringRef)> isWanted) {
  SmallVector<StringRef> names;
  for (AxisAttr axis : mesh.getAxes().getAsRange<AxisAttr>())
    if (isWanted(axis.getName()))
      names.push_back(axis.getName());
  return names;
}

SmallVector<StringRef> mlir::epl::getReducedAxes(MeshOp mesh, ShardingAttr from, ShardingAttr to) {
  return filterAxes(mesh, [&](StringRef axis) {
    return llvm::is_contained(from.getPartialAxes(), axis) && !llvm::is_contained(to.getPartialAxes(), axis);
  });
}

SmallVector<StringRef> mlir::epl::getOwnAxes(ShardingAttr sharding, ShardingAttr other, int64_t dim) {
  SmallVector<StringRef> axes = sharding.getDimAxes(dim), others = other.getDimAxes(dim);
  auto end = std::mismatch(axes.begin(), axes.end(), others.begin(), others.end()).first;
  return SmallVector<StringRef>(end, axes.end());
}

SmallVector<StringRef> mlir::epl::getMovedAxes(MeshOp mesh, ShardingAttr from, ShardingAttr to) {
  return filterAxes(mesh, [&](StringRef axis) {
    return llvm::any_of(llvm::seq(from.getRank()), [&](int64_t dim) {
      return llvm::is_contained(getOwnAxes(from, to, dim), axis) ||
             llvm::is_contained(getOwnAxes(to, from, dim), axis);
    });
  });
}

static LogicalResult verifyAxesExist(Operation *op, MeshOp mesh, ArrayRef<StringRef> axes,
                                     const Twine &value) {
  for (StringRef axis : axes)
    if (!mesh.getAxis(axis))
      return op->emitOpError() << "sharding of " << value << " names axis \"" << axis << "\", which mesh \""
                               << mesh.getSymName() << "\" does not have";
  return success();
}

static LogicalResult verifyOwner(Operation *op, MeshOp mesh, OwnerAttr owner, const Twine &value) {
  if (!owner)
    return success();
  if (failed(verifyAxesExist(op, mesh, owner.getAxis(), value)))
    return failure();
  if (int64_t size = mesh.getAxis(owner.getAxis()).getSize(); owner.getCoordinate() >= size)
    return op->emitOpError() << "owner of " << value << " has coordinate " << owner.getCoordinate()
                             << " on axis \"" << owner.getAxis() << "\" of size " << size;
  return success();
}

LogicalResult mlir::epl::verifyOnMesh(Operation *op, ShardingAttr sharding, int64_t rank,
                                      const Twine &value) {
  MeshOp mesh = lookupMesh(op, sharding.getMesh());
  if (!mesh)
    return op->emitOpError() << "sharding of " << value << " names unknown mesh " << sharding.getMesh();
  if (sharding.getRank() != rank)
    return op->emitOpError() << "sharding of " << value << " has " << sharding.getRank()
                             << " dimensions, expected " << rank;
  if (failed(verifyAxesExist(op, mesh, sharding.getPartialAxes(), value)) ||
      failed(verifyOwner(op, mesh, sharding.getOwner(), value)))
    return failure();
  for (int64_t dim = 0; dim < rank; ++dim)
    if (failed(verifyAxesExist(op, mesh, sharding.getDimAxes(dim), value)))
      return failure();
  return success();
}

LogicalResult mlir::epl::verifySharding(Operation *op, ShardingAttr sharding, RankedTensorType type,
                                        const Twine &value) {
  if (failed(verifyOnMesh(op, sharding, type.getRank(), value)))
    return failure();
  MeshOp mesh = lookupMesh(op, sharding.getMesh());
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    int64_t size = getAxesSize(mesh, sharding.getDimAxes(dim));
    if (type.getDimSize(dim) % size != 0)
      return op->emitOpError() << "dimension " << dim << " of " << value << " of size "
                               << type.getDimSize(dim) << " is not divisible by " << size
                               << ", the size of its axes";
  }
  return success();
}

/// The number of parts that one dimension is in.
static int64_t getNumParts(MeshOp mesh, ArrayRef<StringRef> axes) {
  int64_t parts = 1;
  for (StringRef name : axes)
    parts *= mesh.getAxis(name).getSize();
  return parts;
}

RankedTensorType mlir::epl::getLocalType(MeshOp mesh, ShardingAttr sharding, RankedTensorType global) {
  SmallVector<int64_t> shape(global.getShape());
  for (int64_t dim = 0; dim < global.getRank(); ++dim) {
    int64_t parts = getNumParts(mesh, sharding.getDimAxes(dim));
    assert((global.isDynamicDim(dim) || shape[dim] % parts == 0) && "verifySharding has seen the sharding");
    shape[dim] /= parts;
  }
  return RankedTensorType::get(shape, global.getElementType());
}

RankedTensorType mlir::epl::getGlobalType(MeshOp mesh, ShardingAttr sharding, RankedTensorType local) {
  SmallVector<int64_t> shape(local.getShape());
  for (int64_t dim = 0; dim < local.getRank(); ++dim)
    shape[dim] *= getNumParts(mesh, sharding.getDimAxes(dim));
  return RankedTensorType::get(shape, local.getElementType());
}

RankedTensorType mlir::epl::getLocalType(Operation *from, DistType type) {
  MeshOp mesh = lookupMesh(from, type.getSharding().getMesh());
  return mesh ? getLocalType(mesh, type.getSharding(), type.getGlobal()) : RankedTensorType();
}
