//===- SplitMeshes.cpp - One function for each mesh -----------------------===//
//
// Problem: task graphs with devices of their own are one flat list of ops, but shardings, collectives and
//   plans are those of one mesh.
// Method: the list is dealt out (MeshAssignment.h), one function for each mesh, with its ops in their order.
//   A value that another mesh reads is a result of the one and an argument of the other, joined by the number
//   of a channel: one for each value and mesh that receives it, ascending with the place where the value is
//   made. So no two functions wait for each other: of all that is not done yet, what stands first in the list
//   of old can be done. A batch is an argument of each mesh that reads it, any other argument is where it is
//   updated, or else read most, and is received by others; what is made of nothing but constants is made
//   again. Which dimension of a received value counts samples only the whole program shows: it is said at the
//   argument.
//   The iterations of a loop over micro-batches are dealt out, too (a pipeline). A value that each of them
//   sends is stacked and returned by the one function, and is the slice of an argument in the other: the type
//   of the channel has a dimension of micro-batches. Only a schedule says in which order these are sent.
// Invariant in: a global program, every op with its `epl.work`, every task graph on a mesh; those of the
//   forward and backward work in the iterations of one loop are on one mesh, unless these are micro-batches.
// Invariant out: the same; where there are several meshes, every function has its `epl.mesh`, and every
//   position of the old signature is in some function: batches in each that reads them, all else in one.
// Reference: Xu et al., "GSPMD", 2021, section 3.3 (pipelines); docs/design.md, 4.5.
//
//===----------------------------------------------------------------------===//

#include "dialect/Sharding.h"
#include "passes/shard/Passes.h"
#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/analysis/BatchFactors.h"
#include "passes/shard/prepare/MeshAssignment.h"

#include "mlir/IR/IRMapping.h"

#include <set>

#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-split-meshes"

namespace mlir::epl {
#define GEN_PASS_DEF_SPLITMESHESPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numFunctions, "Functions of one mesh");
ALWAYS_ENABLED_STATISTIC(numClones, "Ops in them");

namespace {
/// A value on its way from one mesh to another.
struct Channel {
  Value value;
  unsigned from, to;
};

/// What one function of the result takes and gives, in values of the old one.
struct Signature {
  SmallVector<Value> arguments, results;
  SmallVector<Type> argumentTypes, resultTypes;
  SmallVector<DictionaryAttr> argumentAttrs, resultAttrs;

  void addArgument(Value value, Type type, DictionaryAttr attrs) {
    arguments.push_back(value);
    argumentTypes.push_back(type);
    argumentAttrs.push_back(attrs);
  }
  void addResult(Value value, Type type, DictionaryAttr attrs) {
    results.push_back(value);
    resultTypes.push_back(type);
    resultAttrs.push_back(attrs);
  }
};

/// The function of one mesh while its ops are cloned.
struct Clone {
  unsigned mesh;
  OpBuilder builder;
  IRMapping mapping{};
  DenseMap<Value, Value> received{}; ///< all iterations' of a value that each receives
  DenseMap<Value, Value> sent{};     ///< all iterations' of a value that each sends
};

/// Deals one function out to the meshes.
class MeshSplitter {
public:
  MeshSplitter(func::FuncOp function, const MeshAssignment &assignment)
      : function(function), body(function.front()), assignment(assignment), builder(function), loops(body) {}

  LogicalResult run();

private:
  LogicalResult need(Value value, unsigned mesh);
  LogicalResult findChannels();
  void numberChannels(Value value);
  void findBatchDims();

  unsigned getResultMesh(OpOperand &result);
  SmallVector<unsigned> getArgumentMeshes(BlockArgument argument);
  Signature getSignature(unsigned mesh);
  DictionaryAttr getChannelAttrs(int64_t channel, Value received);
  DictionaryAttr withPosition(DictionaryAttr attrs, int64_t position, std::optional<int64_t> updates);

  LogicalResult write(unsigned mesh);
  FailureOr<func::FuncOp> declare(unsigned mesh, const Signature &signature);
  void writeBody(Clone &clone);
  Value getClone(Value value, Clone &clone);
  void cloneOp(Operation *op, Clone &clone);
  void leave(LoopAttr loop, Clone &clone);
  void setWork(Operation *op, unsigned mesh);
  void setWork(Operation *op, Operation *maker, unsigned mesh);

  /// The loop over micro-batches of which each iteration has a `value` of its own, or null.
  LoopAttr getMicroLoop(Value value) const {
    LoopAttr loop = loops.getLoop(value);
    return isOfMicroBatches(loop) ? loop : LoopAttr();
  }
  Type getChannelType(Value value) const;

  func::FuncOp function;
  Block &body;
  const MeshAssignment &assignment;
  OpBuilder builder;
  Loops loops;
  DenseSet<std::pair<Value, unsigned>> needed; ///< what a mesh reads
  DenseMap<Value, std::set<unsigned>> receivers;
  SmallVector<Channel> channels;
  DenseMap<Value, int64_t> batchDims; ///< of the values that have one
};
} // namespace

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

/// Says that `mesh` reads `value`, or what it is made of if that is rematerialized.
LogicalResult MeshSplitter::need(Value value, unsigned mesh) {
  if (!needed.insert({value, mesh}).second)
    return success();
  Operation *producer = value.getDefiningOp();
  if (producer && assignment.isRematerialized(producer))
    return success(
        llvm::all_of(getUsedValues(producer), [&](Value source) { return succeeded(need(source, mesh)); }));
  std::optional<unsigned> home = assignment.getMesh(value);
  if (!home || *home == mesh)
    return success();
  if (!isa<RankedTensorType>(value.getType()))
    return emitError(value.getLoc()) << "value of type " << value.getType()
                                     << " is read on another mesh than it is made on, expected a tensor";
  receivers[value].insert(mesh);
  return success();
}

LogicalResult MeshSplitter::findChannels() {
  for (Operation &op : body.without_terminator())
    for (Value value : getUsedValues(&op))
      if (!assignment.isRematerialized(&op) && failed(need(value, assignment.getMesh(&op))))
        return failure();
  for (OpOperand &result : body.getTerminator()->getOpOperands())
    if (failed(need(result.get(), getResultMesh(result))))
      return failure();
  llvm::for_each(body.getArguments(), [&](Value value) { numberChannels(value); });
  for (Operation &op : body.without_terminator())
    llvm::for_each(op.getResults(), [&](Value value) { numberChannels(value); });
  return success();
}

void MeshSplitter::numberChannels(Value value) {
  for (unsigned mesh : receivers.lookup(value))
    channels.push_back({value, *assignment.getMesh(value), mesh});
}

void MeshSplitter::findBatchDims() {
  DenseMap<Operation *, FactorRule> rules;
  for (Operation &op : body)
    rules[&op] = getFactorRule(&op);
  BatchFactors factors(function, loops,
                       [&](Operation *op) -> const FactorRule & { return rules.find(op)->second; });
  for (const Channel &channel : channels)
    if (int64_t dim = factors.getDim(channel.value); dim >= 0)
      batchDims[channel.value] = dim + (getMicroLoop(channel.value) ? 1 : 0);
}

/// The type of what is sent of a value: of all iterations if each has one.
Type MeshSplitter::getChannelType(Value value) const {
  LoopAttr loop = getMicroLoop(value);
  if (!loop)
    return value.getType();
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape = {loop.getTripCount()};
  llvm::append_range(shape, type.getShape());
  return type.clone(shape);
}

//===----------------------------------------------------------------------===//
// Signatures
//===----------------------------------------------------------------------===//

/// A batch that nobody reads is still the caller's to give.
SmallVector<unsigned> MeshSplitter::getArgumentMeshes(BlockArgument argument) {
  if (std::optional<unsigned> home = assignment.getMesh(argument))
    return {*home};
  SmallVector<unsigned> readers = assignment.getReaders(argument);
  return readers.empty() ? SmallVector<unsigned>{0} : readers;
}

/// An update is returned where its argument is, anything else where it is made.
unsigned MeshSplitter::getResultMesh(OpOperand &result) {
  if (BlockArgument updated = getUpdatedArgument(function, result.getOperandNumber()))
    return getArgumentMeshes(updated).front();
  if (auto argument = dyn_cast<BlockArgument>(result.get()))
    return getArgumentMeshes(argument).front();
  return assignment.getMesh(result.get()).value_or(0);
}

DictionaryAttr MeshSplitter::withPosition(DictionaryAttr attrs, int64_t position,
                                          std::optional<int64_t> updates) {
  NamedAttrList list(attrs);
  list.set(EplDialect::kPositionAttr, builder.getI64IntegerAttr(position));
  if (updates)
    list.set(EplDialect::kUpdatesAttr, builder.getI64IntegerAttr(*updates));
  return list.getDictionary(function.getContext());
}

/// `received` is null for what is sent.
DictionaryAttr MeshSplitter::getChannelAttrs(int64_t channel, Value received) {
  NamedAttrList list;
  list.set(EplDialect::kChannelAttr, builder.getI64IntegerAttr(channel));
  if (auto dim = batchDims.find(received); received && dim != batchDims.end())
    list.set(EplDialect::kBatchDimAttr, builder.getI64IntegerAttr(dim->second));
  return list.getDictionary(function.getContext());
}

/// What the caller knows comes first, in its order, then channels in theirs.
Signature MeshSplitter::getSignature(unsigned mesh) {
  Signature signature;
  for (BlockArgument argument : body.getArguments())
    if (llvm::is_contained(getArgumentMeshes(argument), mesh)) {
      unsigned position = argument.getArgNumber();
      signature.addArgument(argument, argument.getType(),
                            withPosition(function.getArgAttrDict(position), position, std::nullopt));
    }
  for (OpOperand &result : body.getTerminator()->getOpOperands())
    if (getResultMesh(result) == mesh) {
      unsigned position = result.getOperandNumber();
      std::optional<int64_t> updates;
      if (BlockArgument updated = getUpdatedArgument(function, position))
        updates = llvm::find(signature.arguments, Value(updated)) - signature.arguments.begin();
      signature.addResult(result.get(), result.get().getType(),
                          withPosition(function.getResultAttrDict(position), position, updates));
    }
  for (auto [number, channel] : llvm::enumerate(channels)) {
    Type type = getChannelType(channel.value);
    if (channel.to == mesh)
      signature.addArgument(channel.value, type, getChannelAttrs(number, channel.value));
    if (channel.from == mesh)
      signature.addResult(channel.value, type, getChannelAttrs(number, Value()));
  }
  return signature;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Work that moved here becomes that of a task graph of this mesh.
void MeshSplitter::setWork(Operation *op, unsigned mesh) {
  auto work = op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr);
  SmallVector<TaskGraphOp> own = getTaskGraphs(assignment.getMeshes()[mesh]);
  auto isNamed = [&](TaskGraphOp taskgraph) {
    return taskgraph.getSymNameAttr() == work.getTaskgraph().getAttr();
  };
  if (!work || own.empty() || llvm::any_of(own, isNamed))
    return;
  auto name = FlatSymbolRefAttr::get(own.front().getSymNameAttr());
  op->setAttr(EplDialect::kWorkAttr, WorkAttr::get(op->getContext(), name, work.getKind()));
}

/// The work of what is sent is that of its maker.
void MeshSplitter::setWork(Operation *op, Operation *maker, unsigned mesh) {
  if (Attribute work = maker->getAttr(EplDialect::kWorkAttr))
    op->setAttr(EplDialect::kWorkAttr, work);
  setWork(op, mesh);
}

/// Clones `op`, and before it those ops that it reads and that every mesh makes for itself.
void MeshSplitter::cloneOp(Operation *op, Clone &clone) {
  for (Value value : getUsedValues(op))
    getClone(value, clone);
  setWork(clone.builder.clone(*op, clone.mapping), clone.mesh);
  ++numClones;
}

/// What a value is in the function. What an iteration receives is cut where it is read first: what stands
/// before that may be sent before it comes.
Value MeshSplitter::getClone(Value value, Clone &clone) {
  if (Value known = clone.mapping.lookupOrNull(value))
    return known;
  Operation *producer = value.getDefiningOp();
  Value all = clone.received.lookup(value);
  if (!all) {
    cloneOp(producer, clone);
    return clone.mapping.lookup(value);
  }
  auto slice = LoopSliceOp::create(clone.builder, value.getLoc(), value.getType(), getMicroLoop(value),
                                   /*reverse=*/UnitAttr(), all);
  setWork(slice, producer, clone.mesh);
  clone.mapping.map(value, slice);
  return slice;
}

/// All ops of the loop's iterations are written. What they send leaves the loop.
void MeshSplitter::leave(LoopAttr loop, Clone &clone) {
  for (Operation &op : body)
    if (leavesLoop(&op) && getEdgeLoop(&op) == loop && assignment.getMesh(&op) == clone.mesh)
      getClone(op.getOperand(0), clone);
  for (const Channel &channel : channels) {
    Value value = channel.value;
    if (channel.from != clone.mesh || getMicroLoop(value) != loop || clone.sent.contains(value))
      continue;
    auto stack = LoopStackOp::create(clone.builder, value.getLoc(), getChannelType(value), loop,
                                     /*reverse=*/UnitAttr(), clone.mapping.lookup(value));
    setWork(stack, value.getDefiningOp(), clone.mesh);
    clone.sent[value] = stack;
  }
}

/// In the old order: nothing of a loop stands behind what leaves it, on any mesh.
void MeshSplitter::writeBody(Clone &clone) {
  DenseSet<LoopAttr> left;
  for (Operation &op : body.without_terminator()) {
    if (LoopAttr loop = getEdgeLoop(&op);
        isOfMicroBatches(loop) && leavesLoop(&op) && left.insert(loop).second)
      leave(loop, clone);
    if (!assignment.isRematerialized(&op) && assignment.getMesh(&op) == clone.mesh)
      cloneOp(&op, clone);
  }
}

FailureOr<func::FuncOp> MeshSplitter::declare(unsigned mesh, const Signature &signature) {
  MeshOp own = assignment.getMeshes()[mesh];
  std::string name = (function.getSymName() + "." + own.getSymName()).str();
  if (Operation *taken = function->getParentOfType<ModuleOp>().lookupSymbol(name))
    return emitError(taken->getLoc())
           << "symbol \"" << name << "\" is taken, expected it free for what is done on mesh \""
           << own.getSymName() << "\"";
  LDBG() << name << ": " << signature.arguments.size() << " arguments, " << signature.results.size()
         << " results";
  ++numFunctions;
  auto type = builder.getFunctionType(signature.argumentTypes, signature.resultTypes);
  auto made = func::FuncOp::create(builder, function.getLoc(), name, type);
  made->setDiscardableAttrs(function->getDiscardableAttrDictionary());
  made->setAttr(EplDialect::kMeshAttr, FlatSymbolRefAttr::get(own.getSymNameAttr()));
  made.setAllArgAttrs(signature.argumentAttrs);
  made.setAllResultAttrs(signature.resultAttrs);
  return made;
}

LogicalResult MeshSplitter::write(unsigned mesh) {
  Signature signature = getSignature(mesh);
  FailureOr<func::FuncOp> made = declare(mesh, signature);
  if (failed(made))
    return failure();
  Block &block = *made->addEntryBlock();
  Clone clone{mesh, OpBuilder::atBlockEnd(&block)};
  for (auto [old, argument] : llvm::zip_equal(signature.arguments, block.getArguments())) {
    argument.setLoc(old.getLoc());
    if (getMicroLoop(old))
      clone.received[old] = argument;
    else
      clone.mapping.map(old, argument);
  }
  writeBody(clone);
  auto results = llvm::map_to_vector(signature.results, [&](Value value) {
    Value all = clone.sent.lookup(value);
    return all ? all : getClone(value, clone);
  });
  func::ReturnOp::create(clone.builder, body.getTerminator()->getLoc(), results);
  return success();
}

LogicalResult MeshSplitter::run() {
  if (failed(findChannels()))
    return failure();
  findBatchDims();
  for (unsigned mesh = 0; mesh < assignment.getMeshes().size(); ++mesh)
    if (failed(write(mesh)))
      return failure();
  function.erase();
  return success();
}

namespace {
struct SplitMeshes : epl::impl::SplitMeshesPassBase<SplitMeshes> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (llvm::range_size(module.getOps<MeshOp>()) < 2)
      return;
    FailureOr<SmallVector<func::FuncOp>> functions = getGlobalFunctions(module);
    if (failed(functions))
      return signalPassFailure();
    for (func::FuncOp function : *functions)
      if (!function->hasAttr(EplDialect::kMeshAttr) && failed(split(function)))
        return signalPassFailure();
  }

  static LogicalResult split(func::FuncOp function) {
    MeshAssignment assignment(function);
    assignment.run();
    return MeshSplitter(function, assignment).run();
  }
};
} // namespace
