//===- Manifest.cpp - Who holds what, as an attribute ---------------------===//

#include "passes/shard/servers/Manifest.h"

#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/analysis/TensorType.h"
#include "passes/shard/servers/WorkerProgram.h"

using namespace mlir;
using namespace mlir::epl;

namespace {
/// A dictionary under construction.
class Entry {
public:
  explicit Entry(MLIRContext *context) : builder(context) {}

  Entry &add(StringRef name, Attribute value) {
    attrs.set(name, value);
    return *this;
  }
  Entry &add(StringRef name, int64_t value) { return add(name, builder.getI64IntegerAttr(value)); }
  Entry &addText(StringRef name, const Twine &text) { return add(name, builder.getStringAttr(text)); }
  Entry &addFlag(StringRef name, bool value) { return add(name, builder.getBoolAttr(value)); }
  /// The shape and the type of the elements.
  Entry &addType(Value value) {
    RankedTensorType type = getTensorType(value);
    std::string element;
    llvm::raw_string_ostream(element) << type.getElementType();
    return add("shape", builder.getDenseI64ArrayAttr(type.getShape())).addText("type", element);
  }
  DictionaryAttr get() { return attrs.getDictionary(builder.getContext()); }

private:
  Builder builder;
  NamedAttrList attrs;
};
} // namespace

static StringRef getName(GroupPlan::Kind kind) {
  switch (kind) {
  case GroupPlan::Kind::parameter:
    return "parameter";
  case GroupPlan::Kind::state:
    return "state";
  case GroupPlan::Kind::own:
    return "own";
  case GroupPlan::Kind::constant:
    return "constant";
  case GroupPlan::Kind::push:
    return "push";
  case GroupPlan::Kind::backup:
    return "backup";
  }
  llvm_unreachable("no kind of arguments");
}

/// What a value is among those that workers push.
static int64_t getPushNumber(const StepSplit &split, Value value) {
  return split.getPushes().find(value) - split.getPushes().begin();
}

static Attribute describeWorker(const StepSplit &split) {
  func::FuncOp step = split.getStep();
  Builder builder(step.getContext());
  WorkerSignature signature = getWorkerSignature(split);
  SmallVector<Attribute> arguments, results;
  for (unsigned index : signature.arguments) {
    auto role = step.getArgAttrOfType<StringAttr>(index, EplDialect::kRoleAttr);
    bool isPulled = split.isOnServers(step.getArgument(index));
    arguments.push_back(Entry(step.getContext())
                            .add("argument", index)
                            .addText("kind", isPulled ? "pull" : role.getValue())
                            .get());
  }
  for (unsigned result : signature.results)
    results.push_back(Entry(step.getContext())
                          .addText("kind", getUpdatedArgument(step, result) ? "state" : "result")
                          .add("result", result)
                          .get());
  for (const auto &[push, numbers] : split.getPushes())
    results.push_back(Entry(step.getContext())
                          .addText("kind", "push")
                          .add("groups", builder.getDenseI64ArrayAttr(numbers))
                          .addType(push)
                          .get());
  return Entry(step.getContext())
      .add("arguments", builder.getArrayAttr(arguments))
      .add("results", builder.getArrayAttr(results))
      .get();
}

static Attribute describeArgument(const StepSplit &split, const GroupPlan::Argument &argument) {
  Entry entry(split.getStep().getContext());
  entry.addText("kind", getName(argument.kind)).addFlag("sliced", argument.isSliced).addType(argument.value);
  if (argument.kind == GroupPlan::Kind::push)
    return entry.add("push", getPushNumber(split, argument.value)).get();
  auto state = cast<BlockArgument>(argument.value);
  return entry.add("argument", state.getArgNumber()).addText("name", getArgumentName(state)).get();
}

static Attribute describeBlock(MLIRContext *context, const ServerBlock &block) {
  return Entry(context)
      .addText("name", block.name)
      .add("begin", block.begin)
      .add("rows", block.rows)
      .add("offset", block.offset)
      .add("size", block.size)
      .addText("program", block.program)
      .get();
}

static Attribute describeGroup(const StepSplit &split, const ServerGroup &group, const GroupPlan &plan) {
  MLIRContext *context = split.getStep().getContext();
  Builder builder(context);
  auto arguments = llvm::map_to_vector(
      plan.arguments, [&](const GroupPlan::Argument &argument) { return describeArgument(split, argument); });
  auto blocks = llvm::map_to_vector(plan.blocks,
                                    [&](const ServerBlock &block) { return describeBlock(context, block); });
  return Entry(context)
      .addText("name", getArgumentName(group.parameter))
      .add("parameter", group.parameter.getArgNumber())
      .add("arguments", builder.getArrayAttr(arguments))
      .add("blocks", builder.getArrayAttr(blocks))
      .get();
}

DictionaryAttr mlir::epl::getManifest(const StepSplit &split, ArrayRef<GroupPlan> plans) {
  MLIRContext *context = split.getStep().getContext();
  Builder builder(context);
  SmallVector<Attribute> groups, programs;
  llvm::SetVector<StringRef> names;
  for (auto [group, plan] : llvm::zip_equal(split.getGroups(), plans)) {
    groups.push_back(describeGroup(split, group, plan));
    for (const ServerBlock &block : plan.blocks)
      names.insert(block.program);
  }
  for (StringRef name : names)
    programs.push_back(builder.getStringAttr(name));
  return Entry(context)
      .add("worker", describeWorker(split))
      .add("groups", builder.getArrayAttr(groups))
      .add("programs", builder.getArrayAttr(programs))
      .get();
}
