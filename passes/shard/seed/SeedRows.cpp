//===- SeedRows.cpp - Gradients of tables by the rows that are used -------===//
//
// Problem: the gradient of an embedding is as large as the table, however few rows a batch looks up. Each
//   device adds its rows to zeros, and the sum over devices moves the whole table.
// Method: devices exchange the rows and their positions instead, and each adds all of them. Constraints make
//   both whole where the scatter reads them; it is whole then, and no sum is pending:
//
//     without   rows, positions ─ scatter into zeros ─ all_reduce of the table
//     with      rows, positions ─ all_gather ─ scatter into zeros
//
//   Scatters of which one sum is made, those of a table that is read twice, are constrained together. Their
//   constraints are assumed, and what depends on them is propagated again; they are written if devices then
//   exchange fewer bytes (AxisPlacement.h counts), by more than is little to the machine (Machine.h), since
//   sums join others, and gathers may join none. So whatever else the sum is made of, or reads an addend of
//   it, is counted: beside the product of a tied head, the sum stays, and so do the scatters. All devices add
//   in the order of the whole batch, so that the gradient has the bits of one device.
// Invariant in: arguments have their shardings, no op has one. Invariant out: the same; the constraints stand
//   in the program, which fit it.
// Reference: A. Sergeev, M. Del Balso, Horovod, 2018 (IndexedSlices are gathered); EPL's
//   `communication.sparse_as_dense`.
//
//===----------------------------------------------------------------------===//

#include "dialect/Machine.h"
#include "passes/shard/Passes.h"
#include "passes/shard/analysis/AxisPlacement.h"
#include "passes/shard/analysis/Zero.h"
#include "passes/shard/seed/WriteConstraints.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-seed-rows"

namespace mlir::epl {
#define GEN_PASS_DEF_SEEDROWSPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numDense, "Gradients of tables that are summed whole");
ALWAYS_ENABLED_STATISTIC(numSparse, "Those of which the rows are exchanged");

namespace {
/// Scatters of which one sum is made.
using Group = SmallVector<ScatterOp, 2>;

/// Seeds one step on one axis.
class RowSeeder {
public:
  RowSeeder(func::FuncOp function, MeshOp mesh, AxisAttr axis)
      : function(function), axis(axis), rules(function, mesh), zeros(function), seeded(rules, axis, {}),
        program(seedAndRun()), placement(rules, axis, program) {}

  void run();

private:
  Propagation seedAndRun() {
    seeded.update();
    Propagation run = seeded;
    run.run();
    return run;
  }
  bool isCandidate(ScatterOp scatter) const;
  Value findSum(Value addend) const;
  SmallVector<Group> findGroups() const;
  static SmallVector<OpOperand *> getExchanged(ScatterOp scatter);
  bool exchangesLess(ArrayRef<ScatterOp> group) const;
  void write(ScatterOp scatter) const;

  func::FuncOp function;
  AxisAttr axis;
  FunctionRules rules;
  ZeroAnalysis zeros;
  Propagation seeded; ///< what follows from the seeds, before loops are settled
  Propagation program;
  AxisPlacement placement;
};
} // namespace

/// Whether members each add their rows to zeros, a sum of which is pending.
bool RowSeeder::isCandidate(ScatterOp scatter) const {
  return scatter.getCombine() == CombineKind::add && zeros.isZero(scatter.getOperand()) &&
         program.getChoice(scatter) != FactorRule::kBlocked &&
         program.getState(scatter.getResult()).partial == ReductionKind::sum;
}

/// The first sum that is completed of what `addend` is added to; null if it is in none.
Value RowSeeder::findSum(Value addend) const {
  SetVector<Value> open;
  open.insert(addend);
  for (size_t i = 0; i < open.size(); ++i) {
    if (placement.isCompleted(open[i]))
      return open[i];
    for (Operation *user : open[i].getUsers())
      for (Value result : user->getResults())
        if (rules.hasPosition(user) && placement.getState(result).partial)
          open.insert(result);
  }
  return {};
}

SmallVector<Group> RowSeeder::findGroups() const {
  llvm::MapVector<Value, Group> groups;
  for (auto scatter : func::FuncOp(function).getOps<ScatterOp>())
    if (Value sum = isCandidate(scatter) ? findSum(scatter.getResult()) : Value())
      groups[sum].push_back(scatter);
  return llvm::map_to_vector(groups, [](auto &each) { return each.second; });
}

/// What all members read whole: rows and positions.
SmallVector<OpOperand *> RowSeeder::getExchanged(ScatterOp scatter) {
  SmallVector<OpOperand *> exchanged = {&scatter.getUpdatesMutable()};
  for (OpOperand &index : scatter.getIndicesMutable())
    exchanged.push_back(&index);
  return exchanged;
}

bool RowSeeder::exchangesLess(ArrayRef<ScatterOp> group) const {
  AssumedConstraints constraints;
  for (ScatterOp scatter : group)
    for (OpOperand *use : getExchanged(scatter))
      constraints.addForUse(*use, AxisState());
  Propagation then = seeded;
  then.assume(std::move(constraints));
  then.run();
  int64_t dense = placement.getTraffic(), sparse = AxisPlacement(placement, then).getTraffic();
  LDBG() << group.size() << " scatters into " << ScatterOp(group.front()).getType() << " over "
         << axis.getName() << ": " << sparse << " bytes by rows, " << dense << " by sums";
  return dense - sparse > getSmallBytes(getMachine(function));
}

void RowSeeder::write(ScatterOp scatter) const {
  for (OpOperand *use : getExchanged(scatter)) {
    ConstrainOp whole = createConstrain(use->get(), AxisState(), axis);
    copyWork(scatter, whole);
    use->set(whole);
  }
}

void RowSeeder::run() {
  // All are weighed before any is written: what is known of the program is of it as it is.
  SmallVector<Group> sparse;
  for (const Group &group : findGroups()) {
    bool isSparse = exchangesLess(group);
    ++(isSparse ? numSparse : numDense);
    if (isSparse)
      sparse.push_back(group);
  }
  for (const Group &group : sparse)
    llvm::for_each(group, [&](ScatterOp scatter) { write(scatter); });
}

namespace {
struct SeedRows : epl::impl::SeedRowsPassBase<SeedRows> {
  void runOnOperation() override {
    FailureOr<SmallVector<Program>> programs = getPrograms(getOperation(), Shardings::ofArguments);
    if (failed(programs))
      return signalPassFailure();
    for (auto [function, mesh] : *programs)
      if (!function.getOps<ScatterOp>().empty())
        forEachAxis(function, mesh, [function = function, mesh = mesh](AxisAttr axis) {
          RowSeeder(function, mesh, axis).run();
        });
  }
};
} // namespace
