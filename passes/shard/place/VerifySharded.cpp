//===- VerifySharded.cpp - Shardings agree with the rules of their ops ----===//
//
// Problem: localize turns shardings into local shapes op by op. That is right only if the shardings of the
//   operands and results of every op agree.
// Method: two checks of every op on each axis, which know nothing of each other:
//     by its rule         the states of operands and results are those that follow from the factor which
//                         propagation has written down at the op (`epl.factors`);
//     by its index sets   each member holds the elements that it reads, whatever the rule (IndexSets.cpp).
// Invariant in: `epl-place` has run.
// Invariant out: the same; nothing changes. `epl.reshard` alone changes distributions, captured tensors are
//   replicated, results that update an argument return in its sharding and the others are complete.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/Passes.h"
#include "passes/shard/analysis/FactorChoice.h"
#include "passes/shard/place/IndexSets.h"

#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-verify-sharded"

namespace mlir::epl {
#define GEN_PASS_DEF_VERIFYSHARDEDPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numChecked, "Ops that were checked, on each axis");

namespace {
/// Checks a function on one axis.
class AxisVerifier {
public:
  AxisVerifier(const FunctionRules &rules, AxisAttr axis) : rules(rules), axis(axis) {}

  LogicalResult verify();

private:
  LogicalResult verifyOp(Operation &op);
  LogicalResult verifyOperands(Operation &op, int64_t factor);
  LogicalResult verifyNeutral(Operation &op, int64_t factor);
  LogicalResult verifyCaptured(Operation &op);
  LogicalResult verifyResults(Operation &op, int64_t factor);
  LogicalResult verifyReturn(func::ReturnOp op);
  LogicalResult expect(Operation *op, const Twine &what, AxisState found, AxisState expected);
  AxisState getState(Value value) const { return getAxisState(getSharding(value), axis.getName()); }

  const FunctionRules &rules;
  AxisAttr axis;
};
} // namespace

LogicalResult AxisVerifier::verify() {
  for (Operation &op : rules.getFunction().getBody().front())
    if (failed(verifyOp(op)))
      return failure();
  return success();
}

LogicalResult AxisVerifier::verifyOp(Operation &op) {
  if (isa<ReshardOp>(op)) // Any two shardings are right.
    return success();
  if (auto terminator = dyn_cast<func::ReturnOp>(op))
    return verifyReturn(terminator);
  int64_t factor = getChosenFactor(&op, axis);
  LDBG() << op.getName() << " over " << axis.getName() << ": factor " << factor;
  ++numChecked;
  if (factor >= int64_t(rules.getRule(&op).factors.size()))
    return op.emitOpError() << "shards factor " << factor << " over axis \"" << axis.getName()
                            << "\", expected one of the " << rules.getRule(&op).factors.size()
                            << " of its rule";
  return success(succeeded(verifyCaptured(op)) && succeeded(verifyOperands(op, factor)) &&
                 succeeded(verifyNeutral(op, factor)) && succeeded(verifyResults(op, factor)) &&
                 succeeded(verifyIndexSets(&op, axis, [&](Value value) { return getState(value); })));
}

LogicalResult AxisVerifier::expect(Operation *op, const Twine &what, AxisState found, AxisState expected) {
  if (found == expected)
    return success();
  return op->emitOpError() << what << " is " << describeState(found) << " on axis \"" << axis.getName()
                           << "\", expected " << describeState(expected);
}

/// Partial operands of ops that shard nothing are judged with the results.
LogicalResult AxisVerifier::verifyOperands(Operation &op, int64_t factor) {
  for (OpOperand &operand : op.getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType()))
      continue;
    AxisState found = getState(operand.get());
    if (found.partial && factor == FactorRule::kBlocked)
      continue;
    AxisState expected = rules.getOperandState(&op, operand.getOperandNumber(), factor);
    if (failed(expect(&op, "operand " + Twine(operand.getOperandNumber()), found, expected)))
      return failure();
  }
  return success();
}

/// What a reduction starts from is combined on every member.
LogicalResult AxisVerifier::verifyNeutral(Operation &op, int64_t factor) {
  if (factor == FactorRule::kBlocked || !rules.getRule(&op).isReduction(factor) || rules.startsNeutral(&op))
    return success();
  return op.emitOpError() << "shards a reduction over axis \"" << axis.getName()
                          << "\" that starts from a value that is not neutral";
}

LogicalResult AxisVerifier::verifyCaptured(Operation &op) {
  for (OpOperand *use : rules.getCapturedTensors(&op))
    if (failed(expect(use->getOwner(), "captured tensor", getState(use->get()), AxisState())))
      return failure();
  return success();
}

LogicalResult AxisVerifier::verifyResults(Operation &op, int64_t factor) {
  auto expected = rules.getResultStates(&op, factor, axis, [&](Value value) { return getState(value); });
  if (failed(expected))
    return op.emitOpError() << "has a partial operand on axis \"" << axis.getName()
                            << "\" that it is not linear in";
  for (auto [result, state] : llvm::zip_equal(op.getResults(), *expected))
    if (isa<RankedTensorType>(result.getType()) &&
        failed(expect(&op, "result " + Twine(result.getResultNumber()), getState(result), state)))
      return failure();
  return success();
}

LogicalResult AxisVerifier::verifyReturn(func::ReturnOp op) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType()))
      continue;
    AxisState found = getState(operand.get());
    BlockArgument updated = rules.getUpdatedArgument(operand.getOperandNumber());
    AxisState expected = updated ? getState(updated) : AxisState::sharded(found.dim);
    if (failed(expect(op, "operand " + Twine(operand.getOperandNumber()), found, expected)))
      return failure();
  }
  return success();
}

namespace {
struct VerifySharded : epl::impl::VerifyShardedPassBase<VerifySharded> {
  void runOnOperation() override {
    FailureOr<SmallVector<Program>> programs = getPrograms(getOperation(), Shardings::ofAll);
    if (failed(programs))
      return signalPassFailure();
    for (auto [function, mesh] : *programs)
      if (failed(verify(function, mesh)))
        return signalPassFailure();
    markAllAnalysesPreserved();
  }

  LogicalResult verify(func::FuncOp program, MeshOp mesh) {
    FunctionRules rules(program, mesh);
    for (AxisAttr axis : mesh.getAxes().getAsRange<AxisAttr>())
      if (failed(AxisVerifier(rules, axis).verify()))
        return failure();
    return success();
  }
};
} // namespace
