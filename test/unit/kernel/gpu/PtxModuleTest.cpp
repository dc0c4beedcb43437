//===- PtxModuleTest.cpp - Loop nests as PTX -------------------------------------===//

#include "passes/kernel/gpu/PtxModule.h"
#include "test/unit/kernel/gpu/PtxKernels.h"

#include "mlir/IR/BuiltinOps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::epl;

static FailureOr<ObjectBytes> compile(StringRef text, std::string &error) {
  MLIRContext context;
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  return compilePtx(text, *getGpuTarget(*module, "sm_80"), error);
}

static std::string makeNest(StringRef name, StringRef body) {
  return ("func.func private @" + name +
          ".body(%x: memref<1xf32>, %w: memref<0xi8>, %c: memref<1xi64>, %b: i64, %e: i64) {\n" + body +
          "  return\n}\n")
      .str();
}

TEST(PtxModule, NamesTheFunctionThatNobodyHas) {
  std::string error;
  EXPECT_TRUE(failed(compile("func.func private @nowhere(f32) -> f32\n" + makeNest("k", R"mlir(
      %i = arith.constant 0 : index
      %0 = memref.load %x[%i] : memref<1xf32>
      %1 = func.call @nowhere(%0) : (f32) -> f32
      memref.store %1, %x[%i] : memref<1xf32>
    )mlir"),
                             error)));
  EXPECT_EQ(error, "no function of a GPU does \"nowhere\"");
}

TEST(PtxModule, ReportsWhatItCannotLower) {
  std::string error;
  EXPECT_TRUE(failed(compile("func.func private @k.body(%x: memref<?xf32>) { return }", error)));
  EXPECT_FALSE(error.empty());
}

TEST(PtxModule, JoinsModulesUnderOneHeader) {
  std::string error;
  SmallVector<ObjectBytes> modules;
  for (StringRef name : {"first", "second"})
    modules.push_back(*compile(makeNest(name, ""), error));
  FailureOr<std::string> joined = joinPtx(modules, error);
  ASSERT_TRUE(succeeded(joined)) << error;
  EXPECT_EQ(StringRef(*joined).count(".version"), 1u);
  EXPECT_EQ(StringRef(*joined).count(".target"), 1u);
  EXPECT_THAT(*joined,
              testing::AllOf(testing::HasSubstr(".entry first("), testing::HasSubstr(".entry second(")));
  EXPECT_EQ(getPtxVersion(*joined), 70u);
}

TEST(PtxModule, DoesNothingWhereAConditionDoesNotHold) {
  std::string error;
  FailureOr<ObjectBytes> ptx = compile(makeNest("k", R"mlir(
      %i = arith.constant 0 : index
      %1 = arith.constant 7.0 : f32
      memref.store %1, %x[%i] : memref<1xf32>
    )mlir"),
                                       error);
  ASSERT_TRUE(succeeded(ptx)) << error;
  test::PtxKernels kernels(std::string(ptx->begin(), ptx->end()));
  ASSERT_EQ(kernels.getError(), "");
  auto runsUnder = [&](std::vector<std::pair<bool, bool>> conditions) {
    std::vector<test::PtxBuffer> buffers{{std::vector<char>(sizeof(float)), true}};
    test::PtxLaunch launch{"k", 1, 1, 0, 1, 1, std::move(conditions)};
    EXPECT_EQ(kernels.run({&launch, 1}, buffers, std::vector<int>{0, -1}, std::vector<int64_t>{0}, 1), "");
    return *reinterpret_cast<const float *>(buffers[0].bytes.data()) == 7.0f;
  };
  EXPECT_TRUE(runsUnder({}));
  EXPECT_TRUE(runsUnder({{true, true}}));
  EXPECT_TRUE(runsUnder({{false, false}, {true, true}}));
  EXPECT_FALSE(runsUnder({{false, true}}));
  EXPECT_FALSE(runsUnder({{true, false}}));
  EXPECT_FALSE(runsUnder({{true, true}, {false, false}, {true, false}}));
}

// Each module numbers its files from 1 on; in one module with others they have numbers of their own.
TEST(PtxModule, JoinsTheFilesOfModules) {
  std::string error;
  SmallVector<ObjectBytes> modules;
  for (std::string text :
       {".address_size 64\n\t.loc\t1 7 0\n\t.loc\t2 8 0\n\t.section\t.debug_macinfo\t{\t}\n"
        "\t.file\t1 \"a.py\"\n\t.file\t2 \"b c.py\"\n",
        ".address_size 64\n\t.loc\t1 9 0\n\t.loc\t2 10 0\n\t.file\t1 \"d.py\"\n"
        "\t.file\t2 \"a.py\"\n"})
    modules.emplace_back(text.begin(), text.end());
  FailureOr<std::string> joined = joinPtx(modules, error);
  ASSERT_TRUE(succeeded(joined)) << error;
  EXPECT_EQ(*joined, ".address_size 64\n\t.loc\t1 7 0\n\t.loc\t2 8 0\n\n\t.loc\t3 9 0\n\t.loc\t1 10 0\n"
                     "\t.file\t1 \"a.py\"\n\t.file\t2 \"b c.py\"\n\t.file\t3 \"d.py\"\n");
}

TEST(PtxModule, RefusesTextThatIsNoModule) {
  std::string error, text = "nothing";
  EXPECT_TRUE(failed(joinPtx(ObjectBytes(text.begin(), text.end()), error)));
  EXPECT_THAT(error, testing::HasSubstr(".address_size"));
  EXPECT_EQ(getPtxVersion(text), 0u);
  EXPECT_EQ(getPtxVersion(".version 8.x"), 0u);
}
