//===- SplitSearch.cpp - Which dimension of each parameter is split -------===//

#include "passes/shard/SplitSearch.h"
#include "passes/shard/ParameterReads.h"

using namespace mlir;
using namespace mlir::epl;

/// Rounds of changes of single choices: each looks at all kinds once, and two were enough for all models
/// seen.
static constexpr int kMaxRounds = 4;

static auto getOps(func::FuncOp function) { return function.getBody().front().without_terminator(); }

SplitSearch::SplitSearch(const FunctionRules &rules, AxisAttr axis, ArrayRef<BlockArgument> open,
                         const DenseMap<BlockArgument, int64_t> &wishes)
    : rules(rules), axis(axis), open(open), costs(rules) {
  for (auto [position, op] : llvm::enumerate(getOps(rules.getFunction())))
    positions[&op] = position;
  collectKinds(wishes);
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

/// The dimensions of `argument` that a contraction or a gather of the forward work can shard; `firstUse` goes
/// back to the position of the first such contraction.
SmallVector<int64_t> SplitSearch::getSplittableDims(BlockArgument argument, int64_t &firstUse) const {
  llvm::SmallSetVector<int64_t, 4> found;
  auto isContraction = [&](Operation *op) { return costs.isContraction(op); };
  walkReads(rules, axis, argument, isContraction, [&](const ParameterRead &read) {
    if (costs.isContraction(read.op))
      firstUse = std::min(firstUse, positions.lookup(read.op));
    for (auto [dim, factor] : llvm::zip_equal(read.dims, read.factors))
      if (dim >= 0 && rules.canShard(read.op, factor, axis))
        found.insert(dim);
  });
  SmallVector<int64_t> result = found.takeVector();
  llvm::sort(result);
  return result;
}

void SplitSearch::collectKinds(const DenseMap<BlockArgument, int64_t> &wishes) {
  for (BlockArgument argument : open) {
    int64_t firstUse = positions.size();
    SmallVector<int64_t> dims = getSplittableDims(argument, firstUse);
    auto found = wishes.find(argument);
    std::optional<int64_t> wish = found == wishes.end() ? std::nullopt : std::optional(found->second);
    if (dims.empty() && !wish)
      continue;
    std::string name = getKindName(argument);
    auto known = llvm::find_if(kinds, [&](const ParameterKind &kind) {
      return kind.name == name && kind.members.front().getType() == argument.getType() && kind.dims == dims &&
             kind.wish == wish;
    });
    if (known == kinds.end()) {
      kinds.push_back({name, {}, dims, firstUse, wish, wish});
      known = std::prev(kinds.end());
    }
    known->firstUse = std::min(known->firstUse, firstUse);
    known->members.push_back(argument);
  }
  llvm::sort(kinds, [](const ParameterKind &a, const ParameterKind &b) {
    return std::pair(a.firstUse, a.members.front().getArgNumber()) <
           std::pair(b.firstUse, b.members.front().getArgNumber());
  });
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

SplitSearch::Candidate SplitSearch::propagate() const {
  Propagation program(rules, axis, open);
  for (const ParameterKind &kind : kinds)
    for (BlockArgument member : kind.members)
      if (kind.split)
        program.seed(member, AxisState::sharded(*kind.split));
  program.run();
  StepCost cost = costs.get(program, axis);
  return {std::move(program), cost};
}

SplitSearch::Candidate SplitSearch::tryDim(ParameterKind &kind, int64_t dim) {
  std::optional<int64_t> before = std::exchange(kind.split, dim);
  Candidate candidate = propagate();
  kind.split = before;
  return candidate;
}

bool SplitSearch::isDecided(const ParameterKind &kind, const Propagation &program) const {
  return llvm::all_of(kind.members,
                      [&](BlockArgument member) { return program.getState(member).isSharded(); });
}

/// Splits a kind along its best dimension.
void SplitSearch::decide(ParameterKind &kind, std::optional<Candidate> &now) {
  now.reset();
  for (int64_t dim : kind.dims) {
    Candidate candidate = tryDim(kind, dim);
    if (now && !(candidate.cost < now->cost))
      continue;
    now.emplace(std::move(candidate));
    kind.split = dim;
  }
}

/// Tries the other dimensions of a kind; whether one is better than what there is, and is taken.
bool SplitSearch::improve(ParameterKind &kind, std::optional<Candidate> &now) {
  AxisState state = now->program.getState(kind.members.front());
  kind.bytes = now->cost.bytes;
  std::optional<StepCost> next;
  for (int64_t dim : kind.dims) {
    if (dim == state.dim)
      continue;
    Candidate other = tryDim(kind, dim);
    if (!kind.wish && other.cost < now->cost) {
      kind.split = dim;
      now.emplace(std::move(other));
      return true;
    }
    if (next && !(other.cost < *next))
      continue;
    next = other.cost;
    kind.runnerUp = dim;
    kind.runnerUpBytes = other.cost.bytes;
  }
  return false;
}

Propagation SplitSearch::run() {
  std::optional<Candidate> now(propagate());
  for (ParameterKind &kind : kinds)
    if (!isDecided(kind, now->program))
      decide(kind, now);
  bool better = true;
  for (int round = 0; better && round < kMaxRounds; ++round) {
    better = false;
    for (ParameterKind &kind : kinds)
      better |= improve(kind, now);
  }
  return std::move(now->program);
}
