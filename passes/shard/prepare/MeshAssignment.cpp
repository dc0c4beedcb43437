//===- MeshAssignment.cpp - Which mesh an op and a value are on -----------===//

#include "passes/shard/prepare/MeshAssignment.h"

#include "dialect/Bytes.h"
#include "dialect/Sharding.h"
#include "passes/shard/analysis/AppliedWork.h"
#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/analysis/Elementwise.h"
#include "passes/shard/analysis/FactorChoice.h"
#include "passes/shard/analysis/Rules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <set>

using namespace mlir;
using namespace mlir::epl;

static WorkAttr getWork(Operation *op) { return op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr); }

MeshAssignment::MeshAssignment(func::FuncOp function)
    : function(function), body(function.front()), loops(body) {
  auto module = function->getParentOfType<ModuleOp>();
  for (MeshOp mesh : module.getOps<MeshOp>()) {
    for (TaskGraphOp taskgraph : getTaskGraphs(mesh))
      taskgraphs.try_emplace(taskgraph.getSymNameAttr(), meshes.size());
    meshes.push_back(mesh);
  }
  for (Operation &op : body.without_terminator())
    if (LoopAttr loop = getUnitLoop(&op))
      loopOps[loop].push_back(&op);
}

void MeshAssignment::run() {
  findRematerialized();
  findUnplaced();
  settleLoops();
  placeFixed();
  placeByOperands();
  placeByReaders();
  placeRest();
  placeArguments();
}

//===----------------------------------------------------------------------===//
// Kinds of ops
//===----------------------------------------------------------------------===//

/// The bytes of the tensors among `values`.
static int64_t sumBytes(ValueRange values) {
  int64_t bytes = 0;
  for (Value value : values)
    bytes += isa<RankedTensorType>(value.getType()) ? getBytes(value) : 0;
  return bytes;
}

/// Whether the op makes numbers, such as an element of a tensor: these cannot be sent.
static bool makesScalars(Operation *op) {
  return llvm::none_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>) && isMemoryEffectFree(op);
}

/// What is made of constants is made by each reader, and so is what is at least twice as large as what it is
/// made of, such as a scalar in the shape of a parameter: less is sent. In iterations over micro-batches each
/// mesh cuts the batches by itself, and makes masks of them.
void MeshAssignment::findRematerialized() {
  auto isFree = [&](Value value) { return free.contains(value.getDefiningOp()); };
  for (Operation &op : body.without_terminator()) {
    bool isPart = isa<LoopSliceOp>(op);
    if (!(isElementwise(&op) || makesScalars(&op) || isPart) || getUnitLoop(&op))
      continue;
    SetVector<Value> sources = getUsedValues(&op);
    sources.remove_if(isFree);
    bool isReturned = llvm::any_of(op.getUsers(), llvm::IsaPred<func::ReturnOp>);
    if (sources.empty())
      free.insert(&op);
    else if (isOfBatches(&op, sources.getArrayRef()))
      ofBatches.insert(&op);
    int64_t read = sumBytes(sources.getArrayRef()), made = sumBytes(op.getResults());
    bool isSmaller = !isReturned && !isPart && read < made && 2 * read <= made;
    if (sources.empty() || makesScalars(&op) || isSmaller || ofBatches.contains(&op))
      rematerialized.insert(&op);
  }
}

/// Whether an op of an iteration over micro-batches, or of what is cut for these, reads batches alone.
bool MeshAssignment::isOfBatches(Operation *op, ArrayRef<Value> sources) const {
  auto isCut = [&](Operation *user) { return isa<LoopSliceOp>(user) && !getUnitLoop(user); };
  return (isOfMicroBatches(loops.getLoop(op)) || llvm::all_of(op->getUsers(), isCut)) &&
         llvm::all_of(sources, [&](Value source) {
           auto argument = dyn_cast<BlockArgument>(source);
           return argument ? isBatch(argument) : ofBatches.contains(source.getDefiningOp());
         });
}

/// The loop of which all ops are on one mesh: its iterations send nothing. Those over micro-batches do.
LoopAttr MeshAssignment::getUnitLoop(Operation *op) const {
  LoopAttr loop = loops.getLoop(op);
  return isOfMicroBatches(loop) ? LoopAttr() : loop;
}

/// What applies gradients, but what is made of constants.
void MeshAssignment::findUnplaced() {
  unplaced = findAppliedWork(function);
  for (Operation *op : free)
    unplaced.erase(op);
}

/// The ops that are placed together: those of a loop.
SmallVector<Operation *> MeshAssignment::getUnit(Operation *op) const {
  LoopAttr loop = getUnitLoop(op);
  return loop ? loopOps.lookup(loop) : SmallVector<Operation *>{op};
}

/// The ops of the body that read `value`, or what is made of it again, and have a place.
SmallVector<Operation *> MeshAssignment::getReaders(Value value) const {
  llvm::SetVector<Operation *> found;
  auto addUsers = [&](Value read) {
    for (Operation *user : read.getUsers())
      found.insert(body.findAncestorOpInBlock(*user));
  };
  addUsers(value);
  for (size_t next = 0; next < found.size(); ++next)
    if (Operation *reader = found[next]; isRematerialized(reader))
      llvm::for_each(reader->getResults(), addUsers);
  SmallVector<Operation *> readers =
      llvm::filter_to_vector(found, [&](Operation *reader) { return isPlaced(reader); });
  llvm::sort(readers, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return readers;
}

/// What `op` would have others send: what it reads, and what that is made of where that is rematerialized.
SetVector<Value> MeshAssignment::getSources(Operation *op) const {
  SetVector<Value> found = getUsedValues(op);
  auto isMadeHere = [&](Value value) {
    return value.getDefiningOp() && isRematerialized(value.getDefiningOp());
  };
  for (size_t next = 0; next < found.size(); ++next)
    if (isMadeHere(found[next]))
      found.insert_range(getUsedValues(found[next].getDefiningOp()));
  found.remove_if(isMadeHere);
  return found;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// The mesh of the task graph that an op is stamped with.
std::optional<unsigned> MeshAssignment::getStamped(Operation *op) const {
  WorkAttr work = getWork(op);
  auto known = work ? taskgraphs.find(work.getTaskgraph().getAttr()) : taskgraphs.end();
  return known == taskgraphs.end() ? std::nullopt : std::optional(known->second);
}

void MeshAssignment::place(Operation *op, unsigned mesh) {
  for (Operation *member : getUnit(op))
    places[member] = mesh;
}

/// A loop is where the work of its iterations is. What enters and leaves it has no say.
void MeshAssignment::settleLoops() {
  for (auto &[loop, ops] : loopOps) {
    auto isFixed = [&](Operation *op) {
      return !getEdgeLoop(op) && !unplaced.contains(op) && getStamped(op);
    };
    if (auto *first = llvm::find_if(ops, isFixed); first != ops.end())
      place(*first, *getStamped(*first));
  }
}

void MeshAssignment::placeFixed() {
  for (Operation &op : body.without_terminator())
    if (std::optional<unsigned> mesh = getStamped(&op);
        mesh && !isPlaced(&op) && !isRematerialized(&op) && !unplaced.contains(&op) && !getUnitLoop(&op))
      place(&op, *mesh);
}

/// Bytes for each mesh, in the order in which they were found.
using Votes = llvm::MapVector<unsigned, int64_t>;

/// The mesh of the most bytes, the first one of several.
static std::optional<unsigned> getWinner(const Votes &votes) {
  const auto *best = llvm::max_element(votes, [](auto &a, auto &b) { return a.second < b.second; });
  return best == votes.end() ? std::nullopt : std::optional(best->first);
}

/// Where a value is as far as it is known yet: an argument that one mesh alone reads will be there.
std::optional<unsigned> MeshAssignment::getKnownMesh(Value value) const {
  if (Operation *producer = value.getDefiningOp())
    return isPlaced(producer) ? std::optional(places.lookup(producer)) : std::nullopt;
  SmallVector<Operation *> readers = getReaders(value);
  auto getPlace = [&](Operation *reader) { return places.lookup(reader); };
  if (isBatch(cast<BlockArgument>(value)) || readers.empty() ||
      !llvm::all_equal(llvm::map_range(readers, getPlace)))
    return std::nullopt;
  return getPlace(readers.front());
}

/// What an op would have others send is least where most of what it reads is. Ties go to what it reads first.
void MeshAssignment::placeByOperands() {
  for (Operation &op : body.without_terminator()) {
    if (isRematerialized(&op) || isPlaced(&op) || (getUnitLoop(&op) && !leavesLoop(&op)))
      continue;
    Votes votes;
    for (Operation *member : getUnit(&op))
      for (Value value : getSources(member))
        if (std::optional<unsigned> mesh = getKnownMesh(value);
            mesh && isa<RankedTensorType>(value.getType()))
          votes[*mesh] += getBytes(value);
    if (std::optional<unsigned> mesh = getWinner(votes))
      place(&op, *mesh);
  }
}

/// What reads arguments only goes with its first reader.
void MeshAssignment::placeByReaders() {
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (isRematerialized(&op) || isPlaced(&op))
      continue;
    Operation *first = nullptr;
    for (Value result : op.getResults())
      for (Operation *reader : getReaders(result))
        first = first && first->isBeforeInBlock(reader) ? first : reader;
    if (first)
      place(&op, places.lookup(first));
  }
}

/// What is only returned stands beside the first other reader of what it reads.
void MeshAssignment::placeRest() {
  for (Operation &op : body.without_terminator()) {
    if (isRematerialized(&op) || isPlaced(&op))
      continue;
    std::optional<unsigned> mesh = getStamped(&op);
    for (Value value : getSources(&op))
      if (SmallVector<Operation *> readers = getReaders(value); !readers.empty())
        mesh = places.lookup(readers.front());
    place(&op, mesh.value_or(0));
  }
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// The mesh whose ops that read the argument are the largest.
std::optional<unsigned> MeshAssignment::placeByUse(BlockArgument argument) const {
  Votes votes;
  for (Operation *reader : getReaders(Value(argument)))
    votes[places.lookup(reader)] += sumBytes(reader->getOperands()) + sumBytes(reader->getResults());
  return getWinner(votes);
}

/// An argument that is updated is where that is done, if an op does it.
void MeshAssignment::placeArguments() {
  for (BlockArgument argument : body.getArguments())
    if (!isBatch(argument))
      homes[argument] = placeByUse(argument).value_or(0);
  for (OpOperand &result : body.getTerminator()->getOpOperands()) {
    BlockArgument updated = getUpdatedArgument(function, result.getOperandNumber());
    Operation *producer = result.get().getDefiningOp();
    if (updated && producer && !isRematerialized(producer) && !isBatch(updated))
      homes[updated] = places.lookup(producer);
  }
}

SmallVector<unsigned> MeshAssignment::getReaders(BlockArgument argument) const {
  std::set<unsigned> readers;
  for (Operation *reader : getReaders(Value(argument)))
    readers.insert(places.lookup(reader));
  for (OpOperand &result : body.getTerminator()->getOpOperands()) {
    BlockArgument updated = getUpdatedArgument(function, result.getOperandNumber());
    if (updated && !isBatch(updated) && result.get() == argument)
      readers.insert(homes.lookup(updated));
  }
  return SmallVector<unsigned>(readers.begin(), readers.end());
}

std::optional<unsigned> MeshAssignment::getMesh(Value value) const {
  if (Operation *producer = value.getDefiningOp())
    return isRematerialized(producer) ? std::nullopt : std::optional(places.lookup(producer));
  auto home = homes.find(cast<BlockArgument>(value));
  return home == homes.end() ? std::nullopt : std::optional(home->second);
}
