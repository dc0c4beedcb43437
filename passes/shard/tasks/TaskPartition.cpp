//===- TaskPartition.cpp - Which op goes into which task ------------------===//

#include "passes/shard/tasks/TaskPartition.h"

#include "dialect/Channels.h"
#include "dialect/Sharding.h"
#include "passes/shard/analysis/ShardableOp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::epl;

//===----------------------------------------------------------------------===//
// What the ops are to a task
//===----------------------------------------------------------------------===//

bool mlir::epl::isCast(Operation *op) { return isa<ToLocalOp, FromLocalOp>(op); }

Value mlir::epl::skipCasts(Value value) {
  while (value.getDefiningOp() && isCast(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

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

bool mlir::epl::isFree(Operation *op) {
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

bool mlir::epl::isMaterialized(Operation *op) {
  return llvm::any_of(op->getUsers(), llvm::IsaPred<FromLocalOp>);
}

/// Whether the op is no elementwise work, which costs little beside a selection that reads its result.
static bool isWorthGuarding(Operation *op) {
  auto generic = dyn_cast<linalg::LinalgOp>(op);
  auto model = dyn_cast<ShardableOp>(op);
  return standsBetweenTasks(op) || (model && model.isWorthSkipping()) ||
         (generic && generic.getNumReductionLoops() > 0);
}

//===----------------------------------------------------------------------===//
// The partition
//===----------------------------------------------------------------------===//

TaskPartition::TaskPartition(Block &body) : loops(body), branches(body) {
  findWork(body);
  findChannels(body);
  size_t limit = body.getOperations().size() + received.size();
  for (Operation &op : body.without_terminator())
    if (leavesLoop(&op))
      leaving[getEdgeLoop(&op)].push_back(&op);
  for (Operation &op : body.without_terminator())
    visit(&op, limit);
}

/// Inserts an op behind those that it depends on. What leaves a loop depends on all that does.
void TaskPartition::visit(Operation *op, size_t limit) {
  if (!visited.insert(op).second)
    return;
  auto visitProducers = [&](Operation *reader) {
    for (Value value : getUsedValues(reader))
      if (Operation *producer = value.getDefiningOp())
        visit(producer, limit);
  };
  visitProducers(op);
  if (leavesLoop(op))
    llvm::for_each(leaving[getEdgeLoop(op)], visitProducers);
  if (standsBetweenTasks(op) || (!isCast(op) && (!isFree(op) || isMaterialized(op))))
    insert(op, limit);
}

SmallVector<unsigned> TaskPartition::getOrder() const {
  DenseMap<LoopAttr, NodeKey> groups = getLoopKeys();
  auto key = [&](unsigned index) { // of the outer loop, of the inner one, of the node
    NodeKey own(nodes[index].ancestors.count(), index);
    LoopAttr loop = nodes[index].loop, outer = loop ? loop.getOuter() : LoopAttr();
    NodeKey inner = loop ? groups.lookup(loop) : own;
    return outer ? std::tuple(groups.lookup(outer), inner, own) : std::tuple(inner, own, own);
  };
  auto hasOps = [&](unsigned index) { return !nodes[index].ops.empty(); };
  SmallVector<unsigned> order = llvm::filter_to_vector(llvm::seq<unsigned>(0, nodes.size()), hasOps);
  llvm::sort(order, [&](unsigned a, unsigned b) { return key(a) < key(b); });
  return order;
}

/// The op that makes the values behind casts; null for an argument.
static Operation *getMaker(Value value) { return skipCasts(value).getDefiningOp(); }

std::optional<unsigned> TaskPartition::findMaker(Value predicate) const {
  Operation *maker = getMaker(predicate);
  return maker ? std::optional(nodeOf.at(maker)) : std::nullopt;
}

bool TaskPartition::isUsedOutside(Value value, unsigned index) const {
  llvm::SetVector<Value> carried; // the value and what free ops make of it, each once
  carried.insert(value);
  for (size_t i = 0; i < carried.size(); ++i) {
    if (predicates.contains(carried[i]))
      return true;
    for (Operation *user : carried[i].getUsers()) {
      Operation *op = value.getParentBlock()->findAncestorOpInBlock(*user);
      if (isa<FromLocalOp>(op) || (!isFree(op) && nodeOf.at(op) != index))
        return true;
      if (isFree(op))
        carried.insert_range(op->getResults());
    }
  }
  return false;
}

/// Of each loop the number of nodes that it depends on as a whole, and its first node.
DenseMap<LoopAttr, TaskPartition::NodeKey> TaskPartition::getLoopKeys() const {
  llvm::MapVector<LoopAttr, llvm::BitVector> ancestors;
  DenseMap<LoopAttr, NodeKey> keys;
  for (auto [index, node] : llvm::enumerate(nodes))
    for (LoopAttr loop = node.loop; loop; loop = loop.getOuter()) {
      ancestors[loop] |= node.ancestors;
      keys.try_emplace(loop, 0, index);
    }
  for (auto [index, node] : llvm::enumerate(nodes))
    for (LoopAttr loop = node.loop; loop; loop = loop.getOuter())
      ancestors[loop].reset(index);
  for (auto &[loop, all] : ancestors)
    keys[loop].first = all.count();
  return keys;
}

/// Where one side is worth it both are: what the other one costs would be paid in any case otherwise.
void TaskPartition::findWork(Block &body) {
  for (Operation &op : body.without_terminator())
    if (!branches.empty() && isWorthGuarding(&op))
      for (Literal literal : branches.getGuard(&op))
        if (Operation *maker = getMaker(literal.predicate); !maker || maker->isBeforeInBlock(&op))
          worthwhile.insert(literal.predicate);
}

/// Whether what comes next may wait for the predicate: it is there, and every member has the same.
bool TaskPartition::canGuard(Value predicate) const {
  Operation *maker = getMaker(predicate);
  auto cast = predicate.getDefiningOp<ToLocalOp>();
  ShardingAttr sharding = cast ? cast.getOperand().getType().getSharding() : getSharding(predicate);
  return (!maker || nodeOf.contains(maker)) && isArriving(predicate) && sharding && sharding.isReplicated();
}

/// Whether a predicate that is received may be waited for here: not before what other meshes wait for until
/// they send it.
bool TaskPartition::isArriving(Value predicate) const {
  predicate = skipCasts(predicate);
  auto own = received.find(predicate);
  if (own == received.end())
    return true;
  auto isDone = [&](Operation *op) { return nodeOf.contains(op); };
  for (auto [channel, maker] : sent)
    if (channel < own->second && !isDone(maker))
      return false;
  return llvm::all_of(getLoopsBefore(predicate), [&](LoopAttr loop) {
    auto ops = leaving.find(loop);
    return ops != leaving.end() && llvm::all_of(ops->second, isDone);
  });
}

SmallVector<Literal> TaskPartition::getGuard(Operation *op) const {
  SmallVector<Literal> guard = branches.getGuard(op);
  llvm::erase_if(guard, [&](Literal literal) {
    return !worthwhile.contains(literal.predicate) || !canGuard(literal.predicate);
  });
  return guard;
}

void TaskPartition::insert(Operation *op, size_t limit) {
  llvm::BitVector producers(limit);
  addProducers(op, producers);
  if (leavesLoop(op))
    addIteration(getEdgeLoop(op), producers);
  if (LoopAttr loop = getEdgeLoop(op); isOfMicroBatches(loop))
    addBefore(op, loop, producers);
  addBackwardBefore(op, producers);
  SmallVector<Literal> guard = getGuard(op);
  if (leavesLoop(op))
    llvm::erase_if(guard, [&](Literal literal) { return !dependsOn(producers, literal.predicate); });
  for (auto [predicate, expected] : guard) {
    predicates.insert(predicate);
    addProducer(predicate, producers);
  }
  unsigned index = chooseNode(op, guard, producers);
  nodeOf[op] = index;
  nodes[index].ops.push_back(op);
  addDependencies(index, producers);
}

/// Whether the nodes `producers`, or what they depend on, wait for `predicate`. All that leaves a loop does
/// so at one time: none of it may wait for what the loop does not, since what another one of it makes may be
/// read in the task that makes the predicate.
bool TaskPartition::dependsOn(const llvm::BitVector &producers, Value predicate) {
  llvm::BitVector makers(producers.size());
  addProducer(predicate, makers);
  for (unsigned producer : producers.set_bits()) {
    makers.reset(producer);
    makers.reset(nodes[producer].ancestors);
  }
  return makers.none();
}

/// The nodes that make what `op` reads, seen through casts and free ops.
void TaskPartition::addProducers(Operation *op, llvm::BitVector &producers) {
  llvm::SetVector<Operation *> readers; // the op and what it sees through, each once
  readers.insert(op);
  for (size_t i = 0; i < readers.size(); ++i) {
    Operation *reader = readers[i];
    for (Value value : getUsedValues(reader)) {
      Operation *producer = value.getDefiningOp();
      if (producer && (isCast(producer) || (isFree(producer) && !isa<FromLocalOp>(reader))))
        readers.insert(producer);
      else
        addProducer(value, producers);
    }
  }
}

/// The node that makes `value`, seen through casts.
void TaskPartition::addProducer(Value value, llvm::BitVector &producers) {
  Operation *producer = value.getDefiningOp();
  if (producer && isCast(producer))
    addProducers(producer, producers);
  else if (producer)
    producers.set(nodeOf.at(producer));
  else if (received.contains(value))
    producers.set(getReceive(cast<BlockArgument>(value), producers.size()));
}

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

void TaskPartition::findChannels(Block &body) {
  auto function = cast<FunctionOpInterface>(body.getParentOp());
  for (BlockArgument argument : body.getArguments())
    if (auto channel =
            function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), EplDialect::kChannelAttr))
      received[argument] = channel.getInt();
  for (auto [index, result] : llvm::enumerate(body.getTerminator()->getOperands()))
    if (auto channel = function.getResultAttrOfType<IntegerAttr>(index, EplDialect::kChannelAttr))
      if (Operation *maker = getMaker(result))
        sent.push_back({channel.getInt(), maker});
}

/// The node that stands for what comes by a channel. It depends on all that goes by channels of lower
/// numbers, since what comes may be made of that: no task makes the one and reads the other. What iterations
/// of the same loop over micro-batches send has no order.
unsigned TaskPartition::getReceive(BlockArgument argument, size_t limit) {
  auto [known, inserted] = receives.try_emplace(argument, nodes.size());
  if (!inserted)
    return known->second;
  unsigned index = known->second;
  nodes.push_back({WorkAttr(), LoopAttr(), OwnerAttr(), {}, {}, llvm::BitVector(limit)});
  llvm::BitVector producers(limit);
  addSent(received.lookup(argument), getChannelLoop(argument), producers);
  SmallVector<LoopAttr> before = getLoopsBefore(argument);
  for (auto [other, node] : llvm::enumerate(nodes))
    if (llvm::is_contained(before, getMicroBatchLoop(node.loop)))
      producers.set(other);
  addDependencies(index, producers);
  return index;
}

/// The loops over micro-batches that receive by channels below that of `argument`, which is not of them: what
/// comes by these comes before.
SmallVector<LoopAttr> TaskPartition::getLoopsBefore(Value argument) const {
  SmallVector<LoopAttr> before;
  LoopAttr own = getChannelLoop(argument);
  for (auto [other, channel] : received)
    if (LoopAttr loop = getChannelLoop(other); loop && loop != own && channel < received.lookup(argument))
      before.push_back(loop);
  return before;
}

/// The nodes that make what goes by channels below `limit`, but not in iterations of `loop`.
void TaskPartition::addSent(int64_t limit, LoopAttr loop, llvm::BitVector &producers) {
  for (auto [channel, maker] : sent)
    if (channel < limit && nodeOf.contains(maker) && (!loop || getEdgeLoop(maker) != loop))
      producers.set(nodeOf.at(maker));
}

/// Loops over micro-batches are done in their order on all meshes, each when what goes by lower channels than
/// its own is made: other meshes may wait for that in it.
void TaskPartition::addBefore(Operation *edge, LoopAttr loop, llvm::BitVector &producers) {
  for (auto [index, node] : llvm::enumerate(nodes))
    if (LoopAttr other = getMicroBatchLoop(node.loop); other && other.getId() < loop.getId())
      producers.set(index);
  addSentBefore(edge, loop, producers);
}

/// The nodes that make what goes by lower channels than what each iteration of `loop` sends by `edge`.
void TaskPartition::addSentBefore(Operation *edge, LoopAttr loop, llvm::BitVector &producers) {
  for (auto [channel, maker] : sent)
    if (maker == edge && getChannelLoop(edge->getResult(0)))
      addSent(channel, loop, producers);
}

/// A loop is left when the whole of its last iteration is done, with all that it waits for, and what else
/// leaves it is made. What follows thus joins no task before it.
void TaskPartition::addIteration(LoopAttr loop, llvm::BitVector &producers) {
  for (Operation *op : leaving[loop]) {
    addProducers(op, producers);
    addSentBefore(op, loop, producers);
  }
  auto isLeft = [&](const TaskNode &node) {
    return node.loop == loop && node.ops.size() == 1 && leavesLoop(node.ops.front());
  };
  for (auto [index, node] : llvm::enumerate(nodes))
    if (isWithin(node.loop, loop) && !isLeft(node))
      producers.set(index);
}

/// What is computed again is so as late as possible, as the program has it: behind the backward work of its
/// task graph that stands before it. Nothing else would keep it from being done at once, and its results from
/// being kept. Gradients that can be made later are not waited for.
void TaskPartition::addBackwardBefore(Operation *op, llvm::BitVector &producers) {
  auto work = op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr);
  if (!work || work.getKind() != WorkKind::recompute || standsBetweenTasks(op))
    return;
  LoopAttr loop = loops.getLoop(op);
  for (auto [index, node] : llvm::enumerate(nodes))
    if (node.work && node.work.getTaskgraph() == work.getTaskgraph() && node.loop == loop &&
        llvm::is_contained({WorkKind::backward, WorkKind::backward_input}, node.work.getKind()))
      producers.set(index);
}

/// Who does an op of a task; null: all members.
static OwnerAttr getOwner(Operation *op) {
  ShardingAttr sharding = op->getNumResults() > 0 ? getSharding(op->getResult(0)) : ShardingAttr();
  return sharding ? sharding.getOwner() : OwnerAttr();
}

/// The first task of the op's work, owner and guard that none of `producers` depends on, or a new node.
unsigned TaskPartition::chooseNode(Operation *op, ArrayRef<Literal> guard, const llvm::BitVector &producers) {
  WorkAttr work = standsBetweenTasks(op) ? WorkAttr() : op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr);
  OwnerAttr owner = work ? getOwner(op) : OwnerAttr();
  for (unsigned index = 0; work && index < nodes.size(); ++index) {
    auto dependsOnIt = [&](unsigned producer) { return nodes[producer].ancestors.test(index); };
    if (nodes[index].work == work && nodes[index].owner == owner && nodes[index].loop == loops.getLoop(op) &&
        ArrayRef(nodes[index].guard) == guard && llvm::none_of(producers.set_bits(), dependsOnIt))
      return index;
  }
  nodes.push_back(
      {work, loops.getLoop(op), owner, SmallVector<Literal>(guard), {}, llvm::BitVector(producers.size())});
  return nodes.size() - 1;
}

/// Node `index` now depends on `producers`; what depends on it does so too.
void TaskPartition::addDependencies(unsigned index, const llvm::BitVector &producers) {
  llvm::BitVector ancestors = producers;
  for (unsigned producer : producers.set_bits())
    ancestors |= nodes[producer].ancestors;
  ancestors.reset(index);
  for (TaskNode &node : nodes)
    if (&node == &nodes[index] || node.ancestors.test(index))
      node.ancestors |= ancestors;
}
