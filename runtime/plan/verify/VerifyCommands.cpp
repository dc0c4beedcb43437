// The second stage of the plan verifier: each command by itself.

#include "runtime/plan/verify/VerifyStages.h"

#include "runtime/plan/model/Access.h"
#include "runtime/plan/model/Outside.h"
#include "runtime/plan/verify/CommandCheck.h"

#include <algorithm>
#include <set>

namespace epl::runtime {
namespace {

class Commands : CommandCheck {
public:
  Commands(const plan::PlanT &plan, Report &report) : CommandCheck(plan, 0, report), mesh(plan) {
    writable.resize(plan.slots.size());
    for (size_t slot = 0; slot < plan.slots.size(); ++slot)
      if (isResult(*plan.slots[slot]))
        writable[plan.slots[slot]->updates >= 0 ? size_t(plan.slots[slot]->updates) : slot] = true;
  }

  void run() {
    for (uint32_t command = 0; command < plan.commands.size(); ++command) {
      index = command;
      good = true;
      const plan::CommandT &current = *plan.commands[command];
      if (current.owner)
        checkOwner(current);
      checkAction(current);
      for (const plan::Guard &guard : current.guards)
        checkGuard(guard.buffer());
      if (good)
        for (const Access &access : accessesOf(plan, mesh, current)) {
          checkSlot(access);
          allRanges += access.ranges.size();
        }
      if (good && allRanges > maxAllRanges)
        fail(" brings the ranges of all commands above ", maxAllRanges);
    }
  }

private:
  void checkAction(const plan::CommandT &command) {
    const plan::ActionUnion &action = command.action;
    if (action.value == nullptr || action.type == plan::Action::NONE)
      return fail(" has no action");
    if (const plan::LaunchT *launch = action.AsLaunch())
      return checkLaunch(command, *launch);
    if (action.AsContract() || action.AsAttentionGradient()) {
      requireLocalLane(command);
      good &= checkContraction(plan, index, report);
      return;
    }
    if (const plan::CopyT *copy = action.AsCopy())
      return checkCopy(command, *copy);
    if (const plan::ReducePartT *reduce = action.AsReducePart())
      return checkReducePart(command, *reduce);
    if (const plan::GatherPartsT *gather = action.AsGatherParts())
      return checkGatherParts(command, *gather);
    if (const plan::ReduceBlocksT *reduce = action.AsReduceBlocks())
      return checkReduceBlocks(command, *reduce);
    if (const plan::ReduceToRootT *toRoot = action.AsReduceToRoot())
      return checkReduceToRoot(command, *toRoot);
    if (const plan::CopyFromRootT *fromRoot = action.AsCopyFromRoot())
      return checkCopyFromRoot(command, *fromRoot);
    if (const plan::ExchangeBlocksT *exchange = action.AsExchangeBlocks())
      return checkExchangeBlocks(command, *exchange);
    if (const plan::SendT *send = action.AsSend())
      return checkTransfer(command, plan::LaneKind::copy_out, *send, send->source);
    if (const plan::ReceiveT *receive = action.AsReceive())
      return checkTransfer(command, plan::LaneKind::copy_in, *receive, receive->target);
    if (const plan::PullT *pull = action.AsPull())
      return void(requireBuffer(pull->target)); // of which slot it is a later stage checks
    if (const plan::PushT *push = action.AsPush())
      return void(requireBuffer(push->source));
    checkGatherBlocks(command, *action.AsGatherBlocks());
  }

  void checkGuard(uint32_t buffer) {
    if (requireBuffer(buffer) && plan.buffers[buffer]->size < 1)
      fail(" is guarded by buffer ", bufferName(plan, buffer), " of 0 bytes, expected at least 1");
  }

  /// The members of a communicator meet in one lane, so that they all see its collectives in one order.
  bool requireCommunicator(const plan::CommandT &command, uint32_t communicator) {
    if (communicator >= plan.communicators.size())
      fail(" names communicator ", communicator, " of ", plan.communicators.size());
    else if (plan.lanes[command.lane]->communicator != int32_t(communicator))
      fail(" is in lane ", command.lane, ", expected a lane of communicator c", communicator);
    return good;
  }

  void checkLaunch(const plan::CommandT &command, const plan::LaunchT &launch) {
    requireLocalLane(command);
    if (launch.kernel >= plan.kernels.size())
      return fail(" names kernel ", launch.kernel, " of ", plan.kernels.size());
    const plan::KernelT &kernel = *plan.kernels[launch.kernel];
    size_t operands = kernel.operand_sizes.size(), expected = operands + (kernel.workspace > 0);
    if (launch.buffers.size() != expected)
      return fail(" has ", launch.buffers.size(), " buffers, expected ", expected, " for kernel ",
                  kernelName(plan, launch.kernel));
    for (size_t i = 0; i < expected; ++i) {
      uint32_t buffer = launch.buffers[i];
      if (!requireBuffer(buffer))
        continue;
      uint64_t size = plan.buffers[buffer]->size;
      if (i < operands && size != kernel.operand_sizes[i])
        fail(" passes buffer ", bufferName(plan, buffer), " of ", size, " bytes as operand ", i,
             " of kernel ", kernelName(plan, launch.kernel), ", expected ", kernel.operand_sizes[i]);
      else if (i == operands && size < kernel.workspace)
        fail(" passes buffer ", bufferName(plan, buffer), " of ", size, " bytes as workspace of kernel ",
             kernelName(plan, launch.kernel), ", expected at least ", kernel.workspace);
    }
  }

  void checkCopy(const plan::CommandT &command, const plan::CopyT &copy) {
    requireLocalLane(command);
    requireRange(copy.source, copy.from, copy.size);
    requireRange(copy.target, copy.to, copy.size);
  }

  void requireRange(uint32_t buffer, uint64_t begin, uint64_t bytes) {
    if (!requireBuffer(buffer))
      return;
    uint64_t size = plan.buffers[buffer]->size;
    if (begin > size || size - begin < bytes)
      fail(" copies ", bytes, " bytes at ", begin, " of buffer ", bufferName(plan, buffer), ", which has ",
           size);
  }

  /// Who sends and who receives must be sure of each other: no guards.
  template <typename ActionT>
  void checkTransfer(const plan::CommandT &command, plan::LaneKind kind, const ActionT &action,
                     uint32_t buffer) {
    if (plan.lanes[command.lane]->kind != kind)
      fail(" is in lane ", command.lane, ", expected a lane of kind ", plan::EnumNameLaneKind(kind));
    if (!command.guards.empty())
      fail(" of channel ", action.channel, " has a guard, expected none");
    if (requireSharding(action.shape, action.sharding))
      requireSize(buffer, action.type, partShape(plan, action.shape, action.sharding));
  }

  void requireSize(uint32_t buffer, plan::ElementType type, const std::vector<int64_t> &extents) {
    requireRoom(buffer, type, extents);
    if (good && tensorBytes(type, extents) != plan.buffers[buffer]->size)
      fail(" moves ", tensorBytes(type, extents), " bytes of buffer ", bufferName(plan, buffer),
           ", which has ", plan.buffers[buffer]->size);
  }

  void checkReducePart(const plan::CommandT &command, const plan::ReducePartT &reduce) {
    if (!requireCommunicator(command, reduce.communicator) || !requireTensors(reduce.tensors.size()))
      return;
    for (const plan::ReducedTensorT &tensor : reduce.tensors) {
      requireRoom(tensor.source, tensor.type, {tensor.count});
      requireRoom(tensor.target, tensor.type, {tensor.count});
      requireReduction(reduce.reduction, tensor.type);
    }
  }

  bool requireTensors(size_t count) {
    if (count == 0)
      fail(" has no tensors, expected at least one");
    return good;
  }

  void requireReduction(plan::ReductionKind reduction, plan::ElementType type) {
    bool logical = reduction >= plan::ReductionKind::all;
    if (reduction < plan::ReductionKind::MIN || reduction > plan::ReductionKind::MAX)
      fail(" has reduction ", int(reduction), ", which does not exist");
    else if (logical != (type == plan::ElementType::i1))
      fail(" combines ", plan::EnumNameElementType(type), " by ", plan::EnumNameReductionKind(reduction));
  }

  /// Spatial axes split each dimension of a tensor of `shape`, none twice, into equal parts.
  bool requireSharding(const std::vector<int64_t> &shape, const DimShardings &sharding) {
    if (sharding.size() != shape.size())
      fail(" has ", shape.size(), " dimensions and a sharding for ", sharding.size());
    std::set<std::string> used;
    for (size_t dim = 0; dim < shape.size() && good; ++dim) {
      for (const std::string &name : sharding[dim]->axes)
        if (!isAxis(name) || !used.insert(name).second)
          fail(" splits dimension ", dim, " by axis ", quoted(name),
               ", expected an axis of the mesh that splits nothing else");
      if (good && shape[dim] % partCount(plan, *sharding[dim]) != 0)
        fail(" has size ", shape[dim], " in dimension ", dim, ", which ", partCount(plan, *sharding[dim]),
             " parts do not divide");
    }
    return good;
  }

  bool isAxis(const std::string &name) const {
    return std::ranges::any_of(plan.axes, [&](const auto &axis) { return axis->name == name; });
  }

  void checkReduceBlocks(const plan::CommandT &command, const plan::ReduceBlocksT &reduce) {
    if (!requireCommunicator(command, reduce.communicator) || !requireTensors(reduce.tensors.size()))
      return;
    for (const plan::ReducedBlocksT &tensor : reduce.tensors) {
      if (!requireSharding(tensor.shape, tensor.sharding))
        return;
      requireRoom(tensor.source, tensor.type, tensor.shape);
      requireRoom(tensor.target, tensor.type, partShape(plan, tensor.shape, tensor.sharding));
      requireReduction(reduce.reduction, tensor.type);
    }
  }

  void checkExchangeBlocks(const plan::CommandT &command, const plan::ExchangeBlocksT &exchange) {
    if (!requireCommunicator(command, exchange.communicator) ||
        !requireSharding(exchange.shape, exchange.from) || !requireSharding(exchange.shape, exchange.to))
      return;
    requireMembers(exchange.communicator, exchange.from);
    requireMembers(exchange.communicator, exchange.to);
    requireRoom(exchange.source, exchange.type, partShape(plan, exchange.shape, exchange.from));
    requireRoom(exchange.target, exchange.type, partShape(plan, exchange.shape, exchange.to));
  }

  /// Who holds another part than a member is a member, too.
  void requireMembers(uint32_t communicator, const DimShardings &sharding) {
    const std::vector<std::string> &axes = plan.communicators[communicator]->axes;
    for (const auto &dim : sharding)
      for (const std::string &name : dim->axes)
        if (std::ranges::find(axes, name) == axes.end())
          fail(" exchanges parts along axis ", quoted(name), ", which communicator c", communicator,
               " does not have");
  }

  void checkGatherParts(const plan::CommandT &command, const plan::GatherPartsT &gather) {
    if (!requireCommunicator(command, gather.communicator) || !requireTensors(gather.tensors.size()))
      return;
    for (const plan::GatheredTensorT &tensor : gather.tensors)
      requireRoom(tensor.buffer, tensor.type, {tensor.count});
  }

  void checkGatherBlocks(const plan::CommandT &command, const plan::GatherBlocksT &gather) {
    if (!requireCommunicator(command, gather.communicator) || !requireTensors(gather.tensors.size()))
      return;
    for (const plan::GatheredBlocksT &tensor : gather.tensors) {
      requireRoom(tensor.source, tensor.type, {tensor.outer, tensor.inner});
      requireRoom(tensor.target, tensor.type,
                  {tensor.outer, tensor.inner, int64_t(mesh.memberCount(gather.communicator))});
    }
  }

  void checkSlot(const Access &access) {
    int32_t slot = plan.buffers[access.root]->slot;
    if (slot < 0)
      return;
    if (access.write && !writable[size_t(slot)] && !plan.commands[index]->action.AsPull())
      fail(" writes slot ", slotName(plan, uint32_t(slot)), ", which no result updates");
    for (const RankTest &test : ownersOf(*plan.slots[size_t(slot)]))
      if (std::ranges::find(access.ranks, test) == access.ranks.end())
        fail(access.write ? " writes slot " : " reads slot ", slotName(plan, uint32_t(slot)),
             " on other ranks than its owner, member ", test.member, " of communicator c", test.communicator);
  }

  bool hasAxis(const plan::Owner &owner, const std::string &name) const {
    const std::vector<std::string> &axes = plan.communicators[owner.communicator()]->axes;
    return std::ranges::find(axes, name) != axes.end();
  }

  /// Of a collective with an owner all members are that owner: the communicators have no axis in common.
  void checkOwner(const plan::CommandT &command) {
    if (std::string fault = faultOf(plan, *command.owner); !fault.empty())
      return fail(fault);
    if (int32_t communicator = plan.lanes[command.lane]->communicator; communicator >= 0)
      for (const std::string &name : plan.communicators[size_t(communicator)]->axes)
        if (hasAxis(*command.owner, name))
          fail(" has an owner on axis ", quoted(name), ", on which the members of its communicator differ");
    if (command.action.AsSend() || command.action.AsReceive())
      fail(" has an owner, expected none of what goes by a channel");
  }

  /// The root is a member of the communicator.
  bool requireRoot(uint32_t communicator, uint32_t root) {
    if (uint32_t members = mesh.memberCount(communicator); root >= members)
      fail(" has member ", root, " of ", members, " of communicator c", communicator, " as its root");
    return good;
  }

  void checkReduceToRoot(const plan::CommandT &command, const plan::ReduceToRootT &reduce) {
    if (!requireCommunicator(command, reduce.communicator) || !requireTensors(reduce.tensors.size()) ||
        !requireRoot(reduce.communicator, reduce.root))
      return;
    for (const plan::ReducedTensorT &tensor : reduce.tensors) {
      requireRoom(tensor.source, tensor.type, {tensor.count});
      requireRoom(tensor.target, tensor.type, {tensor.count});
      requireReduction(reduce.reduction, tensor.type);
    }
  }

  void checkCopyFromRoot(const plan::CommandT &command, const plan::CopyFromRootT &copy) {
    if (!requireCommunicator(command, copy.communicator) || !requireTensors(copy.tensors.size()) ||
        !requireRoot(copy.communicator, copy.root))
      return;
    for (const plan::GatheredTensorT &tensor : copy.tensors)
      requireRoom(tensor.buffer, tensor.type, {tensor.count});
  }

  Mesh mesh;
  std::vector<bool> writable; // slots that are results or updated by one
  size_t allRanges = 0;       // of the commands so far
};

} // namespace

void checkCommands(const plan::PlanT &plan, Report &report) { Commands(plan, report).run(); }

} // namespace epl::runtime
