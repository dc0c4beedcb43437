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
//   of the channel has a dimension of micro-batches. Only a schedule says in which order these are sent, and
//   in which order the stages of a mesh are done: each makes for itself what every reader makes again.
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
#include "passes/shard/analysis/Rules.h"
#include "passes/shard/prepare/MeshSignatures.h"

#include "mlir/IR/IRMapping.h"

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
/// The function of one mesh while its ops are cloned.
struct Clone {
  unsigned mesh;
  OpBuilder builder;
  IRMapping mapping{};
  DenseMap<Attribute, IRMapping> made{}; ///< by iterations for each task graph again
  DenseMap<Value, Value> received{};     ///< all iterations' of a value that each receives
  DenseMap<Value, Value> sent{};         ///< all iterations' of a value that each sends
};

/// Deals one function out to the meshes.
class MeshSplitter {
public:
  MeshSplitter(func::FuncOp function, const MeshAssignment &assignment, const MeshSignatures &signatures)
      : function(function), body(function.front()), loops(body), assignment(assignment),
        signatures(signatures), builder(function) {}

  LogicalResult run();

private:
  LogicalResult write(unsigned mesh);
  FailureOr<func::FuncOp> declare(unsigned mesh, const Signature &signature);
  void writeBody(Clone &clone);
  Value getClone(Value value, FlatSymbolRefAttr taskgraph, Clone &clone);
  void cloneOp(Operation *op, FlatSymbolRefAttr taskgraph, Clone &clone);
  void leave(LoopAttr loop, Clone &clone);
  /// Whether each task graph that reads what an op makes does so itself.
  bool isOfReader(Operation *op) const {
    return assignment.isRematerialized(op) && isOfMicroBatches(loops.getLoop(op));
  }
  FlatSymbolRefAttr getTaskGraph(Operation *op, FlatSymbolRefAttr reader, unsigned mesh);
  void setWork(Operation *op, Operation *maker, FlatSymbolRefAttr taskgraph);

  func::FuncOp function;
  Block &body;
  Loops loops;
  const MeshAssignment &assignment;
  const MeshSignatures &signatures;
  OpBuilder builder;
};
} // namespace

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// The task graph of this mesh that does an op: its own; if that is of another mesh, `reader`'s; else the
/// first. Null for an op without work.
FlatSymbolRefAttr MeshSplitter::getTaskGraph(Operation *op, FlatSymbolRefAttr reader, unsigned mesh) {
  auto work = op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr);
  SmallVector<TaskGraphOp> own = getTaskGraphs(assignment.getMeshes()[mesh]);
  auto isNamed = [&](TaskGraphOp taskgraph) {
    return taskgraph.getSymNameAttr() == work.getTaskgraph().getAttr();
  };
  if (!work || own.empty() || llvm::any_of(own, isNamed))
    return work ? work.getTaskgraph() : FlatSymbolRefAttr();
  return reader ? reader : FlatSymbolRefAttr::get(own.front().getSymNameAttr());
}

/// `op` does the work of `maker`, in a task graph of this mesh.
void MeshSplitter::setWork(Operation *op, Operation *maker, FlatSymbolRefAttr taskgraph) {
  if (auto work = maker->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr); work && taskgraph)
    op->setAttr(EplDialect::kWorkAttr, WorkAttr::get(op->getContext(), taskgraph, work.getKind()));
}

/// Clones `op`, and before it those ops that it reads and that every reader makes for itself.
void MeshSplitter::cloneOp(Operation *op, FlatSymbolRefAttr taskgraph, Clone &clone) {
  IRMapping values;
  for (Value value : getUsedValues(op))
    values.map(value, getClone(value, taskgraph, clone));
  Operation *made = clone.builder.clone(*op, values);
  setWork(made, op, taskgraph);
  (isOfReader(op) ? clone.made[taskgraph] : clone.mapping).map(op->getResults(), made->getResults());
  ++numClones;
}

/// What a value is in the function, for a reader in `taskgraph`. What an iteration receives is cut where it
/// is read first: what stands before that may be sent before it comes.
Value MeshSplitter::getClone(Value value, FlatSymbolRefAttr taskgraph, Clone &clone) {
  if (Value known = clone.mapping.lookupOrNull(value))
    return known;
  if (Value known = clone.made[taskgraph].lookupOrNull(value))
    return known;
  Operation *producer = value.getDefiningOp();
  Value all = clone.received.lookup(value);
  if (!all) {
    cloneOp(producer, isOfReader(producer) ? taskgraph : getTaskGraph(producer, taskgraph, clone.mesh),
            clone);
    return getClone(value, taskgraph, clone);
  }
  auto slice =
      LoopSliceOp::create(clone.builder, value.getLoc(), value.getType(), signatures.getMicroLoop(value),
                          /*reverse=*/UnitAttr(), all);
  setWork(slice, producer, getTaskGraph(producer, taskgraph, clone.mesh));
  clone.mapping.map(value, slice);
  return slice;
}

/// All ops of the loop's iterations are written. What they send leaves the loop.
void MeshSplitter::leave(LoopAttr loop, Clone &clone) {
  for (Operation &op : body)
    if (leavesLoop(&op) && getEdgeLoop(&op) == loop && assignment.getMesh(&op) == clone.mesh)
      getClone(op.getOperand(0), getTaskGraph(&op, {}, clone.mesh), clone);
  for (const Channel &channel : signatures.getChannels()) {
    Value value = channel.value;
    if (channel.from != clone.mesh || signatures.getMicroLoop(value) != loop || clone.sent.contains(value))
      continue;
    auto stack = LoopStackOp::create(clone.builder, value.getLoc(), signatures.getChannelType(value), loop,
                                     /*reverse=*/UnitAttr(), clone.mapping.lookup(value));
    setWork(stack, value.getDefiningOp(), getTaskGraph(value.getDefiningOp(), {}, clone.mesh));
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
      cloneOp(&op, getTaskGraph(&op, {}, clone.mesh), clone);
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
  Signature signature = signatures.getSignature(mesh);
  FailureOr<func::FuncOp> made = declare(mesh, signature);
  if (failed(made))
    return failure();
  Block &block = *made->addEntryBlock();
  Clone clone{mesh, OpBuilder::atBlockEnd(&block)};
  for (auto [old, argument] : llvm::zip_equal(signature.arguments, block.getArguments())) {
    argument.setLoc(old.getLoc());
    if (signatures.getMicroLoop(old))
      clone.received[old] = argument;
    else
      clone.mapping.map(old, argument);
  }
  writeBody(clone);
  auto results = llvm::map_to_vector(signature.results, [&](Value value) {
    Value all = clone.sent.lookup(value);
    return all ? all : getClone(value, {}, clone);
  });
  func::ReturnOp::create(clone.builder, body.getTerminator()->getLoc(), results);
  return success();
}

LogicalResult MeshSplitter::run() {
  for (unsigned mesh = 0; mesh < assignment.getMeshes().size(); ++mesh)
    if (failed(write(mesh)))
      return failure();
  function.erase();
  return success();
}

namespace {
struct SplitMeshes : epl::impl::SplitMeshesPassBase<SplitMeshes> {
  void runOnOperation() override {
    FailureOr<SmallVector<func::FuncOp>> functions = getUndealtFunctions(getOperation());
    if (failed(functions))
      return signalPassFailure();
    for (func::FuncOp function : *functions)
      if (failed(split(function)))
        return signalPassFailure();
  }

  static LogicalResult split(func::FuncOp function) {
    MeshAssignment assignment(function);
    assignment.run();
    FailureOr<MeshSignatures> signatures = MeshSignatures::create(function, assignment);
    return failed(signatures) ? failure() : MeshSplitter(function, assignment, *signatures).run();
  }
};
} // namespace
