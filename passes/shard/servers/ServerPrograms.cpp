//===- ServerPrograms.cpp - What servers do to blocks ---------------------===//

#include "passes/shard/servers/ServerPrograms.h"

#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/analysis/TensorType.h"
#include "passes/shard/servers/BlockRows.h"
#include "passes/shard/servers/SliceVariable.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::epl;

using Argument = GroupPlan::Argument;
using Kind = GroupPlan::Kind;

//===----------------------------------------------------------------------===//
// A group as a function
//===----------------------------------------------------------------------===//

static SmallVector<Argument> getArguments(const StepSplit &split, const ServerGroup &group) {
  SmallVector<Argument> arguments;
  auto add = [&](Kind kind, auto &&values) {
    SmallVector<Value> sorted(values.begin(), values.end());
    sortByPlace(sorted);
    for (Value value : sorted)
      arguments.push_back({kind, value, false});
  };
  add(Kind::state, group.states);
  for (Argument &state : arguments)
    if (split.isPulled(cast<BlockArgument>(state.value)))
      state.kind = Kind::parameter;
  add(Kind::own, group.work.own);
  add(Kind::constant, group.work.copies);
  add(Kind::push, group.work.pushes);
  return arguments;
}

static bool isUpdated(Kind kind) { return kind != Kind::constant && kind != Kind::push; }

/// The group's work as a function of whole tensors before the step, its ops stamped.
static func::FuncOp writeProgram(const StepSplit &split, const ServerGroup &group,
                                 ArrayRef<Argument> arguments) {
  func::FuncOp step = split.getStep();
  OpBuilder builder(step);
  SmallVector<Type> types, results;
  for (const Argument &argument : arguments) {
    types.push_back(argument.value.getType());
    if (isUpdated(argument.kind))
      results.push_back(argument.value.getType());
  }
  auto program =
      func::FuncOp::create(builder, step.getLoc(), "apply", builder.getFunctionType(types, results));
  Block *body = program.addEntryBlock();
  IRMapping values;
  for (auto [argument, value] : llvm::zip_equal(arguments, body->getArguments())) {
    values.map(argument.value, value);
    value.setLoc(argument.value.getLoc());
  }
  builder.setInsertionPointToEnd(body);
  for (Operation &op : step.front().without_terminator())
    if (group.work.ops.contains(&op))
      builder.clone(op, values);
  SmallVector<Value> returned;
  for (const Argument &argument : arguments)
    if (isUpdated(argument.kind))
      returned.push_back(values.lookup(split.getNextValue(cast<BlockArgument>(argument.value))));
  func::ReturnOp::create(builder, step.getLoc(), returned);
  return program;
}

/// The attributes of an argument or result, with `more`.
static DictionaryAttr withAttrs(func::FuncOp step, StringRef name, NamedAttribute more) {
  Builder builder(step.getContext());
  return builder.getDictionaryAttr(
      {builder.getNamedAttr(EplDialect::kNameAttr, builder.getStringAttr(name)), more});
}

/// Says what arguments and results are, by the names of the step.
static void setAttributes(func::FuncOp program, ArrayRef<Argument> arguments, const ServerGroup &group) {
  Builder builder(program.getContext());
  unsigned pushes = llvm::count_if(arguments, [](const Argument &a) { return a.kind == Kind::push; });
  int64_t results = 0, pushed = 0;
  for (auto [index, argument] : llvm::enumerate(arguments)) {
    bool isPush = argument.kind == Kind::push;
    std::string name = isPush ? "pushed for " + getArgumentName(group.parameter) +
                                    (pushes > 1 ? " (" + std::to_string(pushed++) + ")" : "")
                              : getArgumentName(cast<BlockArgument>(argument.value));
    auto role = builder.getNamedAttr(EplDialect::kRoleAttr,
                                     builder.getStringAttr(isUpdated(argument.kind) ? "state" : "constant"));
    program.setArgAttrs(index, withAttrs(program, name, role));
    if (!isUpdated(argument.kind))
      continue;
    auto updates = builder.getNamedAttr(EplDialect::kUpdatesAttr, builder.getI64IntegerAttr(int64_t(index)));
    program.setResultAttrs(results++, withAttrs(program, name, updates));
  }
}

/// Takes what passes have written at ops.
static void stripOps(func::FuncOp program) {
  program.walk([](Operation *op) {
    for (StringRef name : {EplDialect::kWorkAttr, EplDialect::kPerMicroBatchAttr, EplDialect::kCheckpointAttr,
                           EplDialect::kShardingAttr, EplDialect::kFactorsAttr, EplDialect::kCauseAttr})
      op->removeDiscardableAttr(name);
  });
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

namespace {
/// Writes the programs of all groups, equal ones once.
class ProgramWriter {
public:
  ProgramWriter(const StepSplit &split, const BlockOptions &options, bool explains)
      : split(split), options(options), explains(explains) {}

  GroupPlan write(const ServerGroup &group) {
    GroupPlan plan{getArguments(split, group), {}};
    func::FuncOp program = writeProgram(split, group, plan.arguments);
    SmallVector<int64_t> sizes = getSizes(group);
    if (sizes.size() > 1)
      writeRows(group, program, sizes, plan);
    if (plan.blocks.empty()) {
      auto shape = getTensorType(group.parameter).getShape();
      int64_t elements = countElements(group.parameter);
      plan.blocks.push_back({getArgumentName(group.parameter), 0, shape.empty() ? 1 : shape.front(), 0,
                             elements, keep(program, group, plan)});
    } else {
      program.erase();
    }
    return plan;
  }

private:
  SmallVector<int64_t> getSizes(const ServerGroup &group) const {
    RankedTensorType type = getTensorType(group.parameter);
    auto isOfOneShape = [&](BlockArgument state) {
      return !split.isPulled(state) || getTensorType(state).getShape() == type.getShape();
    };
    bool isCut = options.slice && type.getRank() > 0 && llvm::all_of(group.states, isOfOneShape);
    return sliceVariable(type.getShape(), isCut ? options.servers : 1, options.minBlockSize);
  }

  /// The blocks, if the program can be written for their rows.
  void writeRows(const ServerGroup &group, func::FuncOp program, ArrayRef<int64_t> sizes, GroupPlan &plan) {
    const auto *parameter =
        llvm::find_if(plan.arguments, [&](const Argument &a) { return a.value == group.parameter; });
    BlockRows rows(program, program.getArgument(parameter - plan.arguments.begin()));
    if (const BlockRows::Obstacle *obstacle = rows.getObstacle())
      return remark(group, *obstacle);
    for (auto [index, argument] : llvm::enumerate(plan.arguments))
      argument.isSliced = rows.isSliced(index);
    RankedTensorType type = getTensorType(group.parameter);
    int64_t row = type.getNumElements() / type.getDimSize(0), begin = 0;
    for (auto [index, size] : llvm::enumerate(sizes)) {
      std::string name = getArgumentName(group.parameter) + ".block" + std::to_string(index);
      func::FuncOp made = rows.write(size / row);
      plan.blocks.push_back({name, begin, size / row, begin * row, size, keep(made, group, plan)});
      begin += size / row;
    }
  }

  void remark(const ServerGroup &group, const BlockRows::Obstacle &obstacle) const {
    if (explains)
      emitRemark(obstacle.op->getLoc())
          << "one server has \"" << getArgumentName(group.parameter) << "\" whole: " << obstacle.reason;
  }

  /// The name of a program that is kept: of one that differs from it in names and places alone, which is in
  /// the module already, or a new one.
  std::string keep(func::FuncOp program, const ServerGroup &group, const GroupPlan &plan) {
    stripOps(program);
    program.setSymName("apply");
    std::string text;
    llvm::raw_string_ostream stream(text);
    program->print(stream, OpPrintingFlags().useLocalScope());
    for (const Argument &argument : plan.arguments)
      stream << (isUpdated(argument.kind) ? 's' : 'c');
    auto [known, inserted] = names.try_emplace(text, "apply" + std::to_string(names.size()));
    if (!inserted) {
      program.erase();
      return known->second;
    }
    program.setSymName(known->second);
    setAttributes(program, plan.arguments, group);
    return known->second;
  }

  const StepSplit &split;
  BlockOptions options;
  bool explains;
  llvm::StringMap<std::string> names; ///< of programs by their text
};
} // namespace

SmallVector<GroupPlan> mlir::epl::writeServerPrograms(const StepSplit &split, const BlockOptions &options,
                                                      bool explain) {
  ProgramWriter writer(split, options, explain);
  return llvm::map_to_vector(split.getGroups(),
                             [&](const ServerGroup &group) { return writer.write(group); });
}
