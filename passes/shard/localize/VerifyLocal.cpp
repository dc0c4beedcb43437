//===- VerifyLocal.cpp - What holds after localize ------------------------===//
//
// Problem: a tensor that stayed global by mistake would be computed in full, or cut, on every rank.
// Method: read only. The level's ops, distributed types at the boundary of the function, and for every local
// tensor the distribution that makes it part of a whole; that types agree op by op is what op verifiers
// prove. Reference: docs/design.md, 4.4.
//
//===----------------------------------------------------------------------===//

#include "dialect/Sharding.h"
#include "passes/shard/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-verify-local"

namespace mlir::epl {
#define GEN_PASS_DEF_VERIFYLOCALPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numChecked, "Ops that were checked");

static LogicalResult verifyBoundary(func::FuncOp function, TypeRange types, StringRef what) {
  for (auto [index, type] : llvm::enumerate(types))
    if (isa<TensorType>(type))
      return function.emitOpError() << what << " " << index << " is " << type << ", expected an !epl.dist";
  return success();
}

/// A local tensor says what it is a part of: by a cast, or by the attribute that form-tasks reads.
static LogicalResult verifyDistributed(Operation *op) {
  bool hasTensor = llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
  if (hasTensor && !isa<ToLocalOp>(op) && !op->hasAttr(EplDialect::kShardingAttr))
    return op->emitOpError() << "has no \"" << EplDialect::kShardingAttr << "\"";
  LDBG() << op->getName() << (hasTensor ? " makes parts of tensors" : " makes no tensor");
  return success();
}

static LogicalResult verifyFunction(func::FuncOp function) {
  if (function.isExternal())
    return success();
  if (failed(verifyBoundary(function, function.getArgumentTypes(), "argument")) ||
      failed(verifyBoundary(function, function.getResultTypes(), "result")))
    return failure();
  for (Operation &op : function.front())
    if (++numChecked; failed(verifyDistributed(&op)))
      return failure();
  return success();
}

namespace {
struct VerifyLocalPass : epl::impl::VerifyLocalPassBase<VerifyLocalPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verifyLevel(getOperation(), Level::local)))
      return signalPassFailure();
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      if (failed(verifyFunction(function)))
        return signalPassFailure();
  }
};
} // namespace
