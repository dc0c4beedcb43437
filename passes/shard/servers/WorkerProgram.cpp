//===- WorkerProgram.cpp - What of a step a worker does -------------------===//

#include "passes/shard/servers/WorkerProgram.h"

#include "dialect/Servers.h"
#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/analysis/Rules.h"

#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace mlir::epl;

/// Whether the worker's program reads an argument, or returns it beside what updates states.
static bool isRead(const StepSplit &split, BlockArgument argument) {
  Block *body = argument.getOwner();
  return llvm::any_of(argument.getUses(), [&](OpOperand &use) {
    Operation *user = body->findAncestorOpInBlock(*use.getOwner());
    return isa<func::ReturnOp>(user) ? !getUpdatedArgument(split.getStep(), use.getOperandNumber())
                                     : split.isOfWorkers(user);
  });
}

/// Whether a worker has an argument. Of states it has those that it holds, and those that it reads.
static bool hasArgument(const StepSplit &split, BlockArgument argument) {
  if (split.isOnServers(argument))
    return isRead(split, argument) || split.getPushes().contains(argument);
  return !split.getNextValue(argument) || split.isKept(argument);
}

WorkerSignature mlir::epl::getWorkerSignature(const StepSplit &split) {
  func::FuncOp step = split.getStep();
  WorkerSignature signature;
  for (BlockArgument argument : step.getArguments())
    if (hasArgument(split, argument))
      signature.arguments.push_back(argument.getArgNumber());
  for (unsigned result = 0; result < step.getNumResults(); ++result) {
    BlockArgument state = getUpdatedArgument(step, result);
    if (!state || (!split.isOnServers(state) && split.isKept(state)))
      signature.results.push_back(result);
  }
  return signature;
}

/// Of what servers hold a worker has constants, which come as they are: whole.
static void setArgumentAttributes(const StepSplit &split) {
  func::FuncOp step = split.getStep();
  Builder builder(step.getContext());
  for (BlockArgument argument : step.getArguments()) {
    if (!split.isOnServers(argument))
      continue;
    unsigned index = argument.getArgNumber();
    step.setArgAttr(index, EplDialect::kRoleAttr, builder.getStringAttr("constant"));
    step.setArgAttr(index, kPullAttr, builder.getI64IntegerAttr(index));
    for (StringRef name : {EplDialect::kOwnerAttr, EplDialect::kArrivesAttr, EplDialect::kHiddenAttr})
      step.removeArgAttr(index, name);
  }
}

/// The attributes of the worker's results: states have other numbers, pushes are new.
static SmallVector<DictionaryAttr> getResultAttributes(const StepSplit &split,
                                                       const WorkerSignature &signature) {
  func::FuncOp step = split.getStep();
  Builder builder(step.getContext());
  SmallVector<DictionaryAttr> all;
  for (unsigned result : signature.results) {
    NamedAttrList attrs(step.getResultAttrDict(result));
    if (BlockArgument state = getUpdatedArgument(step, result)) {
      const unsigned *found = llvm::find(signature.arguments, state.getArgNumber());
      attrs.set(EplDialect::kUpdatesAttr, builder.getI64IntegerAttr(found - signature.arguments.begin()));
    }
    all.push_back(attrs.getDictionary(step.getContext()));
  }
  for (const auto &[push, numbers] : split.getPushes()) {
    std::string name = "pushed for ";
    for (auto [index, number] : llvm::enumerate(numbers))
      name += (index ? ", " : "") + getArgumentName(split.getGroups()[number].parameter);
    NamedAttrList attrs;
    attrs.set(EplDialect::kNameAttr, builder.getStringAttr(name));
    attrs.set(kPushAttr, builder.getDenseI64ArrayAttr(numbers));
    all.push_back(attrs.getDictionary(step.getContext()));
  }
  return all;
}

/// Takes out what servers do, last things first.
static void eraseOthers(const StepSplit &split) {
  Block &body = split.getStep().front();
  auto ops = llvm::to_vector(llvm::make_pointer_range(body.without_terminator()));
  for (Operation *op : llvm::reverse(ops))
    if (!split.isOfWorkers(op))
      op->erase();
}

void mlir::epl::makeWorkerProgram(const StepSplit &split) {
  func::FuncOp step = split.getStep();
  WorkerSignature signature = getWorkerSignature(split);
  SmallVector<DictionaryAttr> attributes = getResultAttributes(split, signature);
  setArgumentAttributes(split);
  Operation *terminator = step.front().getTerminator();
  SmallVector<Value> results =
      llvm::map_to_vector(signature.results, [&](unsigned result) { return terminator->getOperand(result); });
  for (const auto &[push, numbers] : split.getPushes())
    results.push_back(push);
  terminator->setOperands(results);
  eraseOthers(split);
  step.removeResAttrsAttr(); // of other results
  step.setType(FunctionType::get(step.getContext(), step.getArgumentTypes(), terminator->getOperandTypes()));
  step.setAllResultAttrs(attributes);
  llvm::BitVector dropped(step.getNumArguments(), true);
  for (unsigned argument : signature.arguments)
    dropped.reset(argument);
  (void)step.eraseArguments(dropped);
}
