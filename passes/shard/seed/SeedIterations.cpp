//===- SeedIterations.cpp - Loops over parts of the batch -----------------===//
//
// Problem: who adds up gradients by hand reshapes the batch to (iterations, samples of an iteration) and
//   loops over the iterations. A sharded batch is sharded along the outermost of these, the iterations: each
//   device would have to get, and compute, all samples of every iteration.
// Method: the samples of an iteration are sharded. A constraint at the reshape says so: the batch is
//   exchanged once, before the loop. Where samples are taken one by one, or axes do not divide those of an
//   iteration, a remark says that devices compute alike.
// Invariant in: `epl-seed-batch` has run, constraints name axes of the mesh that have several devices.
// Invariant out: the same.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/Passes.h"
#include "passes/shard/analysis/BatchFactors.h"
#include "passes/shard/analysis/CutDims.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-seed-iterations"

namespace mlir::epl {
#define GEN_PASS_DEF_SEEDITERATIONSPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numLoops, "Batches of which each iteration takes a part, that devices share");
ALWAYS_ENABLED_STATISTIC(numWhole, "Those whose iterations every device does");

namespace {
/// One step and where its samples are.
class IterationSeeder {
public:
  IterationSeeder(func::FuncOp function, MeshOp mesh)
      : function(function), mesh(mesh), rules(function, mesh), cuts(rules), taskgraphs(mesh),
        batch(function, rules.getLoops(),
              [this](Operation *op) -> const FactorRule & { return rules.getRule(op); }) {}

  void run();

private:
  int64_t getIterationsDim(tensor::ExpandShapeOp op) const;
  SmallVector<StringRef> getAxes(Operation *op);
  void seed(tensor::ExpandShapeOp op, int64_t tripCount);
  void remarkSingle(LoopSliceOp slice);

  func::FuncOp function;
  MeshOp mesh;
  FunctionRules rules;
  CutDims cuts;
  TaskGraphAxes taskgraphs;
  BatchFactors batch;
};
} // namespace

/// The dimension of the result that counts iterations, if the reshape makes (iterations, samples) of samples,
/// or -1.
int64_t IterationSeeder::getIterationsDim(tensor::ExpandShapeOp op) const {
  int64_t samples = batch.getDim(op.getSrc());
  if (samples < 0)
    return -1;
  ReassociationIndices group = op.getReassociationIndices()[samples];
  bool isCut =
      group.size() > 1 && cuts.isCut(op.getResult(), group[0]) && !cuts.isCut(op.getResult(), group[1]);
  return isCut ? group[0] : -1;
}

/// The axes of several devices over which the work of `op` shards its batch, in mesh order.
SmallVector<StringRef> IterationSeeder::getAxes(Operation *op) {
  SmallVector<StringRef> axes;
  for (AxisAttr axis : mesh.getAxes().getAsRange<AxisAttr>())
    if (axis.getSize() > 1 && taskgraphs.takesBatch(op, axis.getName()))
      axes.push_back(axis.getName());
  return axes;
}

void IterationSeeder::seed(tensor::ExpandShapeOp op, int64_t tripCount) {
  RankedTensorType type = op.getResultType();
  SmallVector<SmallVector<StringRef>> dims(type.getRank());
  SmallVector<StringRef> &own = dims[tripCount + 1];
  for (StringRef axis : getAxes(op)) {
    own.push_back(axis);
    if (type.getDimSize(tripCount + 1) % getAxesSize(mesh, own) == 0)
      continue;
    emitRemark(op.getLoc()) << "each of " << type.getDimSize(tripCount) << " iterations takes "
                            << type.getDimSize(tripCount + 1) << " samples, which " << getAxesSize(mesh, own)
                            << " devices do not divide: each computes all of them";
    own.pop_back();
  }
  ++(own.empty() ? numWhole : numLoops);
  if (own.empty())
    return;
  LDBG() << "iterations take samples of " << op.getResult().getType() << " over " << llvm::join(own, ", ");
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  auto constraint = ConstraintAttr::get(op->getContext(), dims, {});
  auto constrain = ConstrainOp::create(builder, op.getLoc(), type, op.getResult(), constraint);
  copyWork(op, constrain);
  op.getResult().replaceAllUsesExcept(constrain, constrain);
}

/// Says that a loop takes the samples of an argument one by one: no device can have a part of an iteration.
void IterationSeeder::remarkSingle(LoopSliceOp slice) {
  auto argument = dyn_cast<BlockArgument>(slice.getOperand());
  if (argument && batch.getDim(argument) == 0 && !getAxes(slice).empty())
    emitRemark(slice.getLoc())
        << "the loop of " << slice.getLoop().getTripCount() << " iterations takes the samples of "
        << describeArgument(function, argument.getArgNumber())
        << " one by one: every device computes all of them; map them with \"jax.vmap\", or "
           "several in an iteration (\"batch_size\" of \"jax.lax.map\")";
}

/// What a user constrains is left as it is.
void IterationSeeder::run() {
  for (auto slice : function.getOps<LoopSliceOp>())
    remarkSingle(slice);
  for (auto op : llvm::to_vector(function.getOps<tensor::ExpandShapeOp>()))
    if (int64_t tripCount = getIterationsDim(op);
        tripCount >= 0 && llvm::none_of(op->getUsers(), llvm::IsaPred<ConstrainOp>))
      seed(op, tripCount);
}

namespace {
struct SeedIterations : epl::impl::SeedIterationsPassBase<SeedIterations> {
  void runOnOperation() override {
    FailureOr<SmallVector<Program>> programs = getPrograms(getOperation(), Shardings::ofArguments);
    if (failed(programs))
      return signalPassFailure();
    for (auto [function, mesh] : *programs)
      IterationSeeder(function, mesh).run();
  }
};
} // namespace
