//===- ObjectTest.cpp - Compiling and linking of loop nests ----------------------===//

#include "passes/kernel/cpu/CpuObject.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::epl;

static FailureOr<ObjectBytes> compile(StringRef text, std::string &error) {
  return compileCpuObject(text, *getCpuTarget("host"), CodeStyle::vectorized, error);
}

TEST(ObjectTest, NamesTheSymbolThatNobodyHas) {
  std::string error;
  FailureOr<ObjectBytes> object = compile(R"mlir(
    func.func private @nowhere(f32) -> f32
    func.func private @k.body(%x: memref<1xf32>, %w: memref<0xi8>, %c: memref<1xi64>, %b: i64, %e: i64) {
      %i = arith.constant 0 : index
      %0 = memref.load %x[%i] : memref<1xf32>
      %1 = func.call @nowhere(%0) : (f32) -> f32
      memref.store %1, %x[%i] : memref<1xf32>
      return
    })mlir",
                                          error);
  ASSERT_TRUE(succeeded(object)) << error;
  EXPECT_TRUE(failed(linkSharedObject(*object, error)));
  EXPECT_THAT(error, testing::HasSubstr("nowhere"));
}

TEST(ObjectTest, ReportsWhatItCannotLower) {
  std::string error;
  EXPECT_TRUE(failed(compile("func.func private @k.body(%x: memref<?xf32>) { return }", error)));
  EXPECT_FALSE(error.empty());
}

TEST(TargetTest, KnowsTheFeaturesOfNamedCpus) {
  EXPECT_EQ(getCpuTarget("x86-64-v4")->getVectorBits(), 512u);
  EXPECT_EQ(getCpuTarget("x86-64-v3")->getVectorBits(), 256u);
  EXPECT_EQ(getCpuTarget("x86-64")->getVectorBits(), 128u);
  EXPECT_TRUE(getCpuTarget("znver5")->has("avx512bf16"));
  EXPECT_TRUE(failed(getCpuTarget("z80")));
}
