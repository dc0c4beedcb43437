#include "KernelFiles.h"

#include "CompiledKernels.h"

#include <fstream>
#include <gtest/gtest.h>

std::string mlir::epl::test::readKernels(const std::string &file, int64_t rows, int64_t columns,
                                         const std::string &type) {
  std::ifstream stream(std::string(EPL_KERNELS) + "/" + file + ".mlir");
  EXPECT_TRUE(stream) << file;
  std::string text((std::istreambuf_iterator<char>(stream)), {});
  return substitute(text, {{"R", std::to_string(rows)},
                           {"S", std::to_string(rows + 1)},
                           {"C", std::to_string(columns)},
                           {"D", std::to_string(columns + 4)},
                           {"T", type}});
}
