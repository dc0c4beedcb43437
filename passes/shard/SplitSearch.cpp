//===- SplitSearch.cpp - Which dimension of each parameter is split -------===//

#include "passes/shard/SplitSearch.h"
#include "passes/shard/AxisPlacement.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::epl;

/// Rounds of changes of single choices: each looks at all kinds once, and two were enough for all models
/// seen.
static constexpr int kMaxRounds = 4;

static auto getOps(func::FuncOp function) { return function.getBody().front().without_terminator(); }

static bool isContraction(Operation *op) {
  auto linalg = dyn_cast<linalg::LinalgOp>(op);
  return linalg && (linalg::isaContractionOpInterface(linalg) || linalg::isaConvolutionOpInterface(linalg));
}

SplitSearch::SplitSearch(const FunctionRules &rules, AxisAttr axis, ArrayRef<BlockArgument> open,
                         const DenseMap<BlockArgument, int64_t> &wishes)
    : rules(rules), axis(axis), open(open) {
  collectContractions();
  collectKinds(wishes);
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

void SplitSearch::collectContractions() {
  for (auto [position, op] : llvm::enumerate(getOps(rules.getFunction()))) {
    positions[&op] = position;
    if (!isContraction(&op))
      continue;
    int64_t volume = rules.getLoops().getTurns(op.getResult(0));
    for (int64_t extent : cast<linalg::LinalgOp>(op).getStaticLoopRanges())
      volume *= ShapedType::isDynamic(extent) ? 1 : extent;
    contractions[&op] = volume;
  }
}

/// Whether the op does nothing but move or convert the elements of one tensor.
static bool isMove(Operation *op) {
  return llvm::count_if(op->getOperands(),
                        [](Value operand) {
                          Operation *source = operand.getDefiningOp();
                          return isa<RankedTensorType>(operand.getType()) && !(source && isUniform(source));
                        }) == 1 &&
         getCapturedTensors(op).empty();
}

static bool isForward(Operation *op) {
  auto work = op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr);
  return !work || work.getKind() == WorkKind::forward;
}

/// What `dims` says of each dimension of an operand, for the dimensions of a result that share its factors,
/// if those can be sharded.
static SmallVector<int64_t> followDims(ArrayRef<int64_t> dims, ArrayRef<int64_t> operandFactors,
                                       ArrayRef<int64_t> resultFactors,
                                       function_ref<bool(int64_t)> canShard) {
  return llvm::map_to_vector(resultFactors, [&](int64_t factor) -> int64_t {
    const auto *dim = llvm::find(operandFactors, factor);
    bool isShared = dim != operandFactors.end() && canShard(factor);
    return isShared ? dims[dim - operandFactors.begin()] : -1;
  });
}

/// The dimensions of `argument` that a contraction or a gather of the forward work can shard, through ops
/// that only move its elements; `firstUse` goes back to the position of the first such contraction.
SmallVector<int64_t> SplitSearch::getSplittableDims(BlockArgument argument, int64_t &firstUse) const {
  using Dims = SmallVector<int64_t>; // of a moved tensor: the argument's dimension that each one is, or -1
  llvm::SmallSetVector<int64_t, 4> found;
  int64_t rank = cast<RankedTensorType>(argument.getType()).getRank();
  SmallVector<std::pair<Value, Dims>> moved = {{argument, llvm::to_vector(llvm::seq<int64_t>(rank))}};
  while (!moved.empty()) {
    auto [value, dims] = moved.pop_back_val();
    for (OpOperand &use : value.getUses()) {
      Operation *op = use.getOwner();
      if (!positions.contains(op) || !isForward(op) || rules.getUse(op, axis) == AxisUse::batch)
        continue;
      const FactorRule &rule = rules.getRule(op);
      ArrayRef<int64_t> factors = rule.operands[use.getOperandNumber()];
      auto canShard = [&](int64_t factor) { return rules.canShard(op, factor, axis); };
      if (contractions.contains(op) || isa<GatherOp>(op)) {
        if (contractions.contains(op))
          firstUse = std::min(firstUse, positions.lookup(op));
        for (auto [dim, factor] : llvm::zip_equal(dims, factors))
          if (dim >= 0 && canShard(factor))
            found.insert(dim);
      } else if (isMove(op)) {
        for (auto [result, resultFactors] : llvm::zip_equal(op->getResults(), rule.results))
          moved.push_back({result, followDims(dims, factors, resultFactors, canShard)});
      }
    }
  }
  SmallVector<int64_t> result = found.takeVector();
  llvm::sort(result);
  return result;
}

/// The name of an argument with "#" for each number in it.
static std::string getKindName(func::FuncOp function, BlockArgument argument) {
  std::string name;
  for (char c : describeArgument(function, argument.getArgNumber()))
    if (!llvm::isDigit(c))
      name += c;
    else if (name.empty() || name.back() != '#')
      name += '#';
  return name;
}

void SplitSearch::collectKinds(const DenseMap<BlockArgument, int64_t> &wishes) {
  for (BlockArgument argument : open) {
    int64_t firstUse = positions.size();
    SmallVector<int64_t> dims = getSplittableDims(argument, firstUse);
    auto found = wishes.find(argument);
    std::optional<int64_t> wish = found == wishes.end() ? std::nullopt : std::optional(found->second);
    if (dims.empty() && !wish)
      continue;
    std::string name = getKindName(rules.getFunction(), argument);
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
  Cost cost = getCost(program);
  return {std::move(program), cost};
}

SplitSearch::Cost SplitSearch::getCost(const Propagation &program) const {
  Cost cost = {0, 0};
  for (auto [op, volume] : contractions)
    cost.multiplyAdds += program.getChoice(op) == FactorRule::kBlocked ? volume : volume / axis.getSize();
  cost.bytes = AxisPlacement(rules, axis, [&](Value value) { return program.getState(value); }).getTraffic();
  return cost;
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
  std::optional<Cost> next;
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
