//===- SpreadExperts.cpp - Replicas share experts instead of copying them -===//

#include "passes/shard/seed/split/SpreadExperts.h"

#include "passes/shard/analysis/Describe.h"
#include "passes/shard/analysis/StepCost.h"
#include "passes/shard/seed/split/ParameterReads.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::epl;

/// The dimension of a state that a task graph splits, or -1.
static int64_t getSplitDim(BlockArgument argument, MeshOp mesh) {
  ShardingAttr sharding = getSharding(argument);
  for (AxisAttr axis : mesh.getAxes().getAsRange<AxisAttr>())
    if (sharding && axis.isModel() && sharding.getDimOf(axis.getName()) >= 0)
      return sharding.getDimOf(axis.getName());
  return -1;
}

/// Whether a task graph splits a state, and `axis` does not shard it.
static bool isOpen(BlockArgument state, AxisAttr axis, MeshOp mesh) {
  return getSplitDim(state, mesh) >= 0 && !getAxisState(getSharding(state), axis.getName()).isSharded();
}

static bool isBatchOfContraction(Operation *op, int64_t factor) {
  auto linalg = dyn_cast<linalg::LinalgOp>(op);
  FailureOr<linalg::ContractionDimensions> dims =
      linalg ? linalg::inferContractionDims(linalg) : FailureOr<linalg::ContractionDimensions>(failure());
  return succeeded(dims) && llvm::is_contained(dims->batch, factor);
}

namespace {
/// Experts of one kind.
struct Experts {
  int64_t dim; ///< that counts them
  SmallVector<BlockArgument> members;
};

/// A step on one axis of the data.
class ExpertSearch {
public:
  ExpertSearch(const FunctionRules &rules, AxisAttr axis, ArrayRef<BlockArgument> states);

  bool hasExperts() const { return !all.empty(); }
  /// Writes what is best.
  void run(bool explain);

private:
  void collect(BlockArgument argument, const ParameterUses &uses);
  Propagation propagate(ArrayRef<const Experts *> shared) const;
  void remark(const Experts &experts, bool isShared, int64_t bytes, int64_t otherBytes) const;

  const FunctionRules &rules;
  AxisAttr axis;
  StepCosts costs;
  SmallVector<BlockArgument> open; ///< what may be sharded
  std::vector<Experts> all;
};
} // namespace

ExpertSearch::ExpertSearch(const FunctionRules &rules, AxisAttr axis, ArrayRef<BlockArgument> states)
    : rules(rules), axis(axis), costs(rules) {
  llvm::copy_if(states, std::back_inserter(open),
                [&](BlockArgument state) { return isOpen(state, axis, rules.getMesh()); });
  ParameterUses uses(rules, axis, open, [&](Operation *op) { return costs.isContraction(op); });
  for (BlockArgument state : open)
    collect(state, uses);
}

void ExpertSearch::collect(BlockArgument argument, const ParameterUses &uses) {
  int64_t splitDim = getSplitDim(argument, rules.getMesh());
  bool areExperts = false;
  auto isContraction = [&](Operation *op) { return costs.isContraction(op); };
  walkReads(rules, axis, argument, isContraction, [&](const ParameterRead &read) {
    for (auto [dim, factor] : llvm::zip_equal(read.dims, read.factors))
      areExperts |= dim == splitDim && isBatchOfContraction(read.op, factor);
  });
  if (!areExperts || !rules.divides(argument, splitDim, axis))
    return;
  auto known = llvm::find_if(all, [&](const Experts &experts) {
    BlockArgument first = experts.members.front();
    return experts.dim == splitDim && first.getType() == argument.getType() &&
           uses.get(first) == uses.get(argument);
  });
  if (known == all.end())
    known = all.insert(all.end(), {splitDim, {}});
  known->members.push_back(argument);
}

Propagation ExpertSearch::propagate(ArrayRef<const Experts *> shared) const {
  Propagation program(rules, axis, open);
  for (const Experts *experts : shared)
    for (BlockArgument member : experts->members)
      program.seed(member, AxisState::sharded(experts->dim));
  program.run();
  return program;
}

void ExpertSearch::remark(const Experts &experts, bool isShared, int64_t bytes, int64_t otherBytes) const {
  BlockArgument first = experts.members.front();
  rules.getFunction().emitRemark() << describeArguments(rules.getFunction(), experts.members)
                                   << (isShared ? ": split along " : ": not split along ")
                                   << describeDim(first, experts.dim) << " over \"" << axis.getName()
                                   << "\" as well, " << bytes << " bytes exchanged over it; "
                                   << (isShared ? "if not " : "if so ") << otherBytes;
}

void ExpertSearch::run(bool explain) {
  SmallVector<const Experts *> shared;
  std::optional<Propagation> now(propagate(shared));
  StepCost cost = costs.get(*now, axis);
  for (const Experts &experts : all) {
    if (llvm::all_of(experts.members, [&](BlockArgument each) { return now->getState(each).isSharded(); }))
      continue;
    shared.push_back(&experts);
    Propagation next = propagate(shared);
    StepCost nextCost = costs.get(next, axis);
    bool isBetter = nextCost.multiplyAdds <= cost.multiplyAdds && nextCost.bytes < cost.bytes;
    if (explain)
      remark(experts, isBetter, isBetter ? nextCost.bytes : cost.bytes,
             isBetter ? cost.bytes : nextCost.bytes);
    if (!isBetter) {
      shared.pop_back();
      continue;
    }
    now.emplace(std::move(next));
    cost = nextCost;
  }
  for (BlockArgument state : open)
    setSharding(state,
                withAxisState(getSharding(state), rules.getMesh(), axis.getName(), now->getState(state)));
}

void mlir::epl::spreadExperts(func::FuncOp program, MeshOp mesh, ArrayRef<BlockArgument> states,
                              bool explain) {
  FunctionRules rules(program, mesh);
  for (AxisAttr axis : mesh.getAxes().getAsRange<AxisAttr>()) {
    if (!axis.isData() || axis.getSize() == 1)
      continue;
    ExpertSearch search(rules, axis, states);
    if (search.hasExperts())
      search.run(explain);
  }
}
