//===- AxisPlacementTest.cpp - Looking at what differs gives what looking at all gives --===//

#include "passes/shard/analysis/AxisPlacement.h"

#include "test/unit/shard/Programs.h"
#include "test/unit/shard/RandomProgram.h"

#include <random>

using namespace mlir;
using namespace mlir::epl;

namespace {

using AxisPlacementTest = ProgramTest;

void expectEqual(const FunctionRules &rules, const AxisPlacement &found, const AxisPlacement &expected) {
  EXPECT_EQ(found.getTraffic(), expected.getTraffic());
  for (Operation *op : rules.getOps()) {
    for (Value result : op->getResults()) {
      EXPECT_EQ(found.getState(result), expected.getState(result)) << rules.getPosition(op);
      EXPECT_EQ(found.isCompleted(result), expected.isCompleted(result)) << rules.getPosition(op);
    }
    for (OpOperand &use : op->getOpOperands())
      if (isa<RankedTensorType>(use.get().getType()))
        EXPECT_EQ(found.getNeededState(use), expected.getNeededState(use)) << rules.getPosition(op);
  }
}

TEST_F(AxisPlacementTest, LooksAtWhatOtherSeedsChange) {
  int64_t looked = 0, all = 0;
  for (unsigned number = 0; number < 300 && !HasFailure(); ++number) {
    std::string text = writeRandomProgram(number);
    SCOPED_TRACE("seed " + std::to_string(number) + ":\n" + text);
    auto [function, mesh] = parse(text);
    FunctionRules rules(function, mesh);
    AxisAttr axis = mesh.getAxis("data");
    SmallVector<BlockArgument> open = llvm::filter_to_vector(
        function.getArguments(), [](BlockArgument argument) { return !getSharding(argument); });
    std::mt19937 random(number);
    Propagation first(rules, axis, open);
    first.run();
    AxisPlacement base(rules, axis, first);
    for (BlockArgument argument : open) {
      int64_t rank = cast<RankedTensorType>(argument.getType()).getRank();
      Propagation other(rules, axis, open);
      other.seed(argument, AxisState::sharded(int64_t(random() % rank)));
      other.run();
      AxisPlacement found(base, other);
      expectEqual(rules, found, AxisPlacement(rules, axis, other));
      looked += int64_t(found.getOps().size());
      all += int64_t(rules.getOps().size());
    }
  }
  EXPECT_GT(looked, 0);
  EXPECT_LT(looked, all);
}

} // namespace
