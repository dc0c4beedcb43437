//===- ServerPrograms.cpp - What servers do to blocks ---------------------===//

#include "passes/shard/servers/ServerPrograms.h"

#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/analysis/TensorType.h"
#include "passes/shard/servers/BlockRows.h"
#include "runtime/servers/model/Slices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::epl;

using Argument = GroupPlan::Argument;
using Kind = GroupPlan::Kind;

//===----------------------------------------------------------------------===//
// A group as a function
//===----------------------------------------------------------------------===//

/// The gradient that is compensated for delay: of what is pushed the one tensor that is as the parameter is.
static Value getCompensated(const ServerGroup &group) {
  auto isGradient = [&](Value pushed) { return pushed.getType() == group.parameter.getType(); };
  if (llvm::count_if(group.work.pushes, isGradient) != 1)
    return {};
  return *llvm::find_if(group.work.pushes, isGradient);
}

static SmallVector<Argument> getArguments(const StepSplit &split, const ServerGroup &group,
                                          bool compensates) {
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
  if (compensates && getCompensated(group))
    arguments.push_back({Kind::backup, group.parameter, false});
  return arguments;
}

static bool isUpdated(Kind kind) {
  return kind != Kind::constant && kind != Kind::push && kind != Kind::backup;
}

/// g + g g (w - w'), element by element. Reference: S. Zheng et al., "Asynchronous Stochastic Gradient
/// Descent with Delay Compensation", 2017, with the factor of Fluid's transpiler, 1.
static Value compensate(OpBuilder &builder, Value gradient, Value now, Value before) {
  Location loc = gradient.getLoc();
  RankedTensorType type = getTensorType(gradient);
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(), type.getElementType());
  SmallVector<AffineMap> maps(4, builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, type, ValueRange{gradient, now, before}, empty, maps, iterators,
             [](OpBuilder &b, Location at, ValueRange elements) {
               Value g = elements[0];
               Value moved = arith::SubFOp::create(b, at, elements[1], elements[2]);
               Value square = arith::MulFOp::create(b, at, g, g);
               Value more = arith::MulFOp::create(b, at, square, moved);
               linalg::YieldOp::create(b, at, ValueRange{arith::AddFOp::create(b, at, g, more)});
             })
      .getResult(0);
}

/// Has the program read the compensated gradient, if it has the parameter as the gradient's worker had it.
static void compensateIn(OpBuilder &builder, const ServerGroup &group, ArrayRef<Argument> arguments,
                         ArrayRef<BlockArgument> given, IRMapping &values) {
  if (arguments.back().kind != Kind::backup)
    return;
  Value gradient = getCompensated(group);
  Value made = compensate(builder, values.lookup(gradient), values.lookup(group.parameter), given.back());
  values.map(gradient, made);
  Attribute work = (*group.work.ops.begin())->getAttr(EplDialect::kWorkAttr);
  for (Operation *op : {made.getDefiningOp(), made.getDefiningOp()->getOperand(3).getDefiningOp()})
    op->setAttr(EplDialect::kWorkAttr, work);
}

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
    if (argument.kind != Kind::backup)
      values.map(argument.value, value);
    value.setLoc(argument.value.getLoc());
  }
  builder.setInsertionPointToEnd(body);
  compensateIn(builder, group, arguments, body->getArguments(), values);
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
    if (argument.kind == Kind::backup)
      name += " as its worker had it";
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
    GroupPlan plan{getArguments(split, group, options.compensate), {}};
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
    SmallVector<int64_t> sizes;
    for (::epl::runtime::servers::Slice slice : ::epl::runtime::servers::sliceVariable(
             type.getShape(), uint32_t(isCut ? options.servers : 1), uint64_t(options.minBlockSize)))
      sizes.push_back(int64_t(slice.size));
    return sizes;
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
      std::string name =
          ::epl::runtime::servers::blockName(getArgumentName(group.parameter), index, sizes.size());
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
