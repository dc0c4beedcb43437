//===- FormTasks.cpp - From local ops to tasks between collectives --------===//
//
// Problem: the schedulable units are hidden in a flat list of ops and collectives.
// Method: walk the ops in program order and keep, for every task and collective so far, the set of those that
// it depends on. An op joins the first task of its work that nothing it reads depends on, or begins a new
// one: so the graph stays acyclic, and an op that needs no collective is not held behind one. Tasks of one
// work thus form a chain, each behind a collective that the one before does not need; what is done in the
// turns of a loop stands in tasks of its own, with what enters and leaves it around them. What is free to
// make again (scalars, constants, fills, broadcasts and reshapes) belongs to no task: every user gets a
// clone. In: the output of `epl-localize`. Out: tasks and collectives only, in dependency order, on
// `!epl.dist`. Reference: docs/design.md, 4.4.
//
//===----------------------------------------------------------------------===//

#include "dialect/Loops.h"
#include "dialect/Sharding.h"
#include "passes/shard/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/BitVector.h"

namespace mlir::epl {
#define GEN_PASS_DEF_FORMTASKSPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

//===----------------------------------------------------------------------===//
// What the ops are to a task
//===----------------------------------------------------------------------===//

static bool isCast(Operation *op) { return isa<ToLocalOp, FromLocalOp>(op); }

/// Whether the op copies elements to more places than it reads them from: a fill or a broadcast.
static bool isSpread(linalg::LinalgOp op) {
  auto getSize = [](Value value) {
    auto tensor = dyn_cast<RankedTensorType>(value.getType());
    return tensor ? tensor.getNumElements() : 0;
  };
  return op.getNumReductionLoops() == 0 && op.getBlock()->without_terminator().empty() &&
         llvm::all_of(op.getDpsInputs(),
                      [&](Value in) { return getSize(in) < getSize(op.getDpsInits()[0]); });
}

/// Whether making the op's results again costs no more than reading them.
static bool isFree(Operation *op) {
  if (isa<tensor::EmptyOp, arith::ConstantOp>(op))
    return true;
  if (isCast(op) || standsBetweenTasks(op) || !isMemoryEffectFree(op))
    return false;
  if (isa<tensor::CastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp, tensor::SplatOp>(op) ||
      llvm::none_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType, DistType>))
    return true;
  auto generic = dyn_cast<linalg::LinalgOp>(op);
  return generic && isSpread(generic) && llvm::all_of(generic.getDpsInits(), [](Value init) {
           return init.getDefiningOp() && isFree(init.getDefiningOp());
         });
}

/// A free op whose result leaves the tasks as it is must stand in one all the same.
static bool isMaterialized(Operation *op) { return llvm::any_of(op->getUsers(), llvm::IsaPred<FromLocalOp>); }

/// All values from outside that `op` uses, those of its regions included.
static SetVector<Value> getUsedValues(Operation *op) {
  SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  return values;
}

//===----------------------------------------------------------------------===//
// The partition
//===----------------------------------------------------------------------===//

namespace {
/// A task to be, or one op that stands between tasks.
struct Node {
  WorkAttr work; ///< null: no task
  LoopAttr loop; ///< in whose turns it is done, or null
  SmallVector<Operation *> ops;
  llvm::BitVector ancestors; ///< the nodes that it depends on, directly or not
};

/// Which op goes into which task.
class Partition {
public:
  explicit Partition(Block &body) : loops(body) {
    size_t limit = body.getOperations().size();
    for (Operation &op : body.without_terminator())
      if (standsBetweenTasks(&op) || (!isCast(&op) && (!isFree(&op) || isMaterialized(&op))))
        insert(&op, limit);
  }

  /// The nodes in dependency order, those of a loop together, and where it leaves a choice in the order of
  /// their first ops. A node has more ancestors than each of its ancestors, and so has a loop, of which all
  /// nodes count as one.
  SmallVector<unsigned> getOrder() const {
    DenseMap<LoopAttr, NodeKey> groups = getLoopKeys();
    auto key = [&](unsigned index) {
      NodeKey own(nodes[index].ancestors.count(), index);
      return std::pair(nodes[index].loop ? groups.lookup(nodes[index].loop) : own, own);
    };
    SmallVector<unsigned> order = llvm::to_vector(llvm::seq<unsigned>(0, nodes.size()));
    llvm::sort(order, [&](unsigned a, unsigned b) { return key(a) < key(b); });
    return order;
  }

  const Node &getNode(unsigned index) const { return nodes[index]; }

  /// Whether node `index` must hand out `value`. A free user is a part of its users.
  bool isUsedOutside(Value value, unsigned index) const {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      Operation *op = value.getParentBlock()->findAncestorOpInBlock(*user);
      if (isa<FromLocalOp>(op))
        return true;
      if (isFree(op))
        return llvm::any_of(op->getResults(), [&](Value made) { return isUsedOutside(made, index); });
      return nodeOf.at(op) != index;
    });
  }

private:
  using NodeKey = std::pair<unsigned, unsigned>; ///< the number of ancestors, then the position

  /// Of each loop the number of nodes that it depends on as a whole, and its first node.
  DenseMap<LoopAttr, NodeKey> getLoopKeys() const {
    llvm::MapVector<LoopAttr, llvm::BitVector> ancestors;
    DenseMap<LoopAttr, NodeKey> keys;
    for (auto [index, node] : llvm::enumerate(nodes))
      if (node.loop) {
        ancestors[node.loop] |= node.ancestors;
        keys.try_emplace(node.loop, 0, index);
      }
    for (auto [index, node] : llvm::enumerate(nodes))
      if (node.loop)
        ancestors[node.loop].reset(index);
    for (auto &[loop, all] : ancestors)
      keys[loop].first = all.count();
    return keys;
  }

  void insert(Operation *op, size_t limit) {
    llvm::BitVector producers(limit);
    addProducers(op, producers);
    if (leavesLoop(op))
      addTurn(getEdgeLoop(op), producers);
    unsigned index = chooseNode(op, producers);
    nodeOf[op] = index;
    nodes[index].ops.push_back(op);
    addDependencies(index, producers);
  }

  /// The nodes that make what `op` reads, seen through casts and free ops.
  void addProducers(Operation *op, llvm::BitVector &producers) const {
    for (Value value : getUsedValues(op)) {
      Operation *producer = value.getDefiningOp();
      if (!producer)
        continue;
      bool isTransparent = isCast(producer) || (isFree(producer) && !isa<FromLocalOp>(op));
      if (isTransparent)
        addProducers(producer, producers);
      else
        producers.set(nodeOf.at(producer));
    }
  }

  /// A loop is left when the whole of its last turn is done. What follows thus joins no task before it.
  void addTurn(LoopAttr loop, llvm::BitVector &producers) const {
    for (auto [index, node] : llvm::enumerate(nodes))
      if (node.loop == loop && !(node.ops.size() == 1 && leavesLoop(node.ops.front())))
        producers.set(index);
  }

  /// The first task of the op's work that none of `producers` depends on, or a new node.
  unsigned chooseNode(Operation *op, const llvm::BitVector &producers) {
    WorkAttr work = standsBetweenTasks(op) ? WorkAttr() : op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr);
    for (unsigned index = 0; work && index < nodes.size(); ++index) {
      auto dependsOnIt = [&](unsigned producer) { return nodes[producer].ancestors.test(index); };
      if (nodes[index].work == work && nodes[index].loop == loops.getLoop(op) &&
          llvm::none_of(producers.set_bits(), dependsOnIt))
        return index;
    }
    nodes.push_back({work, loops.getLoop(op), {}, llvm::BitVector(producers.size())});
    return nodes.size() - 1;
  }

  /// Node `index` now depends on `producers`; what depends on it does so too.
  void addDependencies(unsigned index, const llvm::BitVector &producers) {
    llvm::BitVector ancestors = producers;
    for (unsigned producer : producers.set_bits())
      ancestors |= nodes[producer].ancestors;
    ancestors.reset(index);
    for (Node &node : nodes)
      if (&node == &nodes[index] || node.ancestors.test(index))
        node.ancestors |= ancestors;
  }

  Loops loops;
  std::vector<Node> nodes;
  DenseMap<Operation *, unsigned> nodeOf;
};

//===----------------------------------------------------------------------===//
// The tasks
//===----------------------------------------------------------------------===//

/// Writes tasks and collectives to the end of the function's block.
class TaskWriter {
public:
  explicit TaskWriter(Block &body) : partition(body), builder(body.getTerminator()) {}

  void run(Block &body) {
    SmallVector<Operation *> old =
        llvm::map_to_vector(body.without_terminator(), [](Operation &op) { return &op; });
    for (unsigned index : partition.getOrder())
      partition.getNode(index).work ? writeTask(index)
                                    : writeCollective(partition.getNode(index).ops.front());
    for (OpOperand &operand : body.getTerminator()->getOpOperands())
      operand.set(getDist(operand.get()));
    for (Operation *op : llvm::reverse(old))
      if (!standsBetweenTasks(op))
        op->erase();
  }

private:
  /// The distributed value that a value of the old body is, or is a part of.
  Value getDist(Value value) {
    while (Operation *op = value.getDefiningOp()) {
      if (!isCast(op))
        break;
      value = op->getOperand(0);
    }
    Value written = results.lookup(value);
    return written ? written : value;
  }

  void writeCollective(Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      operand.set(getDist(operand.get()));
    op->moveBefore(builder.getInsertionBlock(), builder.getInsertionPoint());
  }

  void writeTask(unsigned index) {
    const Node &node = partition.getNode(index);
    SmallVector<Value> yielded = getYielded(index);
    auto types = llvm::map_to_vector(yielded, [](Value value) -> Type { return getDistType(value); });
    auto task = TaskOp::create(builder, node.ops.front()->getLoc(), types, node.work, ValueRange());
    OpBuilder bodyBuilder = OpBuilder::atBlockEnd(&task.getBody().emplaceBlock());
    IRMapping locals;
    for (Operation *op : node.ops)
      cloneInto(task, bodyBuilder, op, locals);
    YieldOp::create(bodyBuilder, task.getLoc(),
                    llvm::map_to_vector(yielded, [&](Value value) { return locals.lookup(value); }));
    for (auto [value, result] : llvm::zip(yielded, task.getResults()))
      results[value] = result;
  }

  /// The values that a task hands out: of a free op all, or it would not be in a task.
  SmallVector<Value> getYielded(unsigned index) const {
    SmallVector<Value> yielded;
    for (Operation *op : partition.getNode(index).ops)
      for (Value result : op->getResults())
        if (isFree(op) || partition.isUsedOutside(result, index))
          yielded.push_back(result);
    return yielded;
  }

  static DistType getDistType(Value local) {
    ShardingAttr sharding = getSharding(local);
    MeshOp mesh = lookupMesh(local.getDefiningOp(), sharding.getMesh());
    return DistType::get(local.getContext(),
                         getGlobalType(mesh, sharding, cast<RankedTensorType>(local.getType())), sharding);
  }

  /// Clones `op` and the free ops that it uses; all else that it uses enters by an argument.
  void cloneInto(TaskOp task, OpBuilder &bodyBuilder, Operation *op, IRMapping &locals) {
    for (Value value : getUsedValues(op)) {
      if (locals.contains(value))
        continue;
      Operation *producer = value.getDefiningOp();
      if (producer && isFree(producer)) {
        cloneInto(task, bodyBuilder, producer, locals);
        continue;
      }
      task.getInputsMutable().append(getDist(value));
      locals.map(value, task.getBody().front().addArgument(value.getType(), value.getLoc()));
    }
    Operation *clone = bodyBuilder.clone(*op, locals);
    clone->removeDiscardableAttr(EplDialect::kWorkAttr);
    clone->removeDiscardableAttr(EplDialect::kShardingAttr);
  }

  Partition partition;
  OpBuilder builder;
  DenseMap<Value, Value> results; ///< values of the old body and the task results that they became
};
} // namespace

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// An op that will be in a task says for which work, and what its tensors are parts of.
static LogicalResult verifyStamped(Operation &op) {
  if (isCast(&op) || standsBetweenTasks(&op) || (isFree(&op) && !isMaterialized(&op)))
    return success();
  for (StringRef name : {EplDialect::kWorkAttr, EplDialect::kShardingAttr})
    if (!op.hasAttr(name))
      return op.emitOpError() << "has no \"" << name << "\"";
  for (Type type : op.getResultTypes())
    if (!isa<RankedTensorType>(type))
      return op.emitOpError() << "makes a value of type " << type << ", expected tensors only";
  return success();
}

static LogicalResult formTasks(func::FuncOp function) {
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    if (!isa<DistType>(type))
      return function.emitOpError() << "argument " << index << " is " << type << ", expected an !epl.dist";
  Block &body = function.front();
  for (Operation &op : body.without_terminator())
    if (failed(verifyStamped(op)))
      return failure();
  for (auto [index, type] : llvm::enumerate(body.getTerminator()->getOperandTypes()))
    if (!isa<DistType>(type))
      return function.emitOpError() << "result " << index << " is " << type << ", expected an !epl.dist";
  TaskWriter(body).run(body);
  return success();
}

namespace {
struct FormTasksPass : epl::impl::FormTasksPassBase<FormTasksPass> {
  void runOnOperation() override {
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && failed(formTasks(function)))
        return signalPassFailure();
  }
};
} // namespace
