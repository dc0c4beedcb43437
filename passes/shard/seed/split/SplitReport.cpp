//===- SplitReport.cpp - How parameters are split, as a table -------------===//

#include "passes/shard/seed/split/SplitReport.h"

#include "passes/shard/analysis/Describe.h"
#include "passes/shard/explain/Table.h"

using namespace mlir;
using namespace mlir::epl;

using Row = std::vector<std::string>;

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
  std::string table = makeTable(rows, {false, false, false, true, false, true});
  function.emitRemark() << "axis \"" << axis.getName() << "\" of size " << axis.getSize()
                        << ": how it splits parameters, and the bytes that its devices exchange" << table;
}
