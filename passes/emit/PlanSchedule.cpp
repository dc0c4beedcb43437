//===- PlanSchedule.cpp - The schedule of a module's micro-batches --------===//

#include "passes/emit/PlanSchedule.h"

#include "dialect/Channels.h"
#include "runtime/plan/format/Error.h"
#include "runtime/plan/schedule/Rings.h"

#include "llvm/Support/DebugLog.h"

#include <set>

#define DEBUG_TYPE "epl-plan-schedule"

using namespace mlir;
using namespace mlir::epl;
namespace runtime = ::epl::runtime;

FailureOr<PlanSchedule> PlanSchedule::create(ArrayRef<func::FuncOp> functions,
                                             const schedule::Schedule &schedule) {
  PlanSchedule made;
  made.findStages(functions, schedule);
  for (func::FuncOp function : functions)
    made.addLoops(function);
  llvm::sort(made.loops, [](LoopAttr a, LoopAttr b) { return a.getId() < b.getId(); });
  made.table.resize(functions.size());
  if (made.loops.empty())
    return made;
  for (const auto &[place, own] : made.units)
    if (failed(own->verify()))
      return failure();
  Channels channels;
  for (func::FuncOp function : functions)
    made.addChannels(function, channels);
  if (failed(made.makeTable(schedule, functions.front()->getParentOfType<ModuleOp>())) ||
      failed(made.verifyUnits()))
    return failure();
  for (LoopAttr loop : made.loops)
    if (failed(made.verifyFlow(channels, loop)))
      return failure();
  made.findDepths(channels);
  return made;
}

/// A task graph is a stage. On one mesh all are one, unless a table takes them apart.
void PlanSchedule::findStages(ArrayRef<func::FuncOp> functions, const schedule::Schedule &schedule) {
  for (auto [mesh, function] : llvm::enumerate(functions))
    meshes[function] = uint32_t(mesh);
  auto module = functions.front()->getParentOfType<ModuleOp>();
  bool isOne = functions.size() == 1 && schedule.extents().stages < 2;
  for (auto taskgraph : module.getOps<TaskGraphOp>()) {
    uint32_t number = isOne ? 0 : numStages++;
    stages->try_emplace(taskgraph.getSymName(), number, schedule.splitsBackward(number));
  }
  numStages = std::max(numStages, 1u);
}

/// The first of the stages on the mesh of a function.
uint32_t PlanSchedule::getFirstStage(func::FuncOp function) const {
  auto mesh = function->getAttrOfType<FlatSymbolRefAttr>(EplDialect::kMeshAttr);
  for (auto taskgraph : function->getParentOfType<ModuleOp>().getOps<TaskGraphOp>())
    if (mesh && taskgraph.getMeshAttr() == mesh)
      return stages->lookup(taskgraph.getSymName()).number;
  return 0;
}

void PlanSchedule::addLoops(func::FuncOp function) {
  Block &body = function.front();
  memberships.push_back(std::make_unique<Loops>(body));
  llvm::MapVector<LoopAttr, SmallVector<Operation *>> ops;
  for (Operation &op : body)
    if (LoopAttr loop = getMicroBatchLoop(memberships.back()->getLoop(&op)))
      ops[loop].push_back(&op);
  for (auto &[loop, members] : ops) {
    if (!llvm::is_contained(loops, loop))
      loops.push_back(loop);
    units[{meshes.lookup(function), loop.getId()}] =
        std::make_unique<PlanUnits>(members, *memberships.back(), *stages, getFirstStage(function));
  }
}

/// Schedules of several stages on a mesh are those of several meshes: one alone has nothing to wait for. A
/// table that there is not for these numbers is an error at the first scope.
LogicalResult PlanSchedule::makeTable(const schedule::Schedule &schedule, ModuleOp module) {
  bool needsMore = numStages == 1 && schedule.hasSeveralStages();
  const schedule::Schedule &taken = needsMore ? schedule::Schedule::of("1f1b") : schedule;
  name = taken.name();
  try {
    table = taken.make(uint32_t(meshes.size()), numStages, uint32_t(loops.front().getTripCount()));
    return success();
  } catch (const runtime::PlanError &error) {
    auto taskgraphs = module.getOps<TaskGraphOp>();
    Operation *place = taskgraphs.empty() ? module.getOperation() : *taskgraphs.begin();
    return emitError(place->getLoc()) << error.what();
  }
}

/// Every unit of the program is on the mesh that the table says.
LogicalResult PlanSchedule::verifyUnits() const {
  for (const auto &[place, own] : units)
    for (schedule::Unit unit : own->getUnits())
      if (!llvm::is_contained(table[place.first], unit))
        return own->getOps(unit).front()->emitError()
               << "schedule \"" << name << "\" has no unit " << schedule::toString(unit) << " on mesh "
               << place.first << ", where the step does its work";
  return success();
}

static schedule::Unit withMicroBatch(schedule::Unit unit, uint32_t microBatch) {
  return {unit.stage, unit.kind, microBatch};
}

/// What a loop does of the table: units that have ops, each behind those that send what it receives, whatever
/// the table's flow is.
schedule::Work PlanSchedule::getWork(const Channels &channels, LoopAttr loop) const {
  std::set<schedule::Unit> having; // of micro-batch 0, as all
  for (const auto &[place, own] : units)
    if (place.second == loop.getId())
      for (schedule::Unit unit : own->getUnits())
        having.insert(unit);
  auto own = llvm::to_vector(llvm::make_filter_range(
      llvm::make_second_range(channels), [&](const Ends &ends) { return ends.areOfUnits(loop); }));
  // A unit receives in the order of its slices.
  llvm::sort(own, [](const Ends &a, const Ends &b) {
    return a.receiver == b.receiver ? a.slice->isBeforeInBlock(b.slice) : a.receiver < b.receiver;
  });
  std::map<schedule::Unit, std::vector<schedule::Unit>> senders;
  for (const Ends &ends : own)
    senders[ends.receiver].push_back(ends.sender);
  auto has = [having = std::move(having)](schedule::Unit unit) {
    return having.contains(withMicroBatch(unit, 0));
  };
  auto getNeeds = [senders = std::move(senders)](schedule::Unit unit) {
    auto own = senders.find(withMicroBatch(unit, 0));
    std::vector<schedule::Unit> needs = own == senders.end() ? std::vector<schedule::Unit>() : own->second;
    for (schedule::Unit &need : needs)
      need = withMicroBatch(need, unit.microBatch);
    return needs;
  };
  return {.has = std::move(has), .needs = std::move(getNeeds)};
}

/// Does the units of the table, each when what it receives has been sent: none is left.
LogicalResult PlanSchedule::verifyFlow(const Channels &channels, LoopAttr loop) const {
  std::set<schedule::Unit> done;
  std::vector<size_t> counts = schedule::walk(table, schedule::Flow(table), getWork(channels, loop).needs,
                                              [&](size_t, schedule::Unit unit) { done.insert(unit); });
  for (auto [lane, count] : llvm::zip_equal(table, counts))
    for (auto &[channel, ends] : channels) {
      if (count == lane.size() || !ends.areOfUnits(loop) || ends.receiver != withMicroBatch(lane[count], 0))
        continue;
      if (auto sender = withMicroBatch(ends.sender, lane[count].microBatch); !done.contains(sender))
        return ends.slice->emitError() << "unit " << schedule::toString(lane[count]) << " reads what unit "
                                       << schedule::toString(sender)
                                       << " makes, which waits for it in this schedule" << kExpectedStages;
    }
  return success();
}

/// The ends that a function has of channels on which each iteration sends.
void PlanSchedule::addChannels(func::FuncOp function, Channels &channels) const {
  for (BlockArgument argument : function.getArguments())
    if (LoopAttr loop = getChannelLoop(argument)) {
      auto channel =
          function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), EplDialect::kChannelAttr);
      Ends &ends = channels[channel.getInt()];
      ends.slice = *argument.user_begin();
      ends.receiving = loop;
      ends.receiver = getUnits(function, loop).getUnit(ends.slice);
    }
  for (OpOperand &result : function.front().getTerminator()->getOpOperands())
    if (auto channel =
            function.getResultAttrOfType<IntegerAttr>(result.getOperandNumber(), EplDialect::kChannelAttr))
      if (LoopAttr loop = isSentInMessages(result) ? getChannelLoop(result.get()) : LoopAttr()) {
        Ends &ends = channels[channel.getInt()];
        ends.sending = loop;
        ends.sender = getUnits(function, loop).getUnit(result.get().getDefiningOp());
      }
}

/// When units run is a matter of what they receive: by the table's flow, which may be another one, rings
/// could be so short that the step never ends. What a later loop receives is kept until all of it is there.
void PlanSchedule::findDepths(const Channels &channels) {
  for (auto &[channel, ends] : channels)
    depths[channel] = loops.front().getTripCount();
  for (LoopAttr loop : loops) {
    schedule::Rings rings(table, getWork(channels, loop));
    for (auto &[channel, ends] : channels)
      if (ends.areOfUnits(loop))
        depths[channel] = rings.depth(ends.sender, ends.receiver);
  }
  for (auto &[channel, ends] : channels)
    LDBG() << "channel " << channel << " from " << schedule::toString(ends.sender) << " to "
           << schedule::toString(ends.receiver) << " has room for " << depths[channel] << " messages";
}
