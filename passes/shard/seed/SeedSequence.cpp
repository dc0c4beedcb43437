//===- SeedSequence.cpp - Norms and residuals on parts of the sequence ----===//
//
// Problem: tensor parallelism completes a sum on all devices of a split, which then compute the same up to
//   the next product, and keep it for the gradient: norms, dropout, residual additions.
// Method: regions of such ops are found from the propagated step (SequenceRegion.h), the sums that enter one
//   largest first. Constraints shard a region along one dimension and make whole what is read whole outside
//   of it; propagation and placement do the rest: a sum is scattered, what the next product reads is
//   gathered, in the backward work as well. Each dimension that the axis divides is tried on the program. One
//   is taken if members make less and exchange no more, but for the gradients of what the region
//   broadcasts; of several the one that moves least, then the outermost.
// Invariant in: arguments have their shardings, no op has one. Invariant out: the same; constraints of
//   axes of role `model` stand in the program, which fit it.
// Reference: Korthikanti et al., "Reducing activation recomputation in large transformer models", 2022.
//
//===----------------------------------------------------------------------===//

#include "dialect/Bytes.h"
#include "passes/shard/Passes.h"
#include "passes/shard/seed/SequenceRegion.h"

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

/// A region counts if members make less by this part of all: the denominators of a loss do not, for which
/// two collectives would stand in the place of one.
static constexpr int64_t kLeastShare = 256;

namespace {
/// The constraints that shard a region; without `keep` they are gone with this.
class Sharded {
public:
  Sharded(const SequenceRegion &region, AxisAttr axis);
  Sharded(const Sharded &) = delete;
  ~Sharded();

  /// Leaves those in the program that say what `step`, of that program, would not do anyway.
  void keep(const SequenceStep &step);

private:
  ConstrainOp add(Value value, AxisState state, Operation *work);

  AxisAttr axis;
  SmallVector<ConstrainOp> entries, exits;
};

/// Seeds one step on one axis.
class Seeder {
public:
  Seeder(func::FuncOp function, MeshOp mesh, AxisAttr axis) : function(function), mesh(mesh), axis(axis) {}

  void run();

private:
  /// A way to shard a region.
  struct Choice {
    int64_t dim;
    int64_t traffic; ///< what members exchange then, but for what they may more
  };

  Value getLargest(ArrayRef<Value> sums) const;
  bool decide(const SequenceStep &step, Value sum);
  std::optional<Choice> choose(const SequenceStep &step, Value sum) const;
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

ConstrainOp Sharded::add(Value value, AxisState state, Operation *work) {
  SmallVector<SmallVector<StringRef>> dims(cast<RankedTensorType>(value.getType()).getRank());
  SmallVector<StringRef> whole;
  (state.isSharded() ? dims[state.dim] : whole).push_back(axis.getName());
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  auto constrain = ConstrainOp::create(builder, value.getLoc(), value,
                                       ConstraintAttr::get(value.getContext(), dims, whole));
  if (Attribute attribute = work->getAttr(EplDialect::kWorkAttr))
    constrain->setAttr(EplDialect::kWorkAttr, attribute);
  return constrain;
}

/// One for each sum, and for each value and what is needed of it outside.
Sharded::Sharded(const SequenceRegion &region, AxisAttr axis) : axis(axis) {
  for (Value sum : region.sums) {
    ConstrainOp entry = add(sum, AxisState::sharded(region.dims.lookup(sum)), sum.getDefiningOp());
    sum.replaceAllUsesExcept(entry, entry);
    entries.push_back(entry);
  }
  DenseMap<std::pair<Value, int64_t>, ConstrainOp> made;
  for (const RegionExit &exit : region.exits) {
    Value value = exit.use->get();
    ConstrainOp &constrain = made[{value, exit.needed.dim}];
    if (!constrain)
      exits.push_back(constrain = add(value, exit.needed, value.getDefiningOp()));
    exit.use->set(constrain);
  }
}

static void erase(ConstrainOp constrain) {
  constrain.replaceAllUsesWith(constrain.getOperand());
  constrain.erase();
}

Sharded::~Sharded() {
  llvm::for_each(exits, erase);
  llvm::for_each(entries, erase);
}

void Sharded::keep(const SequenceStep &step) {
  auto isIdle = [&](ConstrainOp exit) {
    return step.getState(exit.getOperand()) == step.getState(exit.getResult());
  };
  llvm::erase_if(exits, [&](ConstrainOp exit) { return !isIdle(exit); }); // the others go
  entries.clear();
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// Each region that is sharded changes the program, which is looked at again then.
void Seeder::run() {
  bool changed = true;
  while (changed) {
    SequenceStep step(function, mesh, axis);
    changed = false;
    while (Value sum = changed ? Value() : getLargest(step.getSums()))
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
  std::optional<Choice> choice = choose(step, sum);
  if (!choice)
    return false;
  LDBG() << "the region of a sum of " << sum.getType() << " is shared along dimension " << choice->dim;
  ++numRegions;
  Sharded sharded(step.grow(sum, choice->dim), axis);
  sharded.keep(SequenceStep(function, mesh, axis));
  return true;
}

std::optional<Seeder::Choice> Seeder::choose(const SequenceStep &step, Value sum) const {
  std::optional<Choice> best;
  int64_t traffic = step.getTraffic(), made = step.getMadeBytes();
  for (int64_t dim = 0; dim < cast<RankedTensorType>(sum.getType()).getRank(); ++dim) {
    if (!step.getRules().divides(sum, dim, axis))
      continue;
    SequenceRegion region = step.grow(sum, dim);
    ++numCandidates;
    Sharded sharded(region, axis);
    SequenceStep then(function, mesh, axis);
    Choice choice = {dim, then.getTraffic() - region.extraBytes};
    bool isBetter = made - then.getMadeBytes() >= made / kLeastShare && choice.traffic <= traffic;
    if (isBetter && (!best || choice.traffic < best->traffic))
      best = choice;
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
      seed(function, mesh);
  }

  /// What an axis divides depends on the shardings on those before it, which ops have meanwhile.
  static void seed(func::FuncOp function, MeshOp mesh) {
    for (AxisAttr axis : mesh.getAxes().getAsRange<AxisAttr>()) {
      if (axis.isModel() && axis.getSize() > 1)
        Seeder(function, mesh, axis).run();
      FunctionRules rules(function, mesh);
      Propagation program(rules, axis, {});
      program.run();
      program.commit();
    }
    for (Operation &op : function.getBody().front()) {
      op.removeAttr(EplDialect::kShardingAttr);
      op.removeAttr(EplDialect::kFactorsAttr);
    }
  }
};
} // namespace
