//===- PlanSchedule.h - The schedule of a module's micro-batches -*- C++ -*-===//
//
// Each function of a module is a stage of the pipeline, on the mesh of its number. A table says in which
// order it does its units (runtime/plan/schedule/Table.h); this says which table that is, and what follows
// from it for what stages send each other.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/emit/PlanUnits.h"
#include "runtime/plan/schedule/Flow.h"
#include "runtime/plan/schedule/Schedule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::epl {

/// How errors end where a unit reads what the schedule has made later.
inline constexpr llvm::StringLiteral kExpectedStages =
    "; expected stages of a pipeline in the order in which data flows through them, or one micro-batch "
    "(\"pipeline.num_micro_batch\")";

class PlanSchedule {
public:
  /// Of all functions that a plan is made of, in the order of their meshes. Fails, with an error at the op,
  /// or at the first scope, if the program can't be done by this schedule.
  static FailureOr<PlanSchedule> create(ArrayRef<func::FuncOp> functions, const schedule::Schedule &schedule);

  StringRef getName() const { return name; }
  /// The loops over micro-batches of all functions, in their order.
  ArrayRef<LoopAttr> getLoops() const { return loops; }
  /// The units of a function, each loop's, in the order in which it does them.
  const std::vector<schedule::Unit> &getLane(func::FuncOp function) const {
    return table[meshes.lookup(function)];
  }
  /// What the units of a loop are in a function that has a part of it.
  const PlanUnits &getUnits(func::FuncOp function, LoopAttr loop) const {
    return *units.at({meshes.lookup(function), loop.getId()});
  }
  /// For how many messages a channel needs room, so that no send waits for any: 1 outside of the loops.
  int64_t getDepth(int64_t channel) const { return depths.lookup_or(channel, 1); }

private:
  /// The units that send and receive each message of a channel, of micro-batch 0, and what takes it.
  struct Ends {
    schedule::Unit sender, receiver;
    LoopAttr sending, receiving; ///< the loops whose iterations do
    Operation *slice = nullptr;

    bool areOfUnits(LoopAttr loop) const { return slice && sending == loop && receiving == loop; }
  };
  using Channels = llvm::MapVector<int64_t, Ends>;

  void findStages(ArrayRef<func::FuncOp> functions, const schedule::Schedule &schedule);
  uint32_t getFirstStage(func::FuncOp function) const;
  void addLoops(func::FuncOp function);
  LogicalResult makeTable(const schedule::Schedule &schedule, ModuleOp module);
  LogicalResult verifyUnits() const;
  schedule::Work getWork(const Channels &channels, LoopAttr loop) const;
  LogicalResult verifyFlow(const Channels &channels, LoopAttr loop) const;
  void addChannels(func::FuncOp function, Channels &channels) const;
  void findDepths(const Channels &channels);

  std::string name;
  schedule::Table table;
  SmallVector<LoopAttr> loops;
  DenseMap<func::FuncOp, uint32_t> meshes; ///< by number
  std::unique_ptr<Stages> stages = std::make_unique<Stages>();
  uint32_t numStages = 0;
  std::vector<std::unique_ptr<Loops>> memberships; ///< of each function's ops
  std::map<std::pair<uint32_t, int64_t>, std::unique_ptr<PlanUnits>> units;
  DenseMap<int64_t, int64_t> depths;
};

} // namespace mlir::epl
