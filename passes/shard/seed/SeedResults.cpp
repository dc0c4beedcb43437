//===- SeedResults.cpp - Results are made as another step wants them ------===//
//
// Problem: a step that makes the first states of another one has no argument to start propagation from: each
//   device would make every state whole and keep its part. And what states share, positions and constants
//   above all, would be made whole for all of them.
// Method: three steps.
//   1. Positions and what a few ops make of them and of constants cost no operand: each reader makes them for
//      itself. So they stand in its kernel and take no memory.
//   2. The sharding that is wanted of a result is followed in reverse, by the rules of ops: of each value it
//      is known then which parts are read of it. A value of which several shardings are wanted is made in
//      each of them, which costs less than the whole on each device and an exchange.
//   3. An op that makes a part of nothing that has parts gets a constraint on what it makes, and so do
//      results. From there propagation goes forward: of a value that is wanted in parts, other readers, such
//      as its mean square, work on these.
// Invariant in: arguments have shardings; meshes are split. Invariant out: the same, and no `epl.wanted`.
// Reference: GSPMD's sharding of initial values (Xu et al., 2021); jax.jit with out_shardings, whose counters
//   are sharded for the same reason (partitionable threefry).
//
//===----------------------------------------------------------------------===//

#include "dialect/Sharding.h"
#include "passes/shard/Passes.h"
#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/analysis/Rules.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-seed-results"

namespace mlir::epl {
#define GEN_PASS_DEF_SEEDRESULTSPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numResults, "Results that another step wants");
ALWAYS_ENABLED_STATISTIC(numLeaves, "Copies of what costs no operand");
ALWAYS_ENABLED_STATISTIC(numCopies, "Copies of what is wanted in several shardings");
ALWAYS_ENABLED_STATISTIC(numConstraints, "Constraints from which parts are made");

/// How many ops may be made again for a reader, those that they read counted for each time they are read.
static constexpr int64_t kMostLeafOps = 16;

/// Whether an op may be there several times: it makes tensors, all of one shape, that are no loop's.
static bool canCopy(Operation *op) {
  auto isAlike = [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getShape() == cast<ShapedType>(op->getResultTypes()[0]).getShape();
  };
  return op->getNumResults() > 0 && isa<RankedTensorType>(op->getResultTypes()[0]) && isPure(op) &&
         !op->hasTrait<LoopEdge>() && llvm::all_of(op->getResultTypes(), isAlike);
}

namespace {
/// Seeds the results of one function.
class ResultSeeder {
public:
  ResultSeeder(func::FuncOp function, MeshOp mesh)
      : function(function), mesh(mesh), body(function.front()), builder(function.getContext()) {}

  void run();

private:
  // What costs no operand.
  int64_t countLeafOps(Value value);
  Value copyLeaf(Value value, Operation *reader);
  void copyLeaves();

  // What is wanted.
  ShardingAttr getReplicated(Value value);
  void want(OpOperand &use, ShardingAttr wanted);
  SmallVector<ShardingAttr> findWanted(Operation *op) const;
  void copy(Operation *op, ArrayRef<ShardingAttr> wanted);
  void pass(Operation *op, ShardingAttr wanted);
  bool canShard(Operation *op, const FactorRule &rule, int64_t factor, AxisAttr axis) const;

  void constrain(Value value, ShardingAttr sharding, bool isResult, OpOperand *only = nullptr);
  void seedResult(OpOperand &result);

  func::FuncOp function;
  MeshOp mesh;
  Block &body;
  OpBuilder builder;
  DenseMap<Value, int64_t> leafOps; ///< that make a value of no operand; more than the most if none do
  llvm::MapVector<OpOperand *, ShardingAttr> wants; ///< in which parts a use reads its value
};
} // namespace

//===----------------------------------------------------------------------===//
// What costs no operand
//===----------------------------------------------------------------------===//

/// The ops that make a value of positions and constants alone; above `kMostLeafOps` if it is made of anything
/// else, or of too many.
int64_t ResultSeeder::countLeafOps(Value value) {
  auto [known, isNew] = leafOps.try_emplace(value, kMostLeafOps + 1);
  Operation *op = value.getDefiningOp();
  if (!isNew || !op || op->getNumResults() != 1 || !canCopy(op) || !getCapturedTensors(op).empty())
    return known->second;
  int64_t count = 1;
  for (Value operand : op->getOperands())
    if (isa<RankedTensorType>(operand.getType()))
      count = std::min(count + countLeafOps(operand), kMostLeafOps + 1);
  return leafOps[value] = count;
}

/// A copy of a value, and of what it is made of, for one reader.
Value ResultSeeder::copyLeaf(Value value, Operation *reader) {
  IRMapping mapping;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    if (isa<RankedTensorType>(operand.getType()) && !mapping.contains(operand))
      mapping.map(operand, copyLeaf(operand, reader));
  builder.setInsertionPoint(reader);
  ++numLeaves;
  return builder.clone(*op, mapping)->getResult(0);
}

/// Each reader that is no such op itself gets its own. One that is returned is read by the return.
void ResultSeeder::copyLeaves() {
  auto isLeaf = [&](Value value) { return countLeafOps(value) <= kMostLeafOps; };
  SmallVector<Operation *> readers;
  for (Operation &op : body)
    if (op.getNumResults() != 1 || !isLeaf(op.getResult(0)))
      readers.push_back(&op);
  for (Operation *reader : readers)
    for (OpOperand &use : reader->getOpOperands())
      if (isa<RankedTensorType>(use.get().getType()) && isLeaf(use.get()))
        use.set(copyLeaf(use.get(), reader));
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (op.use_empty() && op.getNumResults() == 1 && isLeaf(op.getResult(0)))
      op.erase();
}

//===----------------------------------------------------------------------===//
// What is wanted
//===----------------------------------------------------------------------===//

ShardingAttr ResultSeeder::getReplicated(Value value) {
  auto symbol = FlatSymbolRefAttr::get(mesh.getSymNameAttr());
  return ShardingAttr::getReplicated(symbol, cast<RankedTensorType>(value.getType()).getRank());
}

void ResultSeeder::want(OpOperand &use, ShardingAttr wanted) {
  if (!wanted.isReplicated())
    wants[&use] = wanted;
}

/// The different shardings in which the uses of an op's result want it. A use that asks for nothing takes
/// any.
SmallVector<ShardingAttr> ResultSeeder::findWanted(Operation *op) const {
  SmallVector<ShardingAttr> wanted;
  for (OpOperand &use : op->getUses())
    if (ShardingAttr asked = wants.lookup(&use); asked && !llvm::is_contained(wanted, asked))
      wanted.push_back(asked);
  return wanted;
}

bool ResultSeeder::canShard(Operation *op, const FactorRule &rule, int64_t factor, AxisAttr axis) const {
  if (factor == FactorRule::kBlocked)
    return false;
  auto divides = [&](Value value, ArrayRef<int64_t> factors) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return llvm::all_of(llvm::enumerate(factors), [&](auto dim) {
      return dim.value() != factor || type.getDimSize(dim.index()) % axis.getSize() == 0;
    });
  };
  return llvm::all_of(llvm::zip_equal(op->getOperands(), rule.operands),
                      [&](auto pair) { return std::apply(divides, pair); });
}

/// Hands what is wanted of an op's results on to its operands. Along an axis that no operand has a dimension
/// for, the op begins with parts.
void ResultSeeder::pass(Operation *op, ShardingAttr wanted) {
  if (isUniform(op)) // is made in any size
    return;
  FactorRule rule = getFactorRule(op);
  if (!llvm::all_equal(rule.results))
    return;
  SmallVector<ShardingAttr> operands;
  for (Value operand : op->getOperands())
    operands.push_back(isa<RankedTensorType>(operand.getType()) ? getReplicated(operand) : ShardingAttr());
  ShardingAttr begins = getReplicated(op->getResult(0));
  for (AxisAttr axis : mesh.getAxes().getAsRange<AxisAttr>()) {
    int64_t dim = wanted.getDimOf(axis.getName());
    int64_t factor = dim < 0 ? FactorRule::kBlocked : rule.results.front()[dim];
    if (!canShard(op, rule, factor, axis))
      continue;
    bool isPassed = false;
    for (auto [index, factors] : llvm::enumerate(rule.operands)) {
      const auto *found = llvm::find(factors, factor);
      if (found == factors.end())
        continue;
      operands[index] =
          withAxisState(operands[index], mesh, axis.getName(), AxisState::sharded(found - factors.begin()));
      Operation *source = op->getOperand(index).getDefiningOp();
      isPassed |= source && !isUniform(source);
    }
    if (!isPassed)
      begins = withAxisState(begins, mesh, axis.getName(), AxisState::sharded(dim));
  }
  for (auto [use, asked] : llvm::zip_equal(op->getOpOperands(), operands))
    if (asked)
      want(use, asked);
  for (Value result : op->getResults())
    if (!begins.isReplicated())
      constrain(result, begins, /*isResult=*/false);
}

/// A copy for each sharding but the first, for the uses that want it so.
void ResultSeeder::copy(Operation *op, ArrayRef<ShardingAttr> wanted) {
  for (ShardingAttr other : wanted.drop_front()) {
    builder.setInsertionPointAfter(op);
    Operation *made = builder.clone(*op);
    ++numCopies;
    for (OpOperand &use : llvm::make_early_inc_range(op->getUses()))
      if (wants.lookup(&use) == other)
        use.set(made->getResult(cast<OpResult>(use.get()).getResultNumber()));
    pass(made, other);
  }
}

/// Says how a value is sharded: of a result on all axes, else on those of the sharding.
void ResultSeeder::constrain(Value value, ShardingAttr sharding, bool isResult, OpOperand *only) {
  SmallVector<SmallVector<StringRef>> dims;
  for (int64_t dim = 0; dim < sharding.getRank(); ++dim) {
    dims.push_back(sharding.getDimAxes(dim));
    llvm::erase_if(dims.back(), [&](StringRef axis) { return mesh.getAxis(axis).getSize() == 1; });
  }
  SmallVector<StringRef> whole;
  for (AxisAttr axis : mesh.getAxes().getAsRange<AxisAttr>())
    if (isResult && axis.getSize() > 1 && sharding.getDimOf(axis.getName()) < 0)
      whole.push_back(axis.getName());
  if (whole.empty() && llvm::all_of(dims, [](ArrayRef<StringRef> axes) { return axes.empty(); }))
    return;
  Operation *producer = value.getDefiningOp();
  if (only)
    builder.setInsertionPoint(only->getOwner());
  else
    builder.setInsertionPointAfterValue(value);
  auto made = ConstrainOp::create(builder, value.getLoc(), value,
                                  ConstraintAttr::get(value.getContext(), dims, whole));
  copyWork(producer ? producer : &body.front(), made);
  ++numConstraints;
  if (only)
    only->set(made.getResult());
  else
    value.replaceAllUsesExcept(made.getResult(), made);
}

void ResultSeeder::seedResult(OpOperand &result) {
  auto name = StringAttr::get(function.getContext(), EplDialect::kWantedAttr);
  auto wanted = function.getResultAttrOfType<ShardingAttr>(result.getOperandNumber(), name);
  function.removeResultAttr(result.getOperandNumber(), name);
  if (!wanted)
    return;
  ++numResults;
  constrain(result.get(), wanted, /*isResult=*/true, &result);
  if (auto said = result.get().getDefiningOp<ConstrainOp>())
    want(said.getOperandMutable(), wanted);
}

void ResultSeeder::run() {
  copyLeaves();
  for (OpOperand &result : body.getTerminator()->getOpOperands())
    seedResult(result);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body))) {
    if (!canCopy(&op) || isa<ConstrainOp>(op))
      continue;
    SmallVector<ShardingAttr> wanted = findWanted(&op);
    if (wanted.empty())
      continue;
    LDBG() << op.getName() << " is wanted in " << wanted.size() << " shardings, the first " << wanted.front();
    copy(&op, wanted);
    pass(&op, wanted.front());
  }
}

/// Whether what is wanted of results fits them.
static LogicalResult verifyWanted(func::FuncOp function, MeshOp mesh) {
  for (unsigned index = 0; index < function.getNumResults(); ++index) {
    auto wanted = function.getResultAttrOfType<ShardingAttr>(
        index, StringAttr::get(function.getContext(), EplDialect::kWantedAttr));
    if (!wanted)
      continue;
    if (wanted.getMesh().getValue() != mesh.getSymName())
      return function.emitOpError() << "result " << index << " is wanted on mesh " << wanted.getMesh()
                                    << ", expected \"" << mesh.getSymName() << "\", on which it is made";
    auto type = dyn_cast<RankedTensorType>(function.getResultTypes()[index]);
    if (!type)
      return function.emitOpError() << "result " << index << " is wanted in parts, expected a tensor";
    if (failed(verifySharding(function, wanted, type, "result " + Twine(index))))
      return failure();
  }
  return success();
}

namespace {
struct SeedResults : epl::impl::SeedResultsPassBase<SeedResults> {
  void runOnOperation() override {
    FailureOr<SmallVector<Program>> programs = getPrograms(getOperation(), Shardings::ofArguments);
    if (failed(programs))
      return signalPassFailure();
    for (auto [function, mesh] : *programs) {
      if (failed(verifyWanted(function, mesh)))
        return signalPassFailure();
      if (hasWantedResults(function))
        ResultSeeder(function, mesh).run();
    }
  }
};
} // namespace
