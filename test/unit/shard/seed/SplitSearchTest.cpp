//===- SplitSearchTest.cpp - How the search grows with layers -------------===//

#include "passes/shard/seed/split/SplitSearch.h"

#include "test/unit/shard/Programs.h"

using namespace mlir;
using namespace mlir::epl;

namespace {

using SplitSearchTest = ProgramTest;

/// Perceptrons with residuals: two kinds of parameters, whatever the number of layers.
std::string writeResiduals(int layers) {
  std::string arguments = "%h0: tensor<64x16xf32>", value = "%h0";
  std::string body = "  %zn = arith.constant dense<0.0> : tensor<64x16xf32>\n"
                     "  %zw = arith.constant dense<0.0> : tensor<64x32xf32>\n";
  for (int layer = 0; layer < layers; ++layer) {
    std::string number = std::to_string(layer), next = "%r" + number;
    arguments += ", %u" + number + ": tensor<16x32xf32> {epl.role = \"state\"}, %d" + number +
                 ": tensor<32x16xf32> {epl.role = \"state\"}";
    body += "  %p" + number + " = linalg.matmul ins(" + value + ", %u" + number +
            " : tensor<64x16xf32>, tensor<16x32xf32>) outs(%zw : tensor<64x32xf32>) -> tensor<64x32xf32>\n";
    body += "  %t" + number + " = math.tanh %p" + number + " : tensor<64x32xf32>\n";
    body += "  %s" + number + " = linalg.matmul ins(%t" + number + ", %d" + number +
            " : tensor<64x32xf32>, tensor<32x16xf32>) outs(%zn : tensor<64x16xf32>) -> tensor<64x16xf32>\n";
    body += "  " + next + " = arith.addf " + value + ", %s" + number + " : tensor<64x16xf32>\n";
    value = next;
  }
  return "epl.mesh @mesh axes [\"model\"=2]\nfunc.func @residuals(" + arguments +
         ") -> tensor<64x16xf32> {\n" + body + "  return " + value + " : tensor<64x16xf32>\n}\n";
}

TEST_F(SplitSearchTest, StepsGrowAsLayersDo) {
  SmallVector<int64_t> steps, choices;
  for (int layers : {24, 96}) {
    auto [function, mesh] = parse(writeResiduals(layers));
    FunctionRules rules(function, mesh);
    SmallVector<BlockArgument> open = llvm::to_vector(function.getArguments().drop_front());
    SplitSearch search(rules, mesh.getAxis("model"), open,
                       /*constraints=*/DenseMap<BlockArgument, int64_t>());
    Propagation result = search.run();
    EXPECT_EQ(search.getKinds().size(), 2U);
    EXPECT_EQ(result.getState(open[0]).dim, 1); // columns of the first, rows of the second
    EXPECT_EQ(result.getState(open[1]).dim, 0);
    steps.push_back(search.getNumSteps());
    choices.push_back(search.getNumChoices());
  }
  EXPECT_EQ(choices[0], choices[1]);
  EXPECT_GT(steps[0], 0);
  EXPECT_LE(double(steps[1]), 4.5 * double(steps[0]));
}

} // namespace
