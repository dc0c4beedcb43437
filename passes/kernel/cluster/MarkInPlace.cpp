//===- MarkInPlace.cpp - Results that take the storage of inputs ----------===//
//
// Problem: an updated parameter should replace the old one where it lies, and a temporary's storage should
// serve the value that replaces it.
// Method: a result may share storage with an input if the loop nest reads each element of the input before
// it writes the same element of the result, and never after. That holds if both walk the whole domain
// element by element and the result belongs to the last pass over a row. Which of the possible pairs is
// worth it, the launches say: an input that the result updates first, then one that nothing else reads.
//
// In: outlined kernels. Out: `in_place` on fused kernels; lowering removes what its nest does not keep.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/Passes.h"
#include "passes/kernel/cluster/Iteration.h"
#include "passes/kernel/cluster/OpRoles.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::epl {
#define GEN_PASS_DEF_MARKINPLACE
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

namespace {

/// How many launches want a pair of a result and an input to share storage, updates of state counting more.
using Votes = DenseMap<std::pair<unsigned, unsigned>, int64_t>;
constexpr int64_t kUpdateVote = 1 << 16;

/// What a kernel's nest reads, and in which pass over a row it computes what.
class NestReads {
public:
  explicit NestReads(Block &body);
  bool mayShare(Value result, BlockArgument input) const;

private:
  struct Step {
    Iteration iteration;
    int pass; ///< row reductions that must have ended before
  };
  bool isLastPass(const Step &step) const {
    return llvm::all_of(steps, [&](auto &other) {
      return other.second.iteration.shape.size() < rank || other.second.pass <= step.pass;
    });
  }

  llvm::MapVector<Operation *, Step> steps;
  size_t rank = 0; ///< of the kernel's domain
};

NestReads::NestReads(Block &body) {
  for (Operation &op : body.without_terminator()) {
    if (getOpRole(&op) != OpRole::fusion)
      continue;
    Step step{getIteration(&op), 0};
    for (const Read &read : step.iteration.reads)
      if (auto source = steps.find(read.source.getDefiningOp()); source != steps.end())
        step.pass = std::max(step.pass, source->second.pass +
                                            (source->second.iteration.kind == Iteration::Kind::rowReduction));
    rank = std::max(rank, step.iteration.shape.size());
    steps.insert({&op, std::move(step)});
  }
}

bool NestReads::mayShare(Value result, BlockArgument input) const {
  auto made = steps.find(result.getDefiningOp());
  if (result.getType() != input.getType() || made == steps.end() ||
      made->second.iteration.kind != Iteration::Kind::pointwise ||
      made->second.iteration.shape.size() != rank || !isLastPass(made->second))
    return false;
  return llvm::all_of(steps, [&](auto &step) {
    const Iteration &iteration = step.second.iteration;
    return iteration.kind != Iteration::Kind::opaque && llvm::all_of(iteration.reads, [&](const Read &read) {
             return read.source != input || (read.isPrefix() && read.loops.size() == rank);
           });
  });
}

Value skipViews(Value value) {
  while (isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

/// The argument of the function that a value of it is the next value of, as it is or sent to all, or null.
BlockArgument getUpdated(Value value) {
  for (OpOperand &use : value.getUses()) {
    auto func = dyn_cast<func::FuncOp>(use.getOwner()->getParentOp());
    if (isa<BroadcastOp>(use.getOwner()))
      if (BlockArgument updated = getUpdated(use.getOwner()->getResult(use.getOperandNumber())))
        return updated;
    if (!func || !isa<func::ReturnOp>(use.getOwner()))
      continue;
    if (auto index = func.getResultAttrOfType<IntegerAttr>(use.getOperandNumber(), EplDialect::kUpdatesAttr))
      return func.getArgument(index.getInt());
  }
  return {};
}

/// The same of a result of a launch in a task.
BlockArgument getUpdated(OpResult result, TaskOp task) {
  for (OpOperand &use : result.getUses())
    if (isa<YieldOp>(use.getOwner()))
      if (BlockArgument updated = getUpdated(task.getResult(use.getOperandNumber())))
        return updated;
  return {};
}

/// What a launch gains if its result replaces its input: a state, or what nothing else reads, of its task or
/// of another one.
int64_t getVote(OpResult result, Value input, TaskOp task) {
  Value source = skipViews(input);
  bool isLast = input == source && input.hasOneUse();
  auto argument = dyn_cast<BlockArgument>(source);
  if (!argument)
    return isLast ? 1 : 0;
  Value given = task.getInputs()[argument.getArgNumber()];
  if (isa<BlockArgument>(given))
    return given == getUpdated(result, task) ? kUpdateVote : 0;
  return isLast && given.hasOneUse() ? 1 : 0;
}

/// Gives each result the input with the most votes that is still free.
SmallVector<int32_t> choosePairs(const Votes &votes, size_t numResults) {
  SmallVector<std::tuple<int64_t, unsigned, unsigned>> ranked;
  for (auto [pair, count] : votes)
    ranked.push_back({-count, pair.first, pair.second});
  llvm::sort(ranked);
  SmallVector<int32_t> inputs(numResults, -1);
  for (auto [count, result, input] : ranked)
    if (inputs[result] == -1 && !llvm::is_contained(inputs, int32_t(input)))
      inputs[result] = input;
  return inputs;
}

struct MarkInPlacePass : epl::impl::MarkInPlaceBase<MarkInPlacePass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    llvm::MapVector<KernelOp, Votes> votes;
    getOperation().walk([&](LaunchOp launch) {
      auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
      auto task = dyn_cast<TaskOp>(launch->getParentOp());
      if (kernel && task && kernel.getKind() == KernelKind::fusion)
        collectVotes(launch, task, kernel, votes[kernel]);
    });
    for (auto &[kernel, wanted] : votes) {
      auto inputs = choosePairs(wanted, kernel.getBody().front().getTerminator()->getNumOperands());
      if (!llvm::all_of(inputs, [](int32_t input) { return input == -1; }))
        kernel.setInPlace(inputs);
    }
  }

  void collectVotes(LaunchOp launch, TaskOp task, KernelOp kernel, Votes &votes) {
    Block &body = kernel.getBody().front();
    NestReads reads(body);
    for (auto [i, result] : llvm::enumerate(body.getTerminator()->getOperands()))
      for (BlockArgument input : body.getArguments())
        if (reads.mayShare(result, input))
          if (int64_t vote = getVote(launch->getResult(i), launch.getInputs()[input.getArgNumber()], task))
            votes[{i, input.getArgNumber()}] += vote;
  }
};

} // namespace
