//===- FormsTest.cpp - Every form of loop nest computes the kernel ---------------===//

#include "Forms.h"
#include "CompiledKernels.h"
#include "KernelFiles.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::epl;
using namespace mlir::epl::test;

// A file of kernels and the element type that stands in it for $T.
struct KernelFile {
  const char *name, *type;
};

static void PrintTo(const KernelFile &file, std::ostream *stream) { *stream << file.name << file.type; }

// Tensors in the files have $R rows and $C columns, or $S and $D: a few more.
struct Size {
  int64_t rows, columns;
};

static void PrintTo(const Size &size, std::ostream *stream) { *stream << size.rows << "x" << size.columns; }

static std::string readKernels(const KernelFile &file, const Size &size) {
  return readKernels(file.name, size.rows, size.columns, file.type);
}

static void checkForms(const KernelFile &file, const Size &size, const std::string &cpu) {
  checkForms(readKernels(file, size), cpu, {.seed = unsigned(size.rows * 1000 + size.columns)});
}

class FormsTest : public testing::TestWithParam<std::tuple<KernelFile, Size>> {};

TEST_P(FormsTest, AgreesWithScalarLoops) {
  checkForms(std::get<KernelFile>(GetParam()), std::get<Size>(GetParam()), "host");
}

static const Size kSizes[] = {{1, 1},   {1, 17},  {3, 1},    {3, 7},    {7, 12},  {17, 63},
                              {63, 65}, {65, 33}, {5, 1000}, {1000, 3}, {16, 64}, {2, 130}};
static const KernelFile kFiles[] = {
    {"elementwise", ""}, {"rows", ""}, {"columns", ""}, {"moves", ""}, {"sorts", ""}};
static const KernelFile kTransposes[] = {{"transpose", "f32"}, {"transpose", "f64"}, {"transpose", "i32"},
                                         {"transpose", "i64"}, {"transpose", "i1"},  {"transpose", "bf16"}};

static std::string getName(const testing::TestParamInfo<FormsTest::ParamType> &info) {
  auto [file, size] = info.param;
  return testing::PrintToString(file) + "_" + testing::PrintToString(size);
}

INSTANTIATE_TEST_SUITE_P(Sizes, FormsTest,
                         testing::Combine(testing::ValuesIn(kFiles), testing::ValuesIn(kSizes)), getName);
// Sums of so many rows are added in blocks: whole ones, and one that ends with rows that no pass takes.
static const Size kLongSizes[] = {{1291, 6}, {1026, 70}};
INSTANTIATE_TEST_SUITE_P(Long, FormsTest,
                         testing::Combine(testing::Values(kFiles[1], kFiles[2]),
                                          testing::ValuesIn(kLongSizes)),
                         getName);
INSTANTIATE_TEST_SUITE_P(Types, FormsTest,
                         testing::Combine(testing::ValuesIn(kTransposes), testing::ValuesIn(kSizes)),
                         getName);

//===----------------------------------------------------------------------===//
// GPU
//===----------------------------------------------------------------------===//

class GpuFormsTest : public testing::TestWithParam<std::tuple<KernelFile, Size>> {};

TEST_P(GpuFormsTest, AgreesWithScalarLoops) {
  auto [file, size] = GetParam();
  checkFormsOnGpu(readKernels(file, size), {.seed = unsigned(size.rows * 1000 + size.columns)});
}

static const Size kGpuSizes[] = {{1, 1}, {3, 7}, {17, 63}, {63, 65}, {5, 200}};

INSTANTIATE_TEST_SUITE_P(Sizes, GpuFormsTest,
                         testing::Combine(testing::ValuesIn(kFiles), testing::ValuesIn(kGpuSizes)), getName);
// Rows that a warp and a block have in registers, and one that is longer; many rows that are added up in
// strips, and long ones of which strips have some columns.
static const Size kGpuRows[] = {{3, 1021}, {2, 1536}, {1, 17000}, {300, 40}, {40, 1100}};
INSTANTIATE_TEST_SUITE_P(Rows, GpuFormsTest,
                         testing::Combine(testing::Values(kFiles[1], kFiles[2]), testing::ValuesIn(kGpuRows)),
                         getName);
// Tiles that are whole, and parts of tiles, with and without accesses of 16 bytes.
static const Size kGpuTiles[] = {{17, 33}, {64, 128}, {100, 70}};
INSTANTIATE_TEST_SUITE_P(Types, GpuFormsTest,
                         testing::Combine(testing::ValuesIn(kTransposes), testing::ValuesIn(kGpuTiles)),
                         getName);

//===----------------------------------------------------------------------===//
// Levels
//===----------------------------------------------------------------------===//

class LevelsTest : public testing::TestWithParam<const char *> {};

TEST_P(LevelsTest, AgreesWithScalarLoops) {
  if (!canExecute(GetParam()))
    GTEST_SKIP() << "this machine cannot execute code for " << GetParam();
  for (const KernelFile &file : kFiles)
    for (Size size : {Size{7, 12}, Size{17, 63}})
      checkForms(file, size, GetParam());
  checkForms({"transpose", "f32"}, {17, 63}, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Levels, LevelsTest, testing::ValuesIn(kLevels),
                         [](const auto &info) { return std::to_string(info.index + 1); });
