//===- SequenceRegionTest.cpp - A region costs what it changes ------------===//

#include "passes/shard/seed/SequenceRegion.h"

#include "test/unit/shard/Programs.h"

using namespace mlir;
using namespace mlir::epl;

namespace {

using SequenceRegionTest = ProgramTest;

/// Perceptrons that are split over two devices, each followed by functions that both compute.
std::string writePerceptrons(int count) {
  std::string arguments = "%h0: tensor<8x4xf32>", value = "%h0";
  std::string body = "  %z4 = arith.constant dense<0.0> : tensor<8x4xf32>\n"
                     "  %z6 = arith.constant dense<0.0> : tensor<8x6xf32>\n";
  for (int layer = 0; layer < count; ++layer) {
    std::string number = std::to_string(layer), next = "%t" + number;
    arguments += ", %u" + number +
                 ": tensor<4x6xf32> {epl.sharding = #epl.sharding<@mesh, [{}, {\"model\"}]>}, %d" + number +
                 ": tensor<6x4xf32> {epl.sharding = #epl.sharding<@mesh, [{\"model\"}, {}]>}";
    body += "  %p" + number + " = linalg.matmul ins(" + value + ", %u" + number +
            " : tensor<8x4xf32>, tensor<4x6xf32>) outs(%z6 : tensor<8x6xf32>) -> tensor<8x6xf32>\n";
    body += "  %s" + number + " = linalg.matmul ins(%p" + number + ", %d" + number +
            " : tensor<8x6xf32>, tensor<6x4xf32>) outs(%z4 : tensor<8x4xf32>) -> tensor<8x4xf32>\n";
    body += "  %a" + number + " = math.tanh %s" + number + " : tensor<8x4xf32>\n";
    body += "  %b" + number + " = math.sin %a" + number + " : tensor<8x4xf32>\n";
    body += "  %c" + number + " = math.exp %b" + number + " : tensor<8x4xf32>\n";
    body += "  " + next + " = math.tanh %c" + number + " : tensor<8x4xf32>\n";
    value = next;
  }
  return "epl.mesh @mesh axes [\"model\"=2]\nfunc.func @perceptrons(" + arguments +
         ") -> tensor<8x4xf32> {\n" + body + "  return " + value + " : tensor<8x4xf32>\n}\n";
}

TEST_F(SequenceRegionTest, AsMuchWorkInALongProgram) {
  SmallVector<int64_t> steps, ops;
  for (int count : {4, 64}) {
    auto [function, mesh] = parse(writePerceptrons(count));
    FunctionRules rules(function, mesh);
    SequenceStep step(rules, mesh.getAxis("model"));
    SmallVector<Value> sums = step.getSums();
    ASSERT_EQ(int(sums.size()), count);
    SequenceRegion region = step.grow(sums[1], 0);
    EXPECT_EQ(region.exits.size(), 1U);
    SequenceStep shared(step, region);
    EXPECT_LT(shared.getMadeBytes(), step.getMadeBytes());
    EXPECT_EQ(shared.getTraffic(), step.getTraffic());
    steps.push_back(shared.getNumSteps());
    ops.push_back(shared.getOps().size());
  }
  EXPECT_GT(steps[0], 0);
  EXPECT_EQ(steps[0], steps[1]);
  EXPECT_GT(ops[0], 0);
  EXPECT_EQ(ops[0], ops[1]);
}

} // namespace
