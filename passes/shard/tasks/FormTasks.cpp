//===- FormTasks.cpp - From local ops to tasks between collectives --------===//
//
// Problem: what can be scheduled is hidden in a flat list of ops and collectives.
// Method: walk the ops in program order, and keep for every task and collective so far the set of those that
// it depends on. An op joins the first task of its work that does not have to wait for something the op
// reads; if there is none it begins a new task. So the graph stays acyclic, and an op that needs no
// collective does not wait for one:
//
//   forward   a ── all_reduce ── b, of a's sum          task 1: a, c     task 2: b
//             c, of the batch alone
//
// Tasks of one work form a chain in this way, each behind a collective that the one before does not need.
// What is done in the iterations of a loop, or in one branch only, has tasks of its own. What costs nothing
// to compute again (scalars, constants, fills, broadcasts, reshapes) belongs to no task: every user has a
// copy (TaskPartition.cpp).
//
// Invariant in: the output of `epl-localize`. Invariant out: tasks and collectives only, in dependency
// order, on `!epl.dist`. Reference: docs/design.md, 4.4.
//
//===----------------------------------------------------------------------===//

#include "dialect/Sharding.h"
#include "dialect/SourceLocation.h"
#include "passes/shard/Passes.h"
#include "passes/shard/analysis/Rules.h"
#include "passes/shard/tasks/TaskPartition.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-form-tasks"

namespace mlir::epl {
#define GEN_PASS_DEF_FORMTASKSPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numTasks, "Tasks");
ALWAYS_ENABLED_STATISTIC(numOps, "Ops in them, copies of free ones not counted");

//===----------------------------------------------------------------------===//
// The tasks
//===----------------------------------------------------------------------===//

namespace {
/// Writes tasks and collectives to the end of the function's block.
class TaskWriter {
public:
  explicit TaskWriter(Block &body) : partition(body), builder(body.getTerminator()) {}

  LogicalResult run(Block &body) {
    SmallVector<Operation *> old =
        llvm::map_to_vector(body.without_terminator(), [](Operation &op) { return &op; });
    SmallVector<unsigned> left; // of the current loop
    LoopAttr loop;
    SmallVector<unsigned> order = partition.getOrder();
    for (auto [place, index] : llvm::enumerate(order)) {
      const TaskNode &node = partition.getNode(index);
      if (place == 0 || !node.loop || getOutermost(node.loop) != getOutermost(loop))
        writeArguments(ArrayRef(order).drop_front(place));
      if (node.loop != loop)
        llvm::for_each(std::exchange(left, {}), [&](unsigned maker) { writePredicates(maker); });
      loop = node.loop;
      setGuards(node.work ? writeTask(index) : writeCollective(node.ops.front()), node.guard);
      if (leavesLoop(node.ops.front())) // What is no part of the loop stands behind it.
        left.push_back(index);
      else
        writePredicates(index);
    }
    for (OpOperand &operand : body.getTerminator()->getOpOperands())
      operand.set(getDist(operand.get()));
    for (Operation *op : llvm::reverse(old)) {
      if (standsBetweenTasks(op))
        continue;
      if (!op->use_empty()) // by what stands before the task that makes it
        return op->emitOpError() << "makes what is read before it, by " << describeOp(*op->user_begin())
                                 << ": the order of channels asks for both";
      op->erase();
    }
    return success();
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

  static LoopAttr getOutermost(LoopAttr loop) { return loop && loop.getOuter() ? loop.getOuter() : loop; }

  void writePredicate(Value predicate) {
    PredicateOp::create(builder, predicate.getLoc(), partition.getNumber(predicate), getDist(predicate));
  }

  /// Numbers the predicates that node `maker` has made.
  void writePredicates(unsigned maker) {
    for (Value predicate : partition.getPredicates())
      if (partition.findMaker(predicate) == maker)
        writePredicate(predicate);
  }

  /// Numbers the predicates that are arguments and guard the first of `nodes`, or the loop which that begins:
  /// no sooner, since one that is received may come late, behind what else is received here.
  void writeArguments(ArrayRef<unsigned> nodes) {
    LoopAttr loop = getOutermost(partition.getNode(nodes.front()).loop);
    auto isInLoop = [&](unsigned node) { return loop && getOutermost(partition.getNode(node).loop) == loop; };
    for (unsigned index : nodes) {
      if (index != nodes.front() && !isInLoop(index))
        return;
      for (Literal literal : partition.getNode(index).guard)
        if (!partition.findMaker(literal.predicate) && numbered.insert(literal.predicate).second)
          writePredicate(literal.predicate);
    }
  }

  void setGuards(Operation *op, ArrayRef<Literal> guard) {
    auto toAttr = [&](Literal literal) -> Attribute {
      return GuardAttr::get(op->getContext(), partition.getNumber(literal.predicate), literal.expected);
    };
    if (!guard.empty())
      op->setAttr(EplDialect::kGuardsAttr, builder.getArrayAttr(llvm::map_to_vector(guard, toAttr)));
  }

  Operation *writeCollective(Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      operand.set(getDist(operand.get()));
    op->moveBefore(builder.getInsertionBlock(), builder.getInsertionPoint());
    return op;
  }

  Operation *writeTask(unsigned index) {
    const TaskNode &node = partition.getNode(index);
    SmallVector<Value> yielded = getYielded(index);
    auto types = llvm::map_to_vector(yielded, [](Value value) -> Type { return getDistType(value); });
    LDBG() << "task of " << node.ops.size() << " ops for " << node.work;
    ++numTasks;
    numOps += node.ops.size();
    auto task = TaskOp::create(builder, node.ops.front()->getLoc(), types, node.work, ValueRange());
    OpBuilder bodyBuilder = OpBuilder::atBlockEnd(&task.getBody().emplaceBlock());
    IRMapping locals;
    for (Operation *op : node.ops)
      cloneInto(task, bodyBuilder, op, locals);
    YieldOp::create(bodyBuilder, task.getLoc(),
                    llvm::map_to_vector(yielded, [&](Value value) { return locals.lookup(value); }));
    for (auto [value, result] : llvm::zip(yielded, task.getResults()))
      results[value] = result;
    return task;
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

  TaskPartition partition;
  OpBuilder builder;
  DenseMap<Value, Value> results; ///< values of the old body and the task results that they became
  DenseSet<Value> numbered;       ///< predicates that are arguments
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
  for (Value result : op.getResults()) {
    if (!isa<RankedTensorType>(result.getType()))
      return op.emitOpError() << "makes a value of type " << result.getType() << ", expected tensors only";
    ShardingAttr sharding = getSharding(result);
    if (!sharding)
      return op.emitOpError() << "has no sharding for each of its results";
    if (failed(verifyOnMesh(&op, sharding, cast<RankedTensorType>(result.getType()).getRank(), "a result")))
      return failure();
  }
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
  return TaskWriter(body).run(body);
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
