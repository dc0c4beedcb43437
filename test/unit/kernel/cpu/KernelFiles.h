//===- KernelFiles.h - Kernels that several tests run --------------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <string>

namespace mlir::epl::test {

/// The kernels of a file of test/unit/kernel/kernels: $R, $C and $T in it are numbers of rows and columns and
/// a type, $S and $D a few more rows and columns.
std::string readKernels(const std::string &file, int64_t rows, int64_t columns, const std::string &type = "");

} // namespace mlir::epl::test
