//===- SeedLayouts.cpp - State stays as it arrives ------------------------===//
//
// Problem: a state that an earlier step made is on the devices as that step wanted it. A step that wants it
//   otherwise distributes it anew in every call.
// Method: the shardings that arguments arrive in (`epl.arrives`) are seeds, as if they were by hand. Left out
//   are parameters of which the user says otherwise (`dims`), and what does not fit the argument: one that
//   has segments in one of the steps only.
// Invariant in: `epl-seed-batch` has run: every tensor argument has a sharding; arguments arrive on the mesh.
// Invariant out: the same, and no `epl.arrives`.
// Reference: jax.jit without in_shardings, which takes arguments as they are.
//
//===----------------------------------------------------------------------===//

#include "dialect/Sharding.h"
#include "passes/shard/Passes.h"
#include "passes/shard/seed/split/SplitConstraints.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-seed-layouts"

namespace mlir::epl {
#define GEN_PASS_DEF_SEEDLAYOUTSPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numTaken, "Arguments that stay as they arrive");
ALWAYS_ENABLED_STATISTIC(numLeft, "Arguments that arrive otherwise than they are used");

static bool fits(ShardingAttr sharding, RankedTensorType type, MeshOp mesh) {
  if (sharding.getRank() != type.getRank())
    return false;
  return llvm::all_of(llvm::seq<int64_t>(0, type.getRank()), [&](int64_t dim) {
    SmallVector<StringRef> axes = sharding.getDimAxes(dim);
    return llvm::all_of(axes, [&](StringRef axis) { return bool(mesh.getAxis(axis)); }) &&
           type.getDimSize(dim) % getAxesSize(mesh, axes) == 0;
  });
}

/// The parameters of which the user says how they are split.
static FailureOr<DenseSet<BlockArgument>> getConstrained(func::FuncOp program, MeshOp mesh) {
  DenseSet<BlockArgument> constrained;
  for (AxisAttr axis : mesh.getAxes().getAsRange<AxisAttr>()) {
    FailureOr<SplitConstraints> constraints = getSplitConstraints(program, mesh, axis);
    if (failed(constraints))
      return failure();
    constrained.insert_range(llvm::make_first_range(*constraints));
  }
  return constrained;
}

static LogicalResult seed(func::FuncOp program, MeshOp mesh) {
  auto arrives = [&](BlockArgument argument) {
    return program.getArgAttrOfType<ShardingAttr>(argument.getArgNumber(), EplDialect::kArrivesAttr);
  };
  if (llvm::none_of(program.getArguments(), arrives))
    return success();
  FailureOr<DenseSet<BlockArgument>> constrained = getConstrained(program, mesh);
  if (failed(constrained))
    return failure();
  for (BlockArgument argument : program.getArguments()) {
    ShardingAttr sharding = arrives(argument);
    program.removeArgAttr(argument.getArgNumber(), EplDialect::kArrivesAttr);
    if (!sharding)
      continue;
    bool stays = !constrained->contains(argument) && getSharding(argument).isReplicated() &&
                 fits(sharding, cast<RankedTensorType>(argument.getType()), mesh);
    LDBG() << "argument " << argument.getArgNumber() << " arrives as " << sharding
           << (stays ? ", and stays so" : ", which does not fit");
    ++(stays ? numTaken : numLeft);
    if (stays)
      setSharding(argument, sharding);
  }
  return success();
}

namespace {
struct SeedLayouts : epl::impl::SeedLayoutsPassBase<SeedLayouts> {
  void runOnOperation() override {
    FailureOr<SmallVector<Program>> programs = getPrograms(getOperation(), Shardings::ofArguments);
    if (failed(programs))
      return signalPassFailure();
    for (auto [function, mesh] : *programs)
      if (failed(seed(function, mesh)))
        return signalPassFailure();
  }
};
} // namespace
