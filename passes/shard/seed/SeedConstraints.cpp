//===- SeedConstraints.cpp - What users say of values, on the mesh --------===//
//
// Problem: who constrains a value names axes of a mesh that is not there yet.
// Method: each constraint is compared with the mesh. What it says of an axis of one device is dropped: the
//   same step runs on fewer devices. So is what it says of the axis "model" where a scope is split over one
//   device, which makes no such axis.
// Invariant in: one mesh. Invariant out: constraints name axes of it only, which divide their dimensions and
//   stand in mesh order; each names one at least. Propagation starts from them as from sharded arguments, and
//   `epl-place` takes them out.
// Reference: GSPMD's sharding constraints (Xu et al., 2021), of which the dimensions that are not named are
//   open here.
//
//===----------------------------------------------------------------------===//

#include "dialect/SplitAxes.h"
#include "passes/shard/Passes.h"
#include "passes/shard/analysis/AxisState.h"

#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-seed-constraints"

namespace mlir::epl {
#define GEN_PASS_DEF_SEEDCONSTRAINTSPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numConstraints, "Constraints that hold");
ALWAYS_ENABLED_STATISTIC(numIdle, "Constraints of which no axis has several devices");

/// Whether a scope is split, if only over one device.
static bool hasSplit(MeshOp mesh) {
  return llvm::any_of(getTaskGraphs(mesh), [](TaskGraphOp taskgraph) {
    return taskgraph.getStrategy().getKind() == StrategyKind::split;
  });
}

static std::string listAxes(MeshOp mesh) {
  std::string names;
  llvm::raw_string_ostream os(names);
  llvm::interleaveComma(mesh.getAxes().getAsRange<AxisAttr>(), os,
                        [&](AxisAttr axis) { os << "\"" << axis.getName() << "\""; });
  return names;
}

static LogicalResult verifyKnown(ConstrainOp op, StringRef axis, MeshOp mesh) {
  if (mesh.getAxis(axis) || (axis == kModelAxis && hasSplit(mesh)))
    return success();
  return emitError(op.getLoc()) << "constraint names axis \"" << axis << "\", expected one of "
                                << listAxes(mesh) << " of mesh \"" << mesh.getSymName() << "\""
                                << (axis == kModelAxis ? ": a scope of epl.split makes that axis" : "");
}

/// The axes that have several devices.
static FailureOr<SmallVector<StringRef>> getRealAxes(ConstrainOp op, ArrayRef<StringRef> axes, MeshOp mesh) {
  SmallVector<StringRef> real;
  for (StringRef axis : axes) {
    if (failed(verifyKnown(op, axis, mesh)))
      return failure();
    if (AxisAttr known = mesh.getAxis(axis); known && known.getSize() > 1)
      real.push_back(axis);
  }
  return real;
}

static LogicalResult verifyDim(ConstrainOp op, int64_t dim, ArrayRef<StringRef> axes, MeshOp mesh) {
  auto getPosition = [&](StringRef axis) { return mesh.getAxisPosition(axis); };
  if (!llvm::is_sorted(llvm::map_range(axes, getPosition)))
    return emitError(op.getLoc()) << "constraint names axes of dimension " << dim
                                  << " out of mesh order, expected that of " << listAxes(mesh);
  int64_t extent = op.getType().getDimSize(dim), parts = getAxesSize(mesh, axes);
  if (extent % parts != 0)
    return emitError(op.getLoc()) << "dimension " << dim << " of " << op.getType()
                                  << " is constrained, but its size of " << extent << " is not divisible by "
                                  << parts << ", the size of its axes";
  return success();
}

static LogicalResult seed(ConstrainOp op, MeshOp mesh) {
  SmallVector<SmallVector<StringRef>> dims;
  ConstraintAttr constraint = op.getConstraint();
  for (int64_t dim = 0; dim < constraint.getRank(); ++dim) {
    FailureOr<SmallVector<StringRef>> axes = getRealAxes(op, constraint.getDimAxes(dim), mesh);
    if (failed(axes) || failed(verifyDim(op, dim, *axes, mesh)))
      return failure();
    dims.push_back(*axes);
  }
  FailureOr<SmallVector<StringRef>> whole = getRealAxes(op, constraint.getWholeAxes(), mesh);
  if (failed(whole))
    return failure();
  op.setConstraintAttr(ConstraintAttr::get(op.getContext(), dims, *whole));
  if (whole->empty() && llvm::all_of(dims, [](ArrayRef<StringRef> axes) { return axes.empty(); })) {
    LDBG() << "no axis of " << op << " has several devices";
    op.replaceAllUsesWith(op.getOperand());
    op.erase();
    ++numIdle;
    return success();
  }
  ++numConstraints;
  return success();
}

namespace {
struct SeedConstraints : epl::impl::SeedConstraintsPassBase<SeedConstraints> {
  void runOnOperation() override {
    FailureOr<SmallVector<Program>> programs = getPrograms(getOperation());
    if (failed(programs))
      return signalPassFailure();
    for (auto [function, mesh] : *programs)
      for (auto op : llvm::make_early_inc_range(function.getOps<ConstrainOp>()))
        if (failed(seed(op, mesh)))
          return signalPassFailure();
  }
};
} // namespace
