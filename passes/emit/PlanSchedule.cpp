//===- PlanSchedule.cpp - The schedule of a module's micro-batches --------===//

#include "passes/emit/PlanSchedule.h"

#include "dialect/Channels.h"
#include "runtime/plan/format/Error.h"
#include "runtime/plan/schedule/Simulate.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-plan-schedule"

using namespace mlir;
using namespace mlir::epl;
namespace runtime = ::epl::runtime;

/// Each stage is on the mesh of its number.
static void requireStages(const std::string &name, const schedule::Table &table) {
  for (uint32_t mesh = 0; mesh < table.size(); ++mesh)
    for (schedule::Unit unit : table[mesh])
      if (unit.stage != mesh)
        throw runtime::PlanError("schedule \"" + name + "\" has unit " + schedule::toString(unit) +
                                 " on mesh " + std::to_string(mesh) + ", expected those of stage " +
                                 std::to_string(mesh));
}

FailureOr<PlanSchedule> PlanSchedule::create(ArrayRef<func::FuncOp> functions,
                                             const schedule::Schedule &schedule) {
  PlanSchedule made;
  for (func::FuncOp function : functions)
    made.addLoops(function);
  llvm::sort(made.loops, [](LoopAttr a, LoopAttr b) { return a.getId() < b.getId(); });
  made.table.resize(functions.size());
  if (made.loops.empty())
    return made;
  for (const auto &[place, own] : made.units)
    if (failed(own->verify()))
      return failure();
  made.name = schedule.name();
  made.table = schedule.make(
      {.meshes = uint32_t(functions.size()), .microBatches = uint32_t(made.loops.front().getTripCount())});
  requireStages(made.name, made.table);
  Channels channels;
  for (func::FuncOp function : functions)
    made.addChannels(function, channels);
  made.findDepths(channels);
  return made;
}

void PlanSchedule::addLoops(func::FuncOp function) {
  uint32_t stage = stages.try_emplace(function, stages.size()).first->second;
  Block &body = function.front();
  memberships.push_back(std::make_unique<Loops>(body));
  llvm::MapVector<LoopAttr, SmallVector<Operation *>> ops;
  for (Operation &op : body)
    if (LoopAttr loop = memberships.back()->getLoop(&op); isOfMicroBatches(loop))
      ops[loop].push_back(&op);
  for (auto &[loop, members] : ops) {
    if (!llvm::is_contained(loops, loop))
      loops.push_back(loop);
    units[{stage, loop.getId()}] = std::make_unique<PlanUnits>(members, *memberships.back(), stage);
  }
}

/// The ends that a function has of channels on which each iteration sends.
void PlanSchedule::addChannels(func::FuncOp function, Channels &channels) const {
  for (BlockArgument argument : function.getArguments())
    if (LoopAttr loop = getChannelLoop(argument)) {
      auto channel =
          function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), EplDialect::kChannelAttr);
      channels[channel.getInt()].receiver = getUnits(function, loop).getUnit(*argument.user_begin());
    }
  for (OpOperand &result : function.front().getTerminator()->getOpOperands())
    if (auto channel =
            function.getResultAttrOfType<IntegerAttr>(result.getOperandNumber(), EplDialect::kChannelAttr))
      if (LoopAttr loop = getChannelLoop(result.get()))
        channels[channel.getInt()].sender = getUnits(function, loop).getUnit(result.get().getDefiningOp());
}

/// A message is in its channel from the end of the unit that sends it to the begin of the one that receives
/// it.
void PlanSchedule::findDepths(const Channels &channels) {
  std::map<schedule::Unit, schedule::Span> spans;
  for (const std::vector<schedule::Span> &lane : schedule::simulate(table).spans)
    for (const schedule::Span &span : lane)
      spans.emplace(span.unit, span);
  int64_t count = loops.front().getTripCount();
  auto of = [&](schedule::Unit unit, int64_t microBatch) {
    unit.microBatch = uint32_t(microBatch);
    return spans.at(unit);
  };
  for (auto &[channel, ends] : channels) {
    int64_t depth = 1;
    for (int64_t sent = depth; sent < count; ++sent)
      while (sent >= depth && of(ends.receiver, sent - depth).begin > of(ends.sender, sent).end)
        ++depth;
    LDBG() << "channel " << channel << " from " << schedule::toString(ends.sender) << " to "
           << schedule::toString(ends.receiver) << " has room for " << depth << " messages";
    depths[channel] = depth;
  }
}
