//===- RaiseArrangements.cpp - Results are made as they are arranged ------===//
//
// Problem: another step may hold a part of a tensor only, rows of a stack for its stage, or its segments as a
//   dimension of their own (`epl.caller_rows`, `epl.caller_parts`). Then what makes the tensor ends with
//   slices and reshapes of it, and no axis that splits the arranged tensor splits the one before: each device
//   would make that whole.
// Method: from such results on, in reverse, an op whose result is arranged is written anew, as one that makes
//   what is taken of it, of operands that are arranged so: a slice is a tile of its loops, a reshape takes
//   one of them apart into several. Equal arrangements are one; what else reads the value reads it as it was.
//   It ends at what is smaller than what is made of it, such as a key, and at ops that are no generics.
//   Other reshapes, those of initializers for example, go up through ops that nothing else reads.
// Invariant in: a global program. Invariant out: the same; of functions without `epl.wanted` nothing changes.
// Reference: tile and fuse, and fusion of reshapes by expansion, in MLIR's linalg dialect; the latter takes
// no
//   op there that broadcasts a dimension of one element.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/Passes.h"
#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/prepare/Arrangement.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-raise-arrangements"

namespace mlir::epl {
#define GEN_PASS_DEF_RAISEARRANGEMENTSPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numRaised, "Ops that make what was arranged of them");

static int64_t countElements(Value value) { return cast<RankedTensorType>(value.getType()).getNumElements(); }

namespace {
/// Raises the arrangements of one function's results.
class Raiser {
public:
  Raiser(func::FuncOp function) : body(function.front()), builder(function.getContext()) {}

  void run();

private:
  void mark(Value value);
  SmallVector<Operation *> findArrangements(Operation *op) const;
  Operation *raiseAll(Operation *op);
  void finish(Operation *op, bool isOfResult, Operation *first, Operation *end);
  bool goesUp(Operation *op, Operation *reshape) const;

  Block &body;
  OpBuilder builder;
  DenseSet<Operation *> ofResults; ///< arrangements of results, and of what they are made of
};
} // namespace

/// What is returned is arranged by slices, reshapes and concatenations one behind the other.
void Raiser::mark(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !(isArrangement(op) || isa<ConcatenateOp>(op)) || !ofResults.insert(op).second)
    return;
  for (Value operand : op->getOperands()) // extents are constants, no operands
    mark(operand);
}

/// Whether a reshape of an op's result goes up: nothing is made twice, and no sum gets other loops.
bool Raiser::goesUp(Operation *op, Operation *reshape) const {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return isa<tensor::ExpandShapeOp>(reshape) && generic && op->hasOneUse() &&
         generic.getNumReductionLoops() == 0;
}

/// The arrangements of an op's results that are raised, in order.
SmallVector<Operation *> Raiser::findArrangements(Operation *op) const {
  SmallVector<Operation *> found;
  for (Operation *user : op->getUsers())
    if (isArrangement(user) && (ofResults.contains(user) || goesUp(op, user)) &&
        !llvm::is_contained(found, user))
      found.push_back(user);
  llvm::sort(found, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return found;
}

/// What was made in the place of an arrangement, from `first` on up to `end`, does the work of `op`.
/// Arrangements of results go on upwards, but where they take of something smaller.
void Raiser::finish(Operation *op, bool isOfResult, Operation *first, Operation *end) {
  LDBG() << op->getName() << " makes what is arranged of it"
         << (isOfResult ? ", and so do those that it reads" : "");
  for (; first != end; first = first->getNextNode()) {
    copyWork(op, first);
    if (isOfResult && isArrangement(first) &&
        countElements(first->getOperand(0)) >= countElements(op->getResult(0)))
      ofResults.insert(first);
  }
  ++numRaised;
}

/// Raises what an op's results are arranged as, each arrangement once. Gives the op behind what was made, if
/// something was: there may be arrangements of that.
Operation *Raiser::raiseAll(Operation *op) {
  SmallVector<Operation *> arrangements = findArrangements(op);
  Operation *last = nullptr;
  while (!arrangements.empty()) {
    Operation *first = arrangements.front(), *before = first->getPrevNode();
    auto alike = llvm::to_vector(
        llvm::make_filter_range(arrangements, [&](Operation *other) { return arrangeAlike(first, other); }));
    llvm::erase_if(arrangements, [&](Operation *other) { return llvm::is_contained(alike, other); });
    bool isOfResult = llvm::count_if(alike, [&](Operation *each) { return ofResults.erase(each); }) > 0;
    builder.setInsertionPoint(first);
    FailureOr<SmallVector<Value>> made = makeArranged(op, first, builder);
    if (failed(made))
      continue;
    finish(op, isOfResult, before->getNextNode(), first);
    last = last ? last : first->getNextNode();
    for (Operation *each : alike) {
      each->replaceAllUsesWith(ValueRange((*made)[cast<OpResult>(each->getOperand(0)).getResultNumber()]));
      last = last == each ? each->getNextNode() : last;
      each->erase();
    }
  }
  return last;
}

void Raiser::run() {
  for (Value result : body.getTerminator()->getOperands())
    mark(result);
  for (Operation *op = body.getTerminator()->getPrevNode(); op; op = op->getPrevNode())
    if (!isArrangement(op)) // one of another waits for that
      if (Operation *behind = raiseAll(op))
        op = behind;
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

namespace {
struct RaiseArrangements : epl::impl::RaiseArrangementsPassBase<RaiseArrangements> {
  void runOnOperation() override {
    FailureOr<SmallVector<Program>> programs = getPrograms(getOperation());
    if (failed(programs))
      return signalPassFailure();
    for (auto [function, mesh] : *programs)
      if (hasWantedResults(function))
        Raiser(function).run();
  }
};
} // namespace
