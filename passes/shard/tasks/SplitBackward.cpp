//===- SplitBackward.cpp - Backward work in two parts ---------------------===//
//
// Problem: a stage of a pipeline waits for the gradient of what it has handed on, but only for that: the
//   gradients of the parameters of the stage behind it can be made later, when that one would wait itself.
// Method: of the backward work in the iterations of a loop over micro-batches, what a sent gradient is made
//   of becomes `backward_input`, the rest `backward_weight`, by data flow. So is what another stage of the
//   same mesh reads. A value that iterations carry is followed to what it is made of in the iteration before.
//   Where no gradient is sent nobody waits for one: all is `backward_input`. Recomputed work goes with what
//   reads it.
// Invariant in: a local program. Invariant out: the same; in these loops nothing is of the kind `backward`,
//   and no op of `backward_input` depends on one of `backward_weight`.
// Reference: Qi et al., "Zero Bubble Pipeline Parallelism", 2023 (B and W; here I and W).
//
//===----------------------------------------------------------------------===//

#include "dialect/Channels.h"
#include "dialect/Loops.h"
#include "passes/shard/Passes.h"
#include "passes/shard/analysis/Rules.h"
#include "passes/shard/tasks/TaskPartition.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-split-backward"

namespace mlir::epl {
#define GEN_PASS_DEF_SPLITBACKWARDPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numInput, "Ops that sent gradients are made of");
ALWAYS_ENABLED_STATISTIC(numWeight, "Ops that can be done later");

namespace {
/// Splits the backward work in the loops of one function.
class Splitter {
public:
  explicit Splitter(Block &body) : body(body), loops(body) {}

  void run() {
    for (Operation &op : body)
      if (leavesLoop(&op) && isOfMicroBatches(getEdgeLoop(&op)) && leavesByChannel(op.getResult(0)))
        follow(op.getOperand(0));
      else
        followOtherStages(&op);
    for (Operation &op : body)
      if (isBackward(&op))
        stamp(&op);
  }

private:
  /// Whether a channel has a value that leaves a loop, seen through casts. Each mesh that reads it has one of
  /// its own.
  static bool leavesByChannel(Value left) {
    return isSent(left) || llvm::any_of(left.getUsers(), [](Operation *user) {
             return isCast(user) && leavesByChannel(user->getResult(0));
           });
  }

  WorkAttr getWork(Operation *op) const { return op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr); }

  bool isBackward(Operation *op) const {
    WorkAttr work = getWork(op);
    return work && getLoop(op) && work.getKind() != WorkKind::forward &&
           work.getKind() != WorkKind::recompute;
  }

  /// The loop over micro-batches in whose iterations an op is done, or null.
  LoopAttr getLoop(Operation *op) const { return getMicroBatchLoop(loops.getLoop(op)); }

  /// A stage of the same mesh waits for what it reads as one of another mesh does.
  void followOtherStages(Operation *op) {
    WorkAttr work = getWork(op);
    if (!work || !getLoop(op))
      return;
    for (Value value : getUsedValues(op)) {
      Operation *maker = skipCasts(value).getDefiningOp();
      WorkAttr other = maker ? getWork(maker) : WorkAttr();
      if (other && other.getTaskgraph() != work.getTaskgraph())
        follow(value);
    }
  }

  /// Marks the ops of iterations that a value is made of. A loop in them is done as a whole.
  void follow(Value value) {
    SmallVector<Value> open = {value};
    DenseSet<LoopAttr> whole;
    while (!open.empty()) {
      Operation *op = open.pop_back_val().getDefiningOp();
      if (!op || !getLoop(op) || !needed.insert(op).second)
        continue;
      if (isBackward(op))
        sending.insert({getLoop(op), getWork(op).getTaskgraph().getAttr()});
      if (LoopAttr inner = loops.getLoop(op); inner.getOuter() && whole.insert(inner).second)
        for (Operation &other : body)
          if (loops.getLoop(&other) == inner)
            llvm::append_range(open, other.getResults());
      if (auto carry = dyn_cast<LoopCarryOp>(op))
        open.push_back(loops.getLast(carry).getOperand());
      llvm::append_range(open, getUsedValues(op)); // what a loop in an iteration begins with, too
    }
  }

  void stamp(Operation *op) {
    bool isInput =
        needed.contains(op) || !sending.contains({getLoop(op), getWork(op).getTaskgraph().getAttr()});
    WorkKind kind = isInput ? WorkKind::backward_input : WorkKind::backward_weight;
    op->setAttr(EplDialect::kWorkAttr, WorkAttr::get(op->getContext(), getWork(op).getTaskgraph(), kind));
    ++(isInput ? numInput : numWeight);
    LDBG() << op->getName() << " is " << stringifyWorkKind(kind);
  }

  Block &body;
  Loops loops;
  DenseSet<Operation *> needed;
  DenseSet<std::pair<LoopAttr, StringAttr>> sending; ///< task graphs whose gradients others wait for
};

struct SplitBackward : epl::impl::SplitBackwardPassBase<SplitBackward> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      if (failed(verifyCarries(function.front(), Loops(function.front()))))
        return signalPassFailure();
      Splitter(function.front()).run();
    }
  }
};
} // namespace
