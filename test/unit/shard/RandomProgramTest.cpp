//===- RandomProgramTest.cpp - Random programs, sharded, mean the same ----===//
//
// Whatever the program, its mesh of one to three axes and the shardings of its arguments: what
// `epl-propagate` and `epl-place` make of it is accepted by `epl-verify-sharded` and gives, run on all
// members of the mesh, exactly what the program gives on one device.
//
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"
#include "Simulator.h"

#include "passes/shard/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::epl;

namespace {

class RandomProgram : public testing::Test {
protected:
  RandomProgram() {
    DialectRegistry models;
    registerShardModels(models);
    context.appendDialectRegistry(models);
    context.loadDialect<EplDialect, arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect,
                        math::MathDialect, tensor::TensorDialect>();
  }

  /// Shards the program of `text` and compares it with itself on one device.
  void check(const std::string &text, unsigned seed) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    auto function = *module->getOps<func::FuncOp>().begin();
    std::vector<Tensor> arguments = makeArguments(function, seed);
    std::vector<Tensor> expected = runGlobal(function, arguments);
    PassManager sharding(&context);
    sharding.addPass(createPropagatePass());
    sharding.addPass(createPlacePass());
    sharding.addPass(createVerifyShardedPass());
    ASSERT_TRUE(succeeded(sharding.run(*module)));
    EXPECT_EQ(runGlobal(function, arguments), expected);
    EXPECT_EQ(runSharded(function, arguments), expected);
  }

  MLIRContext context;
};

TEST_F(RandomProgram, MeansTheSameWhenSharded) {
  for (unsigned seed = 0; seed < 500 && !HasFailure(); ++seed) {
    std::string text = writeRandomProgram(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ":\n" + text);
    check(text, seed);
  }
}

} // namespace
