//===- EplScopeOps.cpp - Scopes and the ops of the global program ---------===//

#include "dialect/Sharding.h"

#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::epl;

//===----------------------------------------------------------------------===//
// Scopes
//===----------------------------------------------------------------------===//

static std::string describeScope(Operation *scope, std::optional<StringRef> name) {
  return name ? ("\"" + *name + "\"").str()
              : ("without a name (\'" + scope->getName().getStringRef() + "\')").str();
}

template <typename ScopeOp> static LogicalResult verifyScope(ScopeOp op) {
  if (int64_t count = op.getDeviceCount(); count < 1) // (C1)
    return op.emitOpError() << "device count is " << count << ", expected at least 1";
  auto yield = dyn_cast<YieldOp>(op.getBody().front().back());
  if (!yield) // (C2)
    return op.emitOpError() << "ends with '" << op.getBody().front().back().getName()
                            << "', expected 'epl.yield'";
  if (yield.getOperandTypes() != op.getResultTypes()) // (C2)
    return op.emitOpError() << "yields types (" << yield.getOperandTypes() << "), expected the result types ("
                            << op.getResultTypes() << ")";
  for (Operation *outer = op->getParentOp(); outer; outer = outer->getParentOp()) { // (C3)
    if (!isa<ReplicateOp, SplitOp>(outer))
      continue;
    InFlightDiagnostic error = op.emitOpError() << "cannot be nested in '" << outer->getName() << "'";
    auto name = outer->template getAttrOfType<StringAttr>("scope_name");
    error.attachNote(outer->getLoc())
        << "enclosing scope " << describeScope(outer, name ? std::optional(name.getValue()) : std::nullopt)
        << " declared here";
    return error;
  }
  return success();
}

template <typename ScopeOp>
static void getScopeSuccessors(ScopeOp op, RegionBranchPoint point,
                               SmallVectorImpl<RegionSuccessor> &successors) {
  if (point.isParent())
    successors.push_back(RegionSuccessor(&op.getBody()));
  else
    successors.push_back(RegionSuccessor(op.getOperation(), op.getResults()));
}

LogicalResult ReplicateOp::verify() { return verifyScope(*this); }
LogicalResult SplitOp::verify() { return verifyScope(*this); }

void ReplicateOp::getSuccessorRegions(RegionBranchPoint point, SmallVectorImpl<RegionSuccessor> &successors) {
  getScopeSuccessors(*this, point, successors);
}
void SplitOp::getSuccessorRegions(RegionBranchPoint point, SmallVectorImpl<RegionSuccessor> &successors) {
  getScopeSuccessors(*this, point, successors);
}

LogicalResult ConstrainOp::verify() {
  if (getConstraint().getRank() != getType().getRank()) // (C1)
    return emitOpError() << "constraint has " << getConstraint().getRank() << " dimensions, expected "
                         << getType().getRank();
  return success();
}

//===----------------------------------------------------------------------===//
// The global program
//===----------------------------------------------------------------------===//

constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();

static LogicalResult verifyDevices(MeshOp mesh) {
  ArrayRef<int64_t> strides = *mesh.getStrides();
  auto axes = llvm::to_vector(mesh.getAxes().getAsRange<AxisAttr>());
  if (strides.size() != axes.size() || mesh.getFirstDevice() < 0) // (C3)
    return mesh.emitOpError() << "has " << strides.size() << " strides and first device "
                              << mesh.getFirstDevice() << ", expected one stride for each of " << axes.size()
                              << " axes and a device of at least 0";
  SmallVector<std::pair<int64_t, int64_t>> spans; // stride and size
  for (auto [axis, stride] : llvm::zip_equal(axes, strides)) {
    if (stride < 1 || stride > kMaxSize) // (C3)
      return mesh.emitOpError() << "axis \"" << axis.getName() << "\" has stride " << stride
                                << ", expected 1 to " << kMaxSize;
    if (axis.getSize() > 1)
      spans.push_back({stride, axis.getSize()});
  }
  llvm::sort(spans);
  int64_t last = 0; // the highest device of the axes so far, counted from the first one
  for (auto [stride, size] : spans) {
    if (stride <= last) // (C4)
      return mesh.emitOpError() << "has an axis of stride " << stride << ", expected more than " << last
                                << ", which the axes of lower strides reach";
    last += stride * (size - 1);
    if (last + mesh.getFirstDevice() > kMaxSize) // (C3)
      return mesh.emitOpError() << "has a device above " << kMaxSize;
  }
  return success();
}

LogicalResult MeshOp::verify() {
  llvm::StringSet<> names;
  int64_t size = 1;
  for (auto axis : getAxes().getAsRange<AxisAttr>()) {
    if (!names.insert(axis.getName()).second) // (C1)
      return emitOpError() << "has two axes \"" << axis.getName() << "\"";
    if (axis.getSize() > kMaxSize / size) // (C2)
      return emitOpError() << "has more than " << kMaxSize << " positions";
    size *= axis.getSize();
  }
  if (getFirst().has_value() != getStrides().has_value()) // (C3)
    return emitOpError() << "has "
                         << (getFirst() ? "\"first\" without \"strides\"" : "\"strides\" without \"first\"")
                         << ", expected both or neither";
  return getStrides() ? verifyDevices(*this) : success();
}

SmallVector<int64_t> MeshOp::getDeviceStrides() {
  if (std::optional<ArrayRef<int64_t>> strides = getStrides())
    return SmallVector<int64_t>(*strides);
  SmallVector<int64_t> strides(getAxes().size(), 0);
  int64_t stride = 1;
  for (auto [own, axis] : llvm::reverse(llvm::zip_equal(strides, getAxes().getAsRange<AxisAttr>()))) {
    own = stride;
    stride *= axis.getSize();
  }
  return strides;
}

AxisAttr MeshOp::getAxis(StringRef name) {
  int64_t position = getAxisPosition(name);
  return position < 0 ? AxisAttr() : cast<AxisAttr>(getAxes()[position]);
}

int64_t MeshOp::getAxisPosition(StringRef name) {
  for (auto [position, axis] : llvm::enumerate(getAxes().getAsRange<AxisAttr>()))
    if (axis.getName() == name)
      return position;
  return -1;
}

SmallVector<AxisAttr> MeshOp::getAxesOfRole(AxisRole role) {
  return llvm::filter_to_vector(getAxes().getAsRange<AxisAttr>(),
                                [&](AxisAttr axis) { return axis.getRole() == role; });
}

int64_t MeshOp::getNumDevices() {
  int64_t count = 1;
  for (auto axis : getAxes().getAsRange<AxisAttr>())
    count *= axis.getSize();
  return count;
}

LogicalResult TaskGraphOp::verifySymbolUses(SymbolTableCollection &) {
  if (getMeshAttr() && !lookupMesh(*this, getMeshAttr())) // (C1)
    return emitOpError() << "names unknown mesh " << getMeshAttr();
  return success();
}

LogicalResult ReshardOp::verifySymbolUses(SymbolTableCollection &) {
  return verifySharding(*this, getSharding(), getOperand().getType(), "the result"); // (C1)
}

LogicalResult ConcatenateOp::verify() {
  RankedTensorType result = getType();
  int64_t dim = getDim();
  if (getOperands().empty()) // (C1)
    return emitOpError() << "has no operands, expected at least one";
  if (dim < 0 || dim >= result.getRank()) // (C2)
    return emitOpError() << "concatenates dimension " << dim << " of a result of rank " << result.getRank();
  int64_t total = 0;
  for (auto [index, operand] : llvm::enumerate(getOperands())) {
    auto type = cast<RankedTensorType>(operand.getType());
    if (type.getRank() != result.getRank() || type.getElementType() != result.getElementType()) // (C1)
      return emitOpError() << "operand " << index << " has type " << type
                           << ", expected the rank and element type of " << result;
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (d != dim && type.getDimSize(d) != result.getDimSize(d)) // (C3)
        return emitOpError() << "dimension " << d << " of operand " << index << " has size "
                             << type.getDimSize(d) << ", expected " << result.getDimSize(d);
    total += type.getDimSize(dim);
  }
  if (total != result.getDimSize(dim)) // (C3)
    return emitOpError() << "operands have " << total << " elements along dimension " << dim << ", expected "
                         << result.getDimSize(dim);
  return success();
}
