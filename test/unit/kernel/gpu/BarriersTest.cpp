//===- BarriersTest.cpp - Each barrier of a kernel is needed -----------------------===//
//
// Right values prove little: without a barrier most kernels still have them. The stand-in finds each one that
// is left out.
//
//===----------------------------------------------------------------------===//

#include "test/unit/kernel/cpu/CompiledKernels.h"
#include "test/unit/kernel/cpu/KernelFiles.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::epl;
using namespace mlir::epl::test;

// Where the barriers of the phases of a kernel begin in PTX.
static std::vector<size_t> findBarriers(const std::string &ptx, const std::string &symbol) {
  std::vector<size_t> barriers;
  size_t begin = 0;
  auto isOfKernel = [&](size_t entry) {
    StringRef name = StringRef(ptx).substr(entry);
    return name.consume_front(symbol) && (name.starts_with("(") || name.starts_with("$"));
  };
  for (size_t entry; (entry = ptx.find(".entry ", begin)) != std::string::npos;) {
    begin = ptx.find(".entry ", entry + 1);
    size_t end = std::min(begin, ptx.size());
    for (size_t at = entry; isOfKernel(entry + 7) && (at = ptx.find("\tbar", at)) < end; ++at)
      barriers.push_back(at);
    if (begin == std::string::npos)
      break;
  }
  return barriers;
}

static bool isFound(const CompiledKernel &kernel, const PtxKernels &code, const std::vector<Bytes> &inputs) {
  for (uint64_t seed = 1; seed <= 4; ++seed)
    if (!kernel.findOnGpu(code, inputs, seed).empty())
      return true;
  return false;
}

struct Barriers {
  const char *file, *kernel;
  int64_t rows, columns;
};

static void PrintTo(const Barriers &barriers, std::ostream *stream) { *stream << barriers.kernel; }

class BarriersTest : public testing::TestWithParam<Barriers> {};

TEST_P(BarriersTest, AreAllNeeded) {
  auto [file, name, rows, columns] = GetParam();
  CodegenOptions gpu;
  gpu.gpu = "sm_80";
  CompiledKernels kernels(readKernels(file, rows, columns, "f32"), gpu);
  const CompiledKernel &kernel = kernels.get(name);
  std::vector<Bytes> inputs;
  for (RankedTensorType type : kernel.inputs)
    inputs.emplace_back(type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8));
  ASSERT_EQ(kernel.findOnGpu(PtxKernels(kernels.getPtx()), inputs, 1), "");
  std::vector<size_t> barriers = findBarriers(kernels.getPtx(), kernel.symbol);
  EXPECT_FALSE(barriers.empty());
  for (size_t barrier : barriers) {
    std::string ptx = kernels.getPtx();
    ptx.replace(barrier, ptx.find(';', barrier) + 1 - barrier, "");
    PtxKernels without(ptx);
    ASSERT_EQ(without.getError(), "");
    EXPECT_TRUE(isFound(kernel, without, inputs))
        << "line " << 1 + llvm::count(StringRef(ptx).take_front(barrier), '\n') << " of\n"
        << kernels.getPtx();
  }
}

// Strips of rows and their sums; rows of a block; tiles.
INSTANTIATE_TEST_SUITE_P(Kernels, BarriersTest,
                         testing::Values(Barriers{"columns", "bias_gradient", 300, 40},
                                         Barriers{"rows", "softmax", 3, 1536},
                                         Barriers{"transpose", "transpose", 100, 70}),
                         testing::PrintToStringParamName());
