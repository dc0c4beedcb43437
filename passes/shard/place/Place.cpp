//===- Place.cpp - Make every change of distribution an op ----------------===//
//
// Problem: after propagation operands may be distributed otherwise than their op needs, and sums are pending
//   without a place where they are completed.
// Method: on each axis, collect the partial values, their flows and the uses that need them complete, and let
//   `placement` choose the values to complete. Then compare what each use needs with what its operand has:
//   one `epl.reshard` for each value and target, right after the value, shared by all uses. A value that has
//   several targets is first completed as far as all of them need it. Uniform values (empty tensors,
//   constants, fills) are not resharded but rematerialized. Each reshard says which ops are why (Causes.h).
// Invariant in: `epl-propagate` has run.
// Invariant out: `epl-verify-sharded` holds; no constraint is left.
// Reference: propagation of partial values in GSPMD (Xu et al., 2021); Shardy's insert-explicit-reshards.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/Passes.h"
#include "passes/shard/analysis/AxisPlacement.h"
#include "passes/shard/explain/Causes.h"
#include "passes/shard/explain/Conflicts.h"
#include "passes/shard/place/InsertReshards.h"

#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-place"

namespace mlir::epl {
#define GEN_PASS_DEF_PLACEPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numMended, "Values that are needed otherwise than they are made");
ALWAYS_ENABLED_STATISTIC(numReshards, "Reshards that stand for that");
ALWAYS_ENABLED_STATISTIC(numRematerialized, "Copies of what is made again instead");

/// Erases the constraints, whose operands are distributed as they say now, and the reshards of seeds that
/// have nothing left to do.
static void eraseIdentities(func::FuncOp program) {
  for (auto constrain : llvm::make_early_inc_range(program.getOps<ConstrainOp>())) {
    constrain.replaceAllUsesWith(constrain.getOperand());
    constrain.erase();
  }
  for (auto reshard : llvm::make_early_inc_range(program.getOps<ReshardOp>()))
    if (getSharding(reshard.getOperand()) == reshard.getSharding()) {
      reshard.replaceAllUsesWith(reshard.getOperand());
      reshard.erase();
    }
}

namespace {
struct Place : epl::impl::PlacePassBase<Place> {
  using PlacePassBase::PlacePassBase;

  void runOnOperation() override {
    FailureOr<SmallVector<Program>> programs = getPrograms(getOperation(), Shardings::ofAll);
    if (failed(programs))
      return signalPassFailure();
    for (auto [function, mesh] : *programs)
      if (failed(verifyNotPlaced(function)))
        return signalPassFailure();
    for (auto [function, mesh] : *programs)
      place(function, mesh);
  }

  void place(func::FuncOp program, MeshOp mesh) {
    FunctionRules rules(program, mesh);
    SmallVector<AxisPlacement, 0> placements;
    for (AxisAttr axis : mesh.getAxes().getAsRange<AxisAttr>())
      placements.emplace_back(rules, axis).commit();
    if (explain)
      explainConflicts(rules, placements);
    InsertedReshards inserted = insertReshards(rules, placements);
    numMended += inserted.mended;
    numRematerialized += inserted.rematerialized;
    eraseIdentities(program);
    for (auto reshard : program.getOps<ReshardOp>())
      LDBG() << reshard.getType() << " of " << getSharding(reshard.getOperand()) << " is read as "
             << reshard.getSharding();
    numReshards += llvm::range_size(program.getOps<ReshardOp>());
    explainReshards(program, mesh);
    if (explain)
      remarkSums(program);
  }
};
} // namespace
