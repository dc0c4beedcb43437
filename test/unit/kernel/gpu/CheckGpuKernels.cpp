//===- CheckGpuKernels.cpp - The kernels of steps on a GPU -----------------------===//
//
// epl-check-gpu-kernels FILE.mlir..: each file is a step with its kernels, as `epl-compile --emit=kernel`
// prints it. A test for each, whose kernels run on random data on the stand-in of a GPU, and on a CPU in
// plain loops.
//
//===----------------------------------------------------------------------===//

#include "test/unit/kernel/cpu/Forms.h"

#include <fstream>
#include <gtest/gtest.h>

using namespace mlir::epl::test;

namespace {

class StepTest : public testing::Test {
public:
  explicit StepTest(std::string path) : path(std::move(path)) {}

  void TestBody() override {
    std::ifstream stream(path);
    ASSERT_TRUE(stream) << path;
    checkFormsOnGpu(std::string((std::istreambuf_iterator<char>(stream)), {}), {.withSpecial = false});
  }

private:
  std::string path;
};

} // namespace

int main(int count, char **arguments) {
  testing::InitGoogleTest(&count, arguments);
  for (int i = 1; i < count; ++i) {
    std::string path = arguments[i];
    testing::RegisterTest("Step", path.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [path]() -> testing::Test * { return new StepTest(path); });
  }
  return RUN_ALL_TESTS();
}
