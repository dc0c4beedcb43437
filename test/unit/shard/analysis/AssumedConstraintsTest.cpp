//===- AssumedConstraintsTest.cpp - What is assumed is as if it were written --===//

#include "passes/shard/analysis/AssumedConstraints.h"

#include "passes/shard/analysis/AxisPlacement.h"
#include "test/unit/shard/Programs.h"
#include "test/unit/shard/RandomProgram.h"

#include "mlir/IR/Builders.h"

#include <random>

using namespace mlir;
using namespace mlir::epl;

namespace {

using AssumedConstraintsTest = ProgramTest;

/// Constraints on some results of a function's ops.
AssumedConstraints makeConstraints(func::FuncOp function, std::mt19937 &random) {
  AssumedConstraints constraints;
  auto pickState = [&](Value value) {
    int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
    return AxisState::sharded(int64_t(random() % (rank + 1)) - 1);
  };
  for (Operation &op : function.getBody().front().without_terminator())
    for (Value result : op.getResults()) {
      if (!isa<RankedTensorType>(result.getType()) || isa<tensor::EmptyOp, arith::ConstantOp>(op))
        continue;
      if (random() % 4 == 0 && !result.use_empty())
        constraints.addForAll(result, pickState(result));
      for (OpOperand &use : result.getUses())
        if (random() % 4 == 0)
          constraints.addForUse(use, pickState(result));
    }
  return constraints;
}

/// Writes them into the program.
void write(const AssumedConstraints &constraints, AxisAttr axis) {
  DenseMap<Value, Value> entered;
  for (const AssumedConstraints::Constraint &each : constraints.get()) {
    SmallVector<SmallVector<StringRef>> dims(cast<RankedTensorType>(each.value.getType()).getRank());
    SmallVector<StringRef> whole;
    (each.state.isSharded() ? dims[each.state.dim] : whole).push_back(axis.getName());
    Value read = entered.lookup(each.value) ? entered.lookup(each.value) : each.value;
    OpBuilder builder(axis.getContext());
    builder.setInsertionPointAfterValue(read);
    auto made = ConstrainOp::create(builder, read.getLoc(), read,
                                    ConstraintAttr::get(axis.getContext(), dims, whole));
    for (OpOperand *use : each.single)
      use->set(made);
    if (each.isForAll) {
      Value value = each.value;
      value.replaceAllUsesExcept(made, made);
      entered[value] = made;
    }
  }
}

/// What is known of one axis of a program: the states and factors of its ops but constraints, and what
/// members exchange.
struct Known {
  Known(const FunctionRules &rules, const Propagation &program, const AxisPlacement &placement)
      : traffic(placement.getTraffic()) {
    for (Operation *op : rules.getOps()) {
      if (isa<ConstrainOp>(op))
        continue;
      factors.push_back(program.getChoice(op));
      for (Value result : op->getResults()) {
        states.push_back(program.getState(result));
        states.push_back(placement.getState(result));
      }
      for (OpOperand &use : op->getOpOperands())
        if (isa<RankedTensorType>(use.get().getType()))
          states.push_back(placement.getNeededState(use));
    }
  }

  std::vector<AxisState> states;
  std::vector<int64_t> factors;
  int64_t traffic;
};

void expectEqual(const Known &found, const Known &expected) {
  EXPECT_EQ(found.factors, expected.factors);
  EXPECT_EQ(found.states, expected.states);
  EXPECT_EQ(found.traffic, expected.traffic);
}

TEST_F(AssumedConstraintsTest, GiveWhatWrittenOnesGive) {
  for (unsigned number = 0; number < 500 && !HasFailure(); ++number) {
    std::string text = writeRandomProgram(number);
    SCOPED_TRACE("seed " + std::to_string(number) + ":\n" + text);
    auto [function, mesh] = parse(text);
    AxisAttr axis = mesh.getAxis("data");
    std::mt19937 random(number);
    AssumedConstraints constraints = makeConstraints(function, random);
    FunctionRules rules(function, mesh);
    Propagation assumed(rules, axis, {}), without(rules, axis, {});
    assumed.update();
    assumed.assume(constraints);
    assumed.run();
    without.run();
    AxisPlacement base(rules, axis, without);
    Known all(rules, assumed, AxisPlacement(rules, axis, assumed));
    Known changes(rules, assumed, AxisPlacement(base, assumed));
    write(constraints, axis);
    FunctionRules writtenRules(function, mesh);
    Propagation written(writtenRules, axis, {});
    written.run();
    Known expected(writtenRules, written, AxisPlacement(writtenRules, axis, written));
    expectEqual(all, expected);
    expectEqual(changes, expected);
  }
}

} // namespace
