//===- SplitSearch.cpp - Which dimension of each parameter is split -------===//

#include "passes/shard/seed/split/SplitSearch.h"

#include "dialect/Bytes.h"
#include "passes/shard/analysis/FactorChoice.h"
#include "passes/shard/seed/split/ParameterReads.h"

#include "llvm/Support/DebugLog.h"
#include "llvm/Support/InterleavedRange.h"

#define DEBUG_TYPE "epl-seed-split"

using namespace mlir;
using namespace mlir::epl;

static auto getOps(func::FuncOp function) { return function.getBody().front().without_terminator(); }

SplitSearch::SplitSearch(const FunctionRules &rules, AxisAttr axis, ArrayRef<BlockArgument> open,
                         const DenseMap<BlockArgument, int64_t> &constraints)
    : rules(rules), axis(axis), open(open), costs(rules), seeded(rules, axis, open) {
  for (auto [position, op] : llvm::enumerate(getOps(rules.getFunction())))
    positions[&op] = position;
  collectKinds(constraints);
  seeded.update();
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

/// The dimensions of `argument` that a contraction or a gather of the forward work can shard; these
/// contractions are added to what is known of `kind`.
SmallVector<int64_t> SplitSearch::getSplittableDims(BlockArgument argument, ParameterKind &kind) const {
  llvm::SmallSetVector<int64_t, 4> found;
  auto isContraction = [&](Operation *op) { return costs.isContraction(op); };
  walkReads(rules, axis, argument, isContraction, [&](const ParameterRead &read) {
    if (costs.isContraction(read.op)) {
      kind.firstUse = std::min(kind.firstUse, positions.lookup(read.op));
      kind.multiplyAdds += costs.getMultiplyAdds(read.op);
    }
    for (auto [dim, factor] : llvm::zip_equal(read.dims, read.factors))
      if (dim >= 0 && rules.canShard(read.op, factor, axis))
        found.insert(dim);
  });
  SmallVector<int64_t> result = found.takeVector();
  llvm::sort(result);
  return result;
}

/// The order in which the program multiplies by them.
static bool precedes(const ParameterKind &a, const ParameterKind &b) {
  return std::pair(a.firstUse, a.members.front().getArgNumber()) <
         std::pair(b.firstUse, b.members.front().getArgNumber());
}

void SplitSearch::collectKinds(const DenseMap<BlockArgument, int64_t> &constraints) {
  ParameterUses uses(rules, axis, open, [&](Operation *op) { return costs.isContraction(op); });
  for (BlockArgument argument : open) {
    ParameterKind found;
    found.firstUse = int64_t(positions.size());
    SmallVector<int64_t> dims = getSplittableDims(argument, found);
    auto constrained = constraints.find(argument);
    std::optional<int64_t> constraint =
        constrained == constraints.end() ? std::nullopt : std::optional(constrained->second);
    if (dims.empty() && !constraint)
      continue;
    auto known = llvm::find_if(kinds, [&](const ParameterKind &kind) {
      return kind.members.front().getType() == argument.getType() && kind.dims == dims &&
             kind.constraint == constraint && uses.get(kind.members.front()) == uses.get(argument);
    });
    if (known == kinds.end()) {
      found.dims = dims;
      found.constraint = found.split = constraint;
      found.members = {argument};
      kinds.push_back(std::move(found));
      continue;
    }
    known->firstUse = std::min(known->firstUse, found.firstUse);
    known->multiplyAdds += found.multiplyAdds;
    known->members.push_back(argument);
  }
  llvm::sort(kinds, precedes);
  for (auto [number, kind] : llvm::enumerate(kinds))
    kind.number = number;
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

Propagation SplitSearch::propagate() {
  for (const ParameterKind &kind : kinds)
    for (BlockArgument member : kind.members)
      seeded.seed(member, AxisState::sharded(kind.split.value_or(-1)));
  seeded.update();
  Propagation program = seeded;
  program.run();
  steps += program.getNumSteps() - seeded.getNumSteps();
  return program;
}

/// Whether all parameters of a kind are sharded.
template <typename StateOf> static bool isDecided(const ParameterKind &kind, StateOf getState) {
  return llvm::all_of(kind.members, [&](BlockArgument member) { return getState(member).isSharded(); });
}

SplitSearch::Candidate SplitSearch::evaluate() {
  std::vector<int64_t> splits(kinds.size());
  for (const ParameterKind &kind : kinds)
    splits[kind.number] = kind.split.value_or(-1);
  Candidate &candidate = known[splits];
  if (candidate)
    return candidate;
  Propagation program = propagate();
  auto outcome = std::make_shared<Outcome>();
  for (BlockArgument argument : open)
    outcome->states[argument] = program.getState(argument);
  SmallVector<const DenseSet<Operation *> *> later;
  for (const ParameterKind &kind : kinds)
    if (!isDecided(kind, [&](BlockArgument member) { return program.getState(member); }))
      later.push_back(&kind.products);
  outcome->cost = costs.get(program, axis, later);
  LDBG() << "dimensions " << llvm::interleaved_array(splits) << ": " << outcome->cost.multiplyAdds
         << " multiply-adds, " << outcome->cost.bytes << " bytes";
  return candidate = outcome;
}

void SplitSearch::findProducts() {
  const Propagation none(seeded);
  for (ParameterKind &kind : kinds) {
    if (kind.multiplyAdds == 0)
      continue;
    for (int64_t dim : kind.dims) {
      Propagation program = none;
      for (BlockArgument member : kind.members)
        program.seed(member, AxisState::sharded(dim));
      program.run();
      steps += program.getNumSteps() - none.getNumSteps();
      kind.products.insert_range(costs.getSplit(program));
    }
  }
}

SplitSearch::Candidate SplitSearch::tryDim(ParameterKind &kind, int64_t dim) {
  std::optional<int64_t> before = std::exchange(kind.split, dim);
  Candidate candidate = evaluate();
  kind.split = before;
  return candidate;
}

/// Splits a kind along its best dimension. A table that nothing multiplies by stays whole if more than it has
/// would be exchanged for it in every step.
void SplitSearch::decide(ParameterKind &kind, Candidate &now) {
  Candidate whole = std::exchange(now, nullptr);
  for (int64_t dim : kind.dims) {
    Candidate candidate = tryDim(kind, dim);
    if (now && !(candidate->cost < now->cost))
      continue;
    now = candidate;
    kind.split = dim;
  }
  int64_t bytes = 0;
  for (BlockArgument member : kind.members)
    bytes += getBytes(member);
  if (kind.multiplyAdds == 0 && now->cost.bytes - whole->cost.bytes > bytes) {
    kind.split.reset();
    now = whole;
  }
}

void SplitSearch::decideOpen(Candidate &now) {
  for (ParameterKind &kind : kinds)
    if (!isDecided(kind, [&](BlockArgument member) { return now->states.lookup(member); }))
      decide(kind, now);
}

SplitSearch::Candidate SplitSearch::change(ParameterKind &kind, int64_t dim) {
  kind.split = dim;
  Candidate candidate = evaluate();
  decideOpen(candidate);
  return candidate;
}

/// Tries the other dimensions of a kind; whether one is better than what there is, and is taken.
bool SplitSearch::improve(ParameterKind &kind, Candidate &now) {
  AxisState state = now->states.lookup(kind.members.front());
  kind.bytes = now->cost.bytes;
  std::optional<StepCost> next;
  for (int64_t dim : kind.dims) {
    if (dim == state.dim)
      continue;
    auto splits = llvm::map_to_vector(kinds, [](const ParameterKind &each) { return each.split; });
    Candidate other = change(kind, dim);
    if (!kind.constraint && other->cost < now->cost) {
      now = other;
      return true;
    }
    for (auto [each, split] : llvm::zip_equal(kinds, splits))
      each.split = split;
    if (next && !(other->cost < *next))
      continue;
    next = other->cost;
    kind.runnerUp = dim;
    kind.runnerUpBytes = other->cost.bytes;
  }
  return false;
}

/// A round that changes a kind can make it worthwhile to change one that it had looked at before. As many
/// rounds as there are dimensions to choose from let a change reach all others, and bound the time: each
/// choice on the way is better than the one before, so that what is found by then is taken.
SplitSearch::Candidate SplitSearch::search() {
  Candidate now = evaluate();
  decideOpen(now);
  size_t rounds = 0;
  for (const ParameterKind &kind : kinds)
    rounds += kind.dims.size();
  for (bool better = true; better && rounds > 0; --rounds) {
    better = false;
    for (ParameterKind &kind : kinds)
      better |= improve(kind, now);
  }
  return now;
}

Propagation SplitSearch::run() {
  findProducts();
  std::vector<ParameterKind> undecided = kinds;
  auto doesMore = [](const ParameterKind &a, const ParameterKind &b) {
    return a.multiplyAdds == b.multiplyAdds ? precedes(a, b) : a.multiplyAdds > b.multiplyAdds;
  };
  Candidate found = search();
  if (llvm::is_sorted(kinds, doesMore))
    return propagate();
  std::vector<ParameterKind> chosen = std::exchange(kinds, std::move(undecided));
  llvm::sort(kinds, doesMore);
  Candidate other = search();
  if (other->cost < found->cost)
    llvm::sort(kinds, precedes);
  else
    kinds = std::move(chosen);
  return propagate();
}
