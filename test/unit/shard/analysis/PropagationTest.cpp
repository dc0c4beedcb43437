//===- PropagationTest.cpp - Changing seeds gives what starting with them gives --===//

#include "passes/shard/analysis/Propagation.h"

#include "test/unit/shard/Programs.h"
#include "test/unit/shard/RandomProgram.h"

#include <random>

using namespace mlir;
using namespace mlir::epl;

namespace {

using PropagationSteps = ProgramTest;

SmallVector<BlockArgument> getOpen(func::FuncOp function) {
  return llvm::filter_to_vector(function.getArguments(), [](BlockArgument argument) {
    return isa<RankedTensorType>(argument.getType()) && !getSharding(argument);
  });
}

/// The states and factors of two propagations of a function.
void expectEqual(const FunctionRules &rules, const Propagation &found, const Propagation &expected) {
  for (BlockArgument argument : rules.getFunction().getArguments())
    EXPECT_EQ(found.getState(argument), expected.getState(argument)) << argument.getArgNumber();
  for (Operation *op : rules.getOps()) {
    EXPECT_EQ(found.getChoice(op), expected.getChoice(op)) << rules.getPosition(op);
    for (Value result : op->getResults())
      EXPECT_EQ(found.getState(result), expected.getState(result)) << rules.getPosition(op);
  }
}

TEST_F(PropagationSteps, ChangedSeedsGiveWhatStartingWithThemGives) {
  for (unsigned number = 0; number < 200 && !HasFailure(); ++number) {
    std::string text = writeRandomProgram(number);
    SCOPED_TRACE("seed " + std::to_string(number) + ":\n" + text);
    auto [function, mesh] = parse(text);
    FunctionRules rules(function, mesh);
    AxisAttr axis = mesh.getAxis("data");
    SmallVector<BlockArgument> open = getOpen(function);
    std::mt19937 random(number);
    Propagation seeded(rules, axis, open);
    DenseMap<BlockArgument, AxisState> seeds;
    for (int change = 0; change < 6 && !open.empty(); ++change) {
      BlockArgument argument = open[random() % open.size()];
      int64_t rank = cast<RankedTensorType>(argument.getType()).getRank();
      seeds[argument] = AxisState::sharded(int64_t(random() % (rank + 1)) - 1);
      seeded.seed(argument, seeds[argument]);
      seeded.update();
      Propagation found = seeded, expected(rules, axis, open);
      found.run();
      for (auto [each, state] : seeds)
        expected.seed(each, state);
      expected.run();
      expectEqual(rules, found, expected);
    }
  }
}

/// Layers that multiply by a matrix each, and sum up what each of them makes.
std::string writeLayers(int layers) {
  std::string arguments = "%h0: tensor<8x8xf32>, %z: tensor<8x8xf32>", body, value = "%h0";
  for (int layer = 0; layer < layers; ++layer) {
    std::string number = std::to_string(layer), next = "%s" + number;
    arguments += ", %w" + number + ": tensor<8x8xf32>";
    body += "  %p" + number + " = linalg.matmul ins(" + value + ", %w" + number +
            " : tensor<8x8xf32>, tensor<8x8xf32>) outs(%z : tensor<8x8xf32>) -> tensor<8x8xf32>\n";
    body += "  " + next + " = math.sin %p" + number + " : tensor<8x8xf32>\n";
    value = next;
  }
  return "epl.mesh @mesh axes [\"data\"=2]\nfunc.func @layers(" + arguments + ") -> tensor<8x8xf32> {\n" +
         body + "  return " + value + " : tensor<8x8xf32>\n}\n";
}

/// The steps that one more seed, in the last layer, takes.
int64_t countSteps(const FunctionRules &rules, AxisAttr axis, ArrayRef<BlockArgument> open) {
  Propagation program(rules, axis, open);
  program.update();
  int64_t before = program.getNumSteps();
  program.seed(open.back(), AxisState::sharded(1));
  program.update();
  return program.getNumSteps() - before;
}

TEST_F(PropagationSteps, AChangeTakesAsManyInALongProgram) {
  SmallVector<int64_t> steps;
  for (int layers : {4, 64}) {
    auto [function, mesh] = parse(writeLayers(layers));
    FunctionRules rules(function, mesh);
    SmallVector<BlockArgument> open = getOpen(function);
    steps.push_back(countSteps(rules, mesh.getAxis("data"), open));
  }
  EXPECT_GT(steps[0], 0);
  EXPECT_EQ(steps[0], steps[1]);
}

} // namespace
