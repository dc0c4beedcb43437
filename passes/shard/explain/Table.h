//===- Table.h - Rows of text for people ------------------------*- C++ -*-===//
#pragma once

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <vector>

namespace mlir::epl {

/// Lines that each begin with a line break and "| ", the columns as wide as their widest text. The first row
/// is the header. Columns of numbers (`isNumber`) end alike, the others begin alike.
std::string makeTable(const std::vector<std::vector<std::string>> &rows, ArrayRef<bool> isNumber);

} // namespace mlir::epl
