//===- IndexSetsTest.cpp - Factor rules beside what ops compute -----------===//
//
// For every op below, axes of 2 and 3 members, and every way to distribute operands and results over them:
// the index sets agree with the factor rule. What the rule gives is accepted. What is accepted is what the
// rule gives for some factor, where operands may be replicated, too; of replicated operands any part of a
// result can be made, whether or not a rule says so, and which results may be pending the rule alone knows.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/place/IndexSets.h"

#include "test/unit/shard/Programs.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::epl;

namespace {

using States = llvm::MapVector<Value, AxisState>; ///< of the operands and results of an op

constexpr const char *kArguments = R"(
              %a: tensor<12x6xf32>, %b: tensor<6x18xf32>, %ab: tensor<12x18xf32>, %s: tensor<6xf32>,
               %c: tensor<12x6xf32>, %g: tensor<2x6x12xf32>, %p: tensor<12x12xf32>, %rows: tensor<12xi32>,
               %big: tensor<60x6xf32>, %u: tensor<12x6xf32>, %m: tensor<6x6x6xf32>, %rhs: tensor<6x6x12xf32>,
               %image: tensor<6x8x8x6xf32>, %filter: tensor<3x3x6x12xf32>, %out: tensor<6x6x6x12xf32>,
               %long: tensor<36x6xf32>, %cf: f32, %n: index, %w: tensor<6x12xf32>, %lhs: tensor<6x12x6xf32>, %row: tensor<6x6xf32>)";

/// Ops of which the rule says all that there is to say.
constexpr const char *kExact = R"(
  %matmul = linalg.matmul ins(%a, %b : tensor<12x6xf32>, tensor<6x18xf32>) outs(%ab : tensor<12x18xf32>) -> tensor<12x18xf32>
  %sum = linalg.reduce { arith.addf } ins(%a : tensor<12x6xf32>) outs(%s : tensor<6xf32>) dimensions = [0]
  %max = linalg.reduce { arith.maximumf } ins(%a : tensor<12x6xf32>) outs(%s : tensor<6xf32>) dimensions = [0]
  %transpose = linalg.transpose ins(%a : tensor<12x6xf32>) outs(%w : tensor<6x12xf32>) permutation = [1, 0]
  %add = arith.addf %a, %c : tensor<12x6xf32>
  %exp = math.exp %a : tensor<12x6xf32>
  %expand = tensor.expand_shape %g [[0], [1], [2, 3]] output_shape [2, 6, 6, 2] : tensor<2x6x12xf32> into tensor<2x6x6x2xf32>
  %collapse = tensor.collapse_shape %g [[0, 1], [2]] : tensor<2x6x12xf32> into tensor<12x12xf32>
  %leading = tensor.expand_shape %a [[0, 1, 2], [3]] output_shape [1, 6, 2, 6] : tensor<12x6xf32> into tensor<1x6x2x6xf32>
  %slice = tensor.extract_slice %p[0, 6] [12, 6] [1, 1] : tensor<12x12xf32> to tensor<12x6xf32>
  %dropped = tensor.extract_slice %g[1, 0, 0] [1, 6, 12] [1, 1, 1] : tensor<2x6x12xf32> to tensor<6x12xf32>
  %pad = tensor.pad %a low[0, 4] high[0, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %cf : f32
  } : tensor<12x6xf32> to tensor<12x12xf32>
  %concatenate = epl.concatenate %a, %p dim 1 : (tensor<12x6xf32>, tensor<12x12xf32>) -> tensor<12x18xf32>
  %lookup = epl.gather %big[%rows] of [0] operand_dims [-1, 1] index_dims [0] : (tensor<60x6xf32>, tensor<12xi32>) -> tensor<12x6xf32>
  %batched = epl.gather %a[%rows] of [1] operand_dims [0, -1] index_dims [0] : (tensor<12x6xf32>, tensor<12xi32>) -> tensor<12xf32>
  %scatter = epl.scatter add %u into %long[%rows] of [0] operand_dims [-1, 1] index_dims [0] : (tensor<12x6xf32>, tensor<36x6xf32>, tensor<12xi32>) -> tensor<36x6xf32>
  %scatter_max = epl.scatter max %u into %long[%rows] of [0] operand_dims [-1, 1] index_dims [0] : (tensor<12x6xf32>, tensor<36x6xf32>, tensor<12xi32>) -> tensor<36x6xf32>
  %sort = epl.sort %g dim 1 : (tensor<2x6x12xf32>) -> (tensor<2x6x12xf32>) {
  ^bb0(%x: f32, %y: f32):
    %before = arith.cmpf olt, %x, %y : f32
    epl.yield %before : i1
  }
  %lu:3 = epl.factorize lu %m : (tensor<6x6x6xf32>) -> (tensor<6x6x6xf32>, tensor<6x6xi32>, tensor<6x6xi32>)
  %left = epl.triangular_solve %m, %rhs left lower : tensor<6x6x6xf32>, tensor<6x6x12xf32>
  %right = epl.triangular_solve %m, %lhs lower : tensor<6x6x6xf32>, tensor<6x12x6xf32>
  %row0 = epl.loop_slice <0, trip_count = 6> %m : tensor<6x6x6xf32> -> tensor<6x6xf32>
  %stack = epl.loop_stack <0, trip_count = 6> %row : tensor<6x6xf32> -> tensor<6x6x6xf32>
  %splat = arith.constant dense<1.0> : tensor<12x6xf32>
  %cast = tensor.cast %a : tensor<12x6xf32> to tensor<12x6xf32>
  %softmax = linalg.softmax dimension(1) ins(%a : tensor<12x6xf32>) outs(%c : tensor<12x6xf32>) -> tensor<12x6xf32>)";

/// Ops that could be sharded in more ways than their rule says: along windows of which the whole is there,
/// and at borders of parts.
constexpr const char *kOthers = R"(
  %conv = linalg.conv_2d_nhwc_hwcf ins(%image, %filter : tensor<6x8x8x6xf32>, tensor<3x3x6x12xf32>)
      outs(%out : tensor<6x6x6x12xf32>) -> tensor<6x6x6x12xf32>
  %strided = tensor.extract_slice %p[0, 0] [12, 6] [1, 2] : tensor<12x12xf32> to tensor<12x6xf32>
  %somewhere = tensor.extract_slice %p[%n, 0] [6, 12] [1, 1] : tensor<12x12xf32> to tensor<6x12xf32>
  %insert = tensor.insert_slice %a into %p[0, 6] [12, 6] [1, 1] : tensor<12x6xf32> into tensor<12x12xf32>)";

std::string describe(Operation *op, const States &states) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << *op << ":";
  for (auto [value, state] : states)
    os << " " << (state.partial ? "pending" : std::to_string(state.dim));
  return text;
}

/// Where dimensions of `factor` are, or -1.
int64_t findDim(ArrayRef<int64_t> factors, int64_t factor) {
  const auto *found = factor == FactorRule::kBlocked ? factors.end() : llvm::find(factors, factor);
  return found == factors.end() ? -1 : found - factors.begin();
}

class IndexSets : public testing::TestWithParam<int64_t> {
protected:
  IndexSets() : context(makeProgramRegistry()) {
    context.loadAllAvailableDialects();
    ParserConfig config(&context, /*verifyAfterParse=*/false); // a loop in parts
    std::string text;
    for (const char *ops : {kExact, kOthers})
      text += std::string("func.func private @f") + (ops == kExact ? "0" : "1") + "(" + kArguments + ") {" +
              ops + "\n  return\n}\n";
    module = parseSourceString<ModuleOp>(text, config);
    axis = AxisAttr::get(&context, "data", GetParam(), AxisRole::data);
  }

  bool isAccepted(Operation *op, const States &states) {
    ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
    return succeeded(verifyIndexSets(op, axis, [&](Value value) { return states.lookup(value); }));
  }

  /// Calls `visit` for each way to distribute `values`; results may be pending.
  void forEachStates(ArrayRef<Value> values, States &states, function_ref<void(const States &)> visit) {
    if (values.empty())
      return visit(states);
    Value value = values.front();
    SmallVector<AxisState> choices = {AxisState()};
    for (auto [dim, extent] : llvm::enumerate(cast<RankedTensorType>(value.getType()).getShape()))
      if (extent % GetParam() == 0)
        choices.push_back(AxisState::sharded(dim));
    if (value.getDefiningOp())
      choices.push_back(AxisState::pending(ReductionKind::sum));
    for (AxisState choice : choices) {
      states[value] = choice;
      forEachStates(values.drop_front(), states, visit);
    }
  }

  void forEachStates(Operation *op, function_ref<void(const States &)> visit) {
    SmallVector<Value> values;
    llvm::append_range(values, op->getOperands());
    llvm::append_range(values, op->getResults());
    llvm::erase_if(values, [](Value value) { return !isa<RankedTensorType>(value.getType()); });
    States states;
    forEachStates(values, states, visit);
  }

  /// Whether the rule gives these states for `factor`; operands may be replicated.
  static bool follows(Operation *op, const FactorRule &rule, int64_t factor, const States &states) {
    bool isReduction = factor != FactorRule::kBlocked && rule.isReduction(factor);
    for (auto [operand, factors] : llvm::zip_equal(op->getOperands(), rule.operands))
      if (AxisState state = states.lookup(operand);
          state.isSharded() && state.dim != findDim(factors, factor))
        return false;
    return llvm::all_of(llvm::zip_equal(op->getResults(), rule.results), [&](auto pair) {
      auto [result, factors] = pair;
      AxisState state = states.lookup(result);
      return state.partial.has_value() == isReduction && state.dim == findDim(factors, factor);
    });
  }

  /// What the rule gives for `factor`.
  static States apply(Operation *op, const FactorRule &rule, int64_t factor) {
    States states;
    for (auto [operand, factors] : llvm::zip_equal(op->getOperands(), rule.operands))
      states[operand] = AxisState::sharded(findDim(factors, factor));
    for (auto [result, factors] : llvm::zip_equal(op->getResults(), rule.results))
      states[result] = rule.isReduction(factor) ? AxisState::pending(ReductionKind::sum)
                                                : AxisState::sharded(findDim(factors, factor));
    return states;
  }

  /// The ops of which rules say all, or the others.
  SmallVector<Operation *> getOps(bool isExact) {
    SmallVector<Operation *> ops;
    for (Operation &op :
         module->lookupSymbol<func::FuncOp>(isExact ? "f0" : "f1").front().without_terminator())
      ops.push_back(&op);
    return ops;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  AxisAttr axis;
};

/// Whether some dimension is of a factor: loops of windows are of none.
bool isUsed(const FactorRule &rule, int64_t factor) {
  auto has = [&](ArrayRef<int64_t> factors) { return findDim(factors, factor) >= 0; };
  return llvm::any_of(rule.operands, has) || llvm::any_of(rule.results, has);
}

/// Whether an axis of `size` members divides all dimensions that are sharded.
bool isDivided(const States &states, int64_t size) {
  return llvm::all_of(states, [&](auto pair) {
    auto [value, state] = pair;
    return !state.isSharded() || cast<RankedTensorType>(value.getType()).getDimSize(state.dim) % size == 0;
  });
}

TEST_P(IndexSets, AcceptWhatRulesGive) {
  ASSERT_TRUE(module);
  SmallVector<Operation *> ops = getOps(true);
  ops.append(getOps(false));
  for (Operation *op : ops) {
    FactorRule rule = getFactorRule(op);
    for (int64_t factor = 0; factor < int64_t(rule.factors.size()); ++factor)
      if (States states = apply(op, rule, factor); isUsed(rule, factor) && isDivided(states, GetParam()))
        EXPECT_TRUE(isAccepted(op, states)) << describe(op, states);
  }
}

/// Whether nothing is split or pending but results that are made of whole operands.
bool isMadeOfWhole(const States &states) {
  return llvm::all_of(states, [](auto pair) {
    auto [value, state] = pair;
    return value.getDefiningOp() ? !state.partial : state.isReplicated();
  });
}

TEST_P(IndexSets, AcceptNothingElse) {
  ASSERT_TRUE(module);
  int64_t accepted = 0, rejected = 0;
  for (Operation *op : getOps(true)) {
    FactorRule rule = getFactorRule(op);
    bool mayBePending = llvm::is_contained(rule.factors, utils::IteratorType::reduction);
    forEachStates(op, [&](const States &states) {
      if (!mayBePending && llvm::any_of(states, [](auto pair) { return pair.second.partial.has_value(); }))
        return;
      bool isKnown = isMadeOfWhole(states);
      for (int64_t factor = FactorRule::kBlocked; factor < int64_t(rule.factors.size()); ++factor)
        isKnown |= follows(op, rule, factor, states);
      bool isGood = isAccepted(op, states);
      (isGood ? accepted : rejected) += 1;
      EXPECT_TRUE(!isGood || isKnown) << describe(op, states);
    });
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(rejected, 500);
}

INSTANTIATE_TEST_SUITE_P(Members, IndexSets, testing::Values(2, 3));

} // namespace
