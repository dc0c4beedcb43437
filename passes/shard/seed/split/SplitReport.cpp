//===- SplitReport.cpp - How parameters are split, as a table -------------===//

#include "passes/shard/seed/split/SplitReport.h"

#include "passes/shard/analysis/Describe.h"

using namespace mlir;
using namespace mlir::epl;

namespace {
constexpr size_t kColumns = 6;
using Row = std::array<std::string, kColumns>;

/// Columns of numbers end alike, the others begin alike.
constexpr std::array<bool, kColumns> kIsNumber = {false, false, false, true, false, true};
} // namespace

/// The name as the user wrote it; arguments without one are called by their number.
static std::string getName(func::FuncOp function, ArrayRef<BlockArgument> arguments) {
  std::string described = describeArguments(function, arguments);
  StringRef name = described;
  if (name.consume_front("argument \""))
    name.consume_back("\"");
  return name.str() + (arguments.size() > 1 ? ", " + std::to_string(arguments.size()) + " of them" : "");
}

static std::string getTypeText(BlockArgument argument) {
  std::string text;
  llvm::raw_string_ostream(text) << getCallerType(argument);
  return text;
}

static std::string getNumber(std::optional<int64_t> number) { return number ? std::to_string(*number) : ""; }

static Row getRow(func::FuncOp function, const ParameterKind &kind, const Propagation &result) {
  BlockArgument first = kind.members.front();
  AxisState state = result.getState(first);
  std::string chosen = state.isSharded() ? describeDim(first, state.dim) : "none";
  if (state.isSharded() && !kind.split)
    chosen += " as others ask for";
  if (kind.constraint)
    chosen += " as dims says";
  return {getName(function, kind.members),
          getTypeText(first),
          chosen,
          getNumber(kind.bytes),
          kind.runnerUp ? describeDim(first, *kind.runnerUp) : "",
          getNumber(kind.runnerUpBytes)};
}

static void print(raw_ostream &os, const Row &row, const std::array<size_t, kColumns> &widths) {
  os << "\n";
  for (auto [text, width, isNumber] : llvm::zip_equal(row, widths, kIsNumber)) {
    size_t spaces = width - text.size();
    os << "| " << std::string(isNumber ? spaces : 0, ' ') << text << std::string(isNumber ? 0 : spaces, ' ')
       << " ";
  }
  os << "|";
}

void mlir::epl::explainSplit(func::FuncOp function, AxisAttr axis, ArrayRef<ParameterKind> kinds,
                             const Propagation &result, const SplitConstraints &constraints) {
  std::vector<Row> rows = {{"parameter", "type", "split along", "bytes", "runner-up", "bytes"}};
  for (const ParameterKind &kind : kinds)
    rows.push_back(getRow(function, kind, result));
  for (const auto &[argument, constraint] : constraints)
    if (!constraint.state.isSharded())
      rows.push_back({getName(function, argument), getTypeText(argument), "none as dims says", "", "", ""});
  if (rows.size() == 1)
    return;
  std::array<size_t, kColumns> widths = {};
  for (const Row &row : rows)
    for (auto [width, text] : llvm::zip_equal(widths, row))
      width = std::max(width, text.size());
  std::string table;
  llvm::raw_string_ostream os(table);
  for (const Row &row : rows)
    print(os, row, widths);
  function.emitRemark() << "axis \"" << axis.getName() << "\" of size " << axis.getSize()
                        << ": how it splits parameters, and the bytes that its devices exchange" << table;
}
