//===- Strip.cpp - The reference program ----------------------------------===//
//
// Problem: a parallel program is right if it computes what the step computes on one device.
// Method: take the annotations out; the ops are left as they were.
// Invariant in: design 4.1. Invariant out: the same, without scopes, constraints, checkpoints, meshes,
// shardings and tables of scopes.
//
//===----------------------------------------------------------------------===//

#include "dialect/Stages.h"
#include "passes/annotate/InlineScopes.h"
#include "passes/annotate/Passes.h"

namespace mlir::epl {
#define GEN_PASS_DEF_STRIPPASS
#include "passes/annotate/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

/// Shardings name axes of meshes that go.
static void dropShardings(func::FuncOp func) {
  for (unsigned index = 0; index < func.getNumArguments(); ++index)
    for (StringRef name : {EplDialect::kShardingAttr, EplDialect::kArrivesAttr})
      func.removeArgAttr(index, name);
  for (unsigned index = 0; index < func.getNumResults(); ++index)
    func.removeResultAttr(index, StringAttr::get(func.getContext(), EplDialect::kWantedAttr));
  func.walk([](Operation *op) {
    for (StringRef name :
         {EplDialect::kShardingAttr, EplDialect::kPerMicroBatchAttr, EplDialect::kCheckpointAttr})
      op->removeDiscardableAttr(name);
  });
}

static void strip(func::FuncOp func) {
  for (Block &block : func.getBody())
    inlineScopes(block);
  func.walk([](ConstrainOp constrain) {
    constrain.replaceAllUsesWith(constrain.getOperand());
    constrain.erase();
  });
  func.walk([](CheckpointOp checkpoint) { checkpoint.erase(); });
  dropShardings(func);
  func->removeAttr(EplDialect::kScopesAttr);
  func->removeAttr(kStagesAttr);
  func->removeAttr(EplDialect::kDefaultStrategyAttr);
}

namespace {
struct StripPass : epl::impl::StripPassBase<StripPass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      strip(func);
    for (auto mesh : llvm::make_early_inc_range(getOperation().getOps<MeshOp>()))
      mesh.erase();
  }
};
} // namespace
