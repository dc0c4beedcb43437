//===- SeedSequence.cpp - Norms and residuals on parts of the sequence ----===//
//
// Problem: tensor parallelism completes a sum on all devices of a split, which then compute the same up to
//   the next product, and keep it for the gradient: norms, dropout, residual additions.
// Method: regions of such ops are found from the propagated step (SequenceRegion.h), the sums that enter one
//   largest first. Constraints shard a region along one dimension and make whole what is read whole outside
//   of it; propagation and placement do the rest: a sum is scattered, what the next product reads is
//   gathered, in the backward work as well. Each dimension that the axis divides is tried: constraints are
//   assumed, and what depends on them is propagated again. One is taken if members make less and exchange no
//   more, but for the gradients of what the region broadcasts; of several the one that moves least, then the
//   outermost. Its constraints alone are written into the program.
// Invariant in: arguments have their shardings, no op has one. Invariant out: the same; constraints of
//   axes of role `model` stand in the program, which fit it.
// Reference: Korthikanti et al., "Reducing activation recomputation in large transformer models", 2022.
//
//===----------------------------------------------------------------------===//

#include "dialect/Bytes.h"
#include "passes/shard/Passes.h"
#include "passes/shard/seed/SequenceRegion.h"
#include "passes/shard/seed/WriteConstraints.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-seed-sequence"

namespace mlir::epl {
#define GEN_PASS_DEF_SEEDSEQUENCEPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numCandidates, "Regions that were tried");
ALWAYS_ENABLED_STATISTIC(numRegions, "Regions that devices share");
ALWAYS_ENABLED_STATISTIC(numSteps, "Ops that were looked at for them");

/// A region counts if members make less by this part of all: the denominators of a loss do not, for which
/// two collectives would stand in the place of one.
static constexpr int64_t kLeastFraction = 256;

namespace {
/// Seeds one step on one axis.
class Seeder {
public:
  Seeder(func::FuncOp function, MeshOp mesh, AxisAttr axis) : function(function), mesh(mesh), axis(axis) {}

  void run();

private:
  Value getLargest(ArrayRef<Value> sums) const;
  bool decide(const SequenceStep &step, Value sum);
  std::unique_ptr<SequenceStep> choose(const SequenceStep &step, Value sum) const;
  void remarkWhole();

  func::FuncOp function;
  MeshOp mesh;
  AxisAttr axis;
  DenseSet<Value> decided;      ///< sums that stay as they are, or are no more
  SmallVector<Value> undivided; ///< those that have no dimension which the axis divides
};
} // namespace

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

/// Writes the constraints that `step` assumes, but for those that say what it would do anyway.
static void writeConstraints(const SequenceStep &step, AxisAttr axis) {
  DenseMap<Value, std::pair<Value, AxisState>> entered; // what all uses of a value read
  for (const AssumedConstraints::Constraint &constraint : step.getAssumed().get()) {
    Value value = constraint.value;
    auto known = entered.find(value);
    auto [read, state] = known == entered.end() ? std::pair(value, step.getState(value)) : known->second;
    if (!constraint.isForAll && constraint.state == state)
      continue;
    ConstrainOp made = createConstrain(read, constraint.state, axis);
    copyWork(read.getDefiningOp(), made);
    for (OpOperand *use : constraint.single)
      use->set(made);
    if (!constraint.isForAll)
      continue;
    value.replaceAllUsesExcept(made, made);
    entered[value] = {made.getResult(), constraint.state};
  }
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// Each region that is sharded changes the program, which is looked at again then.
void Seeder::run() {
  bool changed = true;
  while (changed) {
    FunctionRules rules(function, mesh);
    SequenceStep step(rules, axis);
    numSteps += step.getNumSteps();
    changed = false;
    SmallVector<Value> sums = step.getSums();
    while (Value sum = changed ? Value() : getLargest(sums))
      changed = decide(step, sum);
  }
  if (!undivided.empty())
    remarkWhole();
}

/// Of the sums that nothing is decided about; null if there is none.
Value Seeder::getLargest(ArrayRef<Value> sums) const {
  Value largest;
  for (Value sum : sums)
    if (!decided.contains(sum) && (!largest || getBytes(sum) > getBytes(largest)))
      largest = sum;
  return largest;
}

/// Whether the region of a sum is sharded now.
bool Seeder::decide(const SequenceStep &step, Value sum) {
  decided.insert(sum);
  auto dims = llvm::seq<int64_t>(0, cast<RankedTensorType>(sum.getType()).getRank());
  if (llvm::none_of(dims, [&](int64_t dim) { return step.getRules().divides(sum, dim, axis); }))
    undivided.push_back(sum);
  std::unique_ptr<SequenceStep> shared = choose(step, sum);
  if (!shared)
    return false;
  ++numRegions;
  writeConstraints(*shared, axis);
  return true;
}

/// The step with the region of `sum` shared along its best dimension; null if it had better stay whole.
std::unique_ptr<SequenceStep> Seeder::choose(const SequenceStep &step, Value sum) const {
  std::unique_ptr<SequenceStep> best;
  int64_t least = step.getTraffic(), made = step.getMadeBytes();
  for (int64_t dim = 0; dim < cast<RankedTensorType>(sum.getType()).getRank(); ++dim) {
    if (!step.getRules().divides(sum, dim, axis))
      continue;
    SequenceRegion region = step.grow(sum, dim);
    auto then = std::make_unique<SequenceStep>(step, region);
    ++numCandidates;
    numSteps += then->getNumSteps();
    int64_t traffic = then->getTraffic() - region.extraBytes; // but for what they may exchange more
    bool isBetter = best ? traffic < least : traffic <= least;
    LDBG() << "a sum of " << sum.getType() << " along dimension " << dim << ": " << traffic << " bytes, "
           << (isBetter ? "" : "not ") << "less than " << least;
    if (!isBetter || made - then->getMadeBytes() < made / kLeastFraction)
      continue;
    best = std::move(then);
    least = traffic;
  }
  return best;
}

/// Says which sums every device gets although parts were asked for.
void Seeder::remarkWhole() {
  InFlightDiagnostic remark = function.emitRemark()
                              << "every device gets all of " << undivided.size()
                              << " sums: no dimension is there that axis \"" << axis.getName()
                              << "\" of size " << axis.getSize() << " divides";
  for (Value sum : undivided)
    remark.attachNote(sum.getLoc()) << sum.getType();
}

namespace {
struct SeedSequence : epl::impl::SeedSequencePassBase<SeedSequence> {
  void runOnOperation() override {
    FailureOr<SmallVector<Program>> programs = getPrograms(getOperation(), Shardings::ofArguments);
    if (failed(programs))
      return signalPassFailure();
    for (auto [function, mesh] : *programs)
      forEachAxis(function, mesh, [function = function, mesh = mesh](AxisAttr axis) {
        if (axis.isModel())
          Seeder(function, mesh, axis).run();
      });
  }
};
} // namespace
