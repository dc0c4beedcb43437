//===- Table.cpp - Rows of text for people --------------------------------===//

#include "passes/shard/explain/Table.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

std::string mlir::epl::makeTable(const std::vector<std::vector<std::string>> &rows, ArrayRef<bool> isNumber) {
  std::vector<size_t> widths(isNumber.size(), 0);
  for (const std::vector<std::string> &row : rows)
    for (auto [text, width] : llvm::zip_equal(row, widths))
      width = std::max(width, text.size());
  std::string table;
  llvm::raw_string_ostream os(table);
  for (const std::vector<std::string> &row : rows) {
    os << "\n";
    for (auto [text, width, number] : llvm::zip_equal(row, widths, isNumber)) {
      size_t spaces = width - text.size();
      os << "| " << std::string(number ? spaces : 0, ' ') << text << std::string(number ? 0 : spaces, ' ')
         << " ";
    }
    os << "|";
  }
  return table;
}
