//===- UnrollLoops.cpp - Loops of which several meshes have a part --------===//
//
// Problem: what is done in the iterations of a loop is dealt out to meshes as one unit, for a channel
//   carries one value. A loop whose iterations have scopes on devices of their own, such as epochs of a step
//   with two networks, would send in every iteration. So would one whose iterations are to be stages.
// Method: such a loop is unrolled: each iteration has ops, and so channels, of its own. A part of a stack
//   that one loop makes and another one reads is passed on as it is; of tables of numbers each iteration has
//   its constant. What applies gradients has no say: it goes where what it reads is. A loop that would become
//   too many ops is an error which says what else to write.
// Invariant in: a global program, every op with its `epl.work`, every task graph on a mesh.
// Invariant out: the same; the forward and backward work in the iterations of a loop is on one mesh.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/prepare/UnrollLoops.h"

#include "dialect/Loops.h"
#include "dialect/Sharding.h"
#include "dialect/Stages.h"
#include "passes/shard/Passes.h"
#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/analysis/TaskGraphAxes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "epl-unroll-loops"

namespace mlir::epl {
#define GEN_PASS_DEF_UNROLLLOOPSPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numLoops, "Loops that were unrolled");
ALWAYS_ENABLED_STATISTIC(numIterations, "Iterations that they became");

/// The ops of all iterations of a loop that is unrolled: 12,000 of small tensors take two seconds to compile.
static constexpr int64_t kMostOps = 20'000;

static WorkAttr getWork(Operation *op) { return op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr); }

namespace {
/// The ops of a loop, in program order; two of them on different meshes, if there are such.
struct LoopOps {
  SmallVector<Operation *> ops;
  Operation *first = nullptr, *other = nullptr;
  bool isCut = false; ///< the task graph of some of them is cut into stages
};

/// Unrolls loops of one function.
class Unroller {
public:
  /// `reasons` are those of loops that are unrolled in any case.
  Unroller(func::FuncOp function, const llvm::MapVector<LoopAttr, UnrollReason> &reasons);

  LogicalResult run();

private:
  StringAttr getMesh(Operation *op) const;
  void findLoops();
  LogicalResult verifyLength(LoopAttr loop, const LoopOps &found) const;
  void unroll(LoopAttr loop, ArrayRef<Operation *> ops);
  void beginIteration(ArrayRef<Operation *> ops, int64_t iteration, IRMapping &values);
  Value getPart(LoopSliceOp slice, int64_t iteration);
  Value cutPart(LoopSliceOp slice, int64_t part);
  Value makeStack(LoopStackOp stack, ArrayRef<Value> parts);
  template <typename OpT, typename... Args> Value make(Operation *work, Args &&...args);

  Block &body;
  const llvm::MapVector<LoopAttr, UnrollReason> &reasons;
  Loops loops;
  OpBuilder builder;
  DenseSet<StringAttr> cut; ///< task graphs of which stages are found
  WorkMeshes meshes;
  llvm::MapVector<LoopAttr, LoopOps> found;
  DenseMap<int64_t, Value> carried;             ///< of the loop at hand, by index
  DenseMap<Value, SmallVector<Value>> unrolled; ///< the parts of stacks
};
} // namespace

Unroller::Unroller(func::FuncOp function, const llvm::MapVector<LoopAttr, UnrollReason> &reasons)
    : body(function.front()), reasons(reasons), loops(body), builder(function),
      meshes(function->getParentOfType<ModuleOp>()) {
  for (auto taskgraph : function->getParentOfType<ModuleOp>().getOps<TaskGraphOp>())
    if (!getStages(taskgraph).empty())
      cut.insert(taskgraph.getSymNameAttr());
}

//===----------------------------------------------------------------------===//
// Which loops
//===----------------------------------------------------------------------===//

/// What enters and leaves a loop goes where the work of its iterations is.
StringAttr Unroller::getMesh(Operation *op) const { return getEdgeLoop(op) ? StringAttr() : meshes.get(op); }

void Unroller::findLoops() {
  for (Operation &op : body) {
    LoopAttr loop = loops.getLoop(&op);
    if (!loop || getMicroBatchLoop(loop))
      continue;
    LoopOps &own = found[loop];
    own.ops.push_back(&op);
    if (!getMesh(&op))
      continue;
    own.isCut |= cut.contains(getWork(&op).getTaskgraph().getAttr());
    if (!own.first)
      own.first = &op;
    else if (!own.other && getMesh(&op) != getMesh(own.first))
      own.other = &op;
  }
}

/// How errors call the scope that an op belongs to.
static std::string describeScope(Operation *op) {
  auto module = op->getParentOfType<ModuleOp>();
  auto taskgraph = module.lookupSymbol<TaskGraphOp>(getWork(op).getTaskgraph().getAttr());
  std::optional<StringRef> name = taskgraph.getScopeName();
  return name ? ("scope \"" + *name + "\"").str()
              : ("task graph \"" + taskgraph.getSymName() + "\", a scope without a name").str();
}

/// Says that a loop is unrolled, or that it is too long for that.
LogicalResult Unroller::verifyLength(LoopAttr loop, const LoopOps &found) const {
  uint64_t size = llvm::SaturatingMultiply(uint64_t(loop.getTripCount()), uint64_t(found.ops.size()));
  Location place = found.ops.front()->getLoc();
  bool isShort = size <= uint64_t(kMostOps);
  InFlightDiagnostic said = isShort ? emitRemark(place) : emitError(place);
  said << "the loop of " << loop.getTripCount() << " iterations ";
  const auto *reason = reasons.find(loop);
  if (reason != reasons.end())
    said << reason->second.text;
  else if (found.other)
    said << "is part of " << describeScope(found.first) << " and of " << describeScope(found.other)
         << ": these have devices of their own";
  else
    said << "is work that is cut into stages";
  if (isShort)
    said << ", so it is unrolled";
  else
    said << ", but unrolled it would be " << size << " operations, expected at most " << kMostOps;
  if (reason != reasons.end()) {
    said.attachNote(reason->second.place) << "that is here";
    return success(isShort);
  }
  if (!found.other)
    return success(isShort);
  if (!isShort)
    said << "; give both scopes one name, or let them share devices "
            "(\"cluster.colocate_split_and_replicate\"), "
            "or write a loop for each";
  said.attachNote(found.first->getLoc()) << "work of the first one is here";
  said.attachNote(found.other->getLoc()) << "work of the other one is here";
  return success(isShort);
}

//===----------------------------------------------------------------------===//
// Iterations
//===----------------------------------------------------------------------===//

/// A value in the place and the work of `work`.
template <typename OpT, typename... Args> Value Unroller::make(Operation *work, Args &&...args) {
  auto op = OpT::create(builder, work->getLoc(), std::forward<Args>(args)...);
  op->setAttr(EplDialect::kWorkAttr, getWork(work));
  return op->getResult(0);
}

/// The reshape between a tensor and that tensor as one row.
static SmallVector<ReassociationIndices> getRowGroups(int64_t rank) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t dim = 0; dim < rank; ++dim)
    groups.push_back(dim == 0 ? ReassociationIndices{0, 1} : ReassociationIndices{dim + 1});
  return groups;
}

static RankedTensorType getRowType(RankedTensorType part) {
  SmallVector<int64_t> shape = {1};
  llvm::append_range(shape, part.getShape());
  return RankedTensorType::get(shape, part.getElementType());
}

/// Part `part` of a constant; null of others.
static DenseElementsAttr getConstantPart(LoopSliceOp slice, int64_t part) {
  DenseElementsAttr stack;
  auto type = cast<RankedTensorType>(slice.getType());
  if (!matchPattern(slice.getOperand(), m_Constant(&stack)))
    return {};
  if (stack.isSplat())
    return stack.resizeSplat(type);
  auto elements = llvm::to_vector(stack.getValues<Attribute>());
  return DenseElementsAttr::get(
      type, ArrayRef(elements).slice(part * type.getNumElements(), type.getNumElements()));
}

Value Unroller::cutPart(LoopSliceOp slice, int64_t part) {
  auto type = cast<RankedTensorType>(slice.getType());
  if (DenseElementsAttr constant = getConstantPart(slice, part))
    return make<arith::ConstantOp>(slice, constant);
  RankedTensorType row = getRowType(type);
  SmallVector<OpFoldResult> offsets(row.getRank(), builder.getIndexAttr(0)), sizes,
      strides(row.getRank(), builder.getIndexAttr(1));
  offsets.front() = builder.getIndexAttr(part);
  for (int64_t extent : row.getShape())
    sizes.push_back(builder.getIndexAttr(extent));
  Value cut = make<tensor::ExtractSliceOp>(slice, row, slice.getOperand(), offsets, sizes, strides);
  return make<tensor::CollapseShapeOp>(slice, type, cut, getRowGroups(type.getRank()));
}

static int64_t getPosition(auto edge, int64_t iteration) {
  return edge.getReverse() ? edge.getLoop().getTripCount() - 1 - iteration : iteration;
}

Value Unroller::getPart(LoopSliceOp slice, int64_t iteration) {
  int64_t part = getPosition(slice, iteration);
  auto parts = unrolled.find(slice.getOperand());
  return parts == unrolled.end() ? cutPart(slice, part) : parts->second[part];
}

Value Unroller::makeStack(LoopStackOp stack, ArrayRef<Value> parts) {
  SmallVector<Value> rows;
  for (Value part : parts) {
    auto type = cast<RankedTensorType>(part.getType());
    rows.push_back(make<tensor::ExpandShapeOp>(stack, getRowType(type), part, getRowGroups(type.getRank())));
  }
  return make<ConcatenateOp>(stack, stack.getType(), rows, /*dim=*/int64_t(0));
}

/// What enters the iteration.
void Unroller::beginIteration(ArrayRef<Operation *> ops, int64_t iteration, IRMapping &values) {
  for (Operation *op : ops)
    if (auto carry = dyn_cast<LoopCarryOp>(op)) {
      Value &value = carried[carry.getIndex()];
      value = iteration == 0 ? carry.getInit() : value;
      values.map(carry.getResult(), value);
    } else if (auto slice = dyn_cast<LoopSliceOp>(op)) {
      values.map(slice.getResult(), getPart(slice, iteration));
    }
}

/// All of the loop stands before what leaves it, and so does all that it reads.
void Unroller::unroll(LoopAttr loop, ArrayRef<Operation *> ops) {
  builder.setInsertionPoint(*llvm::find_if(ops, leavesLoop));
  llvm::MapVector<Operation *, SmallVector<Value>> stacks;
  for (int64_t iteration = 0; iteration < loop.getTripCount(); ++iteration) {
    IRMapping values;
    beginIteration(ops, iteration, values);
    for (Operation *op : ops)
      if (!getEdgeLoop(op))
        builder.clone(*op, values);
    for (Operation *op : ops)
      if (auto last = dyn_cast<LoopLastOp>(op))
        carried[last.getIndex()] = values.lookupOrDefault(last.getOperand());
      else if (auto stack = dyn_cast<LoopStackOp>(op)) {
        stacks[op].resize(loop.getTripCount());
        stacks[op][getPosition(stack, iteration)] = values.lookupOrDefault(stack.getOperand());
      }
  }
  for (Operation *op : ops)
    if (auto last = dyn_cast<LoopLastOp>(op))
      last.replaceAllUsesWith(carried.lookup(last.getIndex()));
  for (auto &[op, parts] : stacks) {
    Value whole = makeStack(cast<LoopStackOp>(op), parts);
    op->getResult(0).replaceAllUsesWith(whole);
    unrolled[whole] = parts;
  }
  for (Operation *op : llvm::reverse(ops))
    op->erase();
}

/// Erases stacks of which only parts were read.
static void eraseUnread(Value stack) {
  Operation *concatenate = stack.getDefiningOp();
  if (!concatenate->use_empty())
    return;
  auto rows = llvm::to_vector(concatenate->getOperands());
  concatenate->erase();
  for (Value row : rows)
    if (row.use_empty())
      row.getDefiningOp()->erase();
}

LogicalResult Unroller::run() {
  findLoops();
  for (auto &[loop, own] : found) {
    if (!own.other && !own.isCut && !reasons.contains(loop))
      continue;
    if (failed(verifyLength(loop, own)))
      return failure();
    LDBG() << "loop " << loop.getId() << " of " << loop.getTripCount() << " iterations";
    ++numLoops;
    numIterations += loop.getTripCount();
    unroll(loop, own.ops);
    carried.clear();
  }
  llvm::for_each(llvm::make_first_range(unrolled), eraseUnread);
  return success();
}

LogicalResult mlir::epl::unrollLoops(func::FuncOp function,
                                     const llvm::MapVector<LoopAttr, UnrollReason> &loops) {
  return Unroller(function, loops).run();
}

namespace {
struct UnrollLoops : epl::impl::UnrollLoopsPassBase<UnrollLoops> {
  void runOnOperation() override {
    FailureOr<SmallVector<func::FuncOp>> functions = getUndealtFunctions(getOperation());
    if (failed(functions))
      return signalPassFailure();
    for (func::FuncOp function : *functions)
      if (failed(unrollLoops(function, {})))
        return signalPassFailure();
  }
};
} // namespace
