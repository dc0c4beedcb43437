#include "runtime/plan/model/Cost.h"

#include "runtime/plan/model/AttentionGradient.h"
#include "runtime/plan/model/Blocks.h"

#include <algorithm>

namespace epl::runtime {

CommandKind kindOf(const plan::CommandT &command) {
  switch (command.action.type) {
  case plan::Action::ReducePart:
  case plan::Action::GatherParts:
  case plan::Action::GatherBlocks:
  case plan::Action::ReduceBlocks:
  case plan::Action::ExchangeBlocks:
  case plan::Action::ReduceToRoot:
  case plan::Action::CopyFromRoot:
    return CommandKind::collective;
  case plan::Action::Copy:
    return CommandKind::copy;
  case plan::Action::Send:
  case plan::Action::Receive:
  case plan::Action::Pull:
  case plan::Action::Push:
    return CommandKind::transfer;
  case plan::Action::Launch:
  case plan::Action::Contract:
  case plan::Action::AttentionGradient:
  case plan::Action::NONE:
    break;
  }
  return CommandKind::compute;
}

const char *kindName(CommandKind kind) {
  static constexpr const char *names[] = {"compute", "collective", "copy", "transfer"};
  return names[size_t(kind)];
}

static uint64_t sizeOf(const SharedBox &box) {
  uint64_t elements = uint64_t(box.run);
  for (const SharedBox::Loop &loop : box.loops)
    elements *= uint64_t(loop.extent);
  return elements;
}

static Cost costOfLaunch(const plan::PlanT &plan, const plan::LaunchT &launch) {
  Cost cost{.flops = plan.kernels[launch.kernel]->flops};
  for (uint32_t buffer : launch.buffers)
    cost.bytes += plan.buffers[buffer]->size;
  return cost;
}

static Cost costOfContract(const plan::PlanT &plan, const plan::ContractT &contract) {
  auto size = [&](uint32_t buffer) { return plan.buffers[buffer]->size; };
  double flops = 2.0 * double(contract.m) * double(contract.n) * double(contract.k);
  for (const auto &dim : contract.batch)
    flops *= double(dim.extent());
  uint64_t bytes = size(contract.a) + size(contract.b) + size(contract.c) * (contract.accumulate ? 2 : 1);
  if (contract.has_bias)
    bytes += size(contract.bias);
  return {.flops = int64_t(std::min(flops, 9e18)), .bytes = bytes};
}

/// That of the scores, of the softmax' gradient, and of the three that it makes: five products.
static Cost costOfGradient(const plan::PlanT &plan, const plan::AttentionGradientT &gradient) {
  AttentionGradientShape shape = shapeOf(plan, gradient);
  const std::array<int64_t, 4> &q = shape.attention.q.extents, &v = shape.attention.v.extents;
  double pairs = double(q[0]) * double(q[1]) * double(q[2]) * double(v[2]);
  double flops = 2 * pairs * (3 * double(q[3]) + 2 * double(v[3]));
  Cost cost{.flops = int64_t(std::min(flops, 9e18)), .bytes = shape.statsBytes()};
  for (const auto *operands : {&gradient.inputs, &gradient.outputs})
    for (const plan::AttentionOperand &operand : *operands)
      cost.bytes += plan.buffers[operand.buffer()]->size;
  return cost;
}

/// A member reads its own part of all members' tensors, and writes that part. Where a root sums all of it,
/// one of so many does: members work for their roots in turn.
static Cost costOfSum(const Mesh &mesh, uint32_t communicator,
                      const std::vector<plan::ReducedTensorT> &tensors) {
  Cost cost;
  for (const plan::ReducedTensorT &tensor : tensors) {
    uint64_t bytes = uint64_t(tensor.count) * elementBytes(tensor.type);
    uint64_t part = bytes / mesh.memberCount(communicator);
    cost.bytes += bytes + part;
    cost.payload += bytes;
    cost.received += bytes - part;
  }
  return cost;
}

/// A member reads and writes the parts of the others. Where all have the whole of a root, all but one do.
static Cost costOfParts(const Mesh &mesh, uint32_t communicator,
                        const std::vector<plan::GatheredTensorT> &tensors) {
  Cost cost;
  for (const plan::GatheredTensorT &tensor : tensors) {
    uint64_t bytes = uint64_t(tensor.count) * elementBytes(tensor.type);
    uint64_t others = bytes - bytes / mesh.memberCount(communicator);
    cost.bytes += 2 * others;
    cost.payload += bytes;
    cost.received += others;
  }
  return cost;
}

/// Reads its block of all members' tensors, writes it.
static Cost costOfBlocks(const plan::PlanT &plan, const Mesh &mesh, const plan::ReduceBlocksT &reduce) {
  uint64_t blocks = 0;
  for (const plan::ReducedBlocksT &tensor : reduce.tensors)
    blocks += plan.buffers[tensor.target]->size;
  uint64_t tensors = blocks * mesh.memberCount(reduce.communicator);
  return {.bytes = tensors + blocks, .payload = tensors, .received = tensors - blocks};
}

/// Reads all members' parts and writes them.
static Cost costOfGather(const plan::PlanT &plan, const plan::GatherBlocksT &gather) {
  Cost cost;
  for (const plan::GatheredBlocksT &tensor : gather.tensors) {
    uint64_t whole = plan.buffers[tensor.target]->size;
    cost.bytes += 2 * whole;
    cost.payload += whole;
    cost.received += whole - plan.buffers[tensor.source]->size;
  }
  return cost;
}

static Cost costOfExchange(const plan::PlanT &plan, const Mesh &mesh, const plan::ExchangeBlocksT &exchange) {
  uint64_t part = plan.buffers[exchange.target]->size, received = 0;
  for (uint32_t rank = 0; rank < mesh.devices(); ++rank)
    for (const Piece &piece : piecesOf(plan, mesh, exchange, rank))
      if (piece.holder != rank)
        received += sizeOf(piece.box) * elementBytes(exchange.type);
  return {.bytes = 2 * part, .payload = part, .received = received / mesh.devices()};
}

/// On a rank that does it.
static Cost costOfAction(const plan::PlanT &plan, const Mesh &mesh, const plan::ActionUnion &action) {
  if (const auto *launch = action.AsLaunch())
    return costOfLaunch(plan, *launch);
  if (const auto *contract = action.AsContract())
    return costOfContract(plan, *contract);
  if (const auto *gradient = action.AsAttentionGradient())
    return costOfGradient(plan, *gradient);
  if (const auto *reduce = action.AsReducePart())
    return costOfSum(mesh, reduce->communicator, reduce->tensors);
  if (const auto *parts = action.AsGatherParts())
    return costOfParts(mesh, parts->communicator, parts->tensors);
  if (const auto *blocks = action.AsGatherBlocks())
    return costOfGather(plan, *blocks);
  if (const auto *reduce = action.AsReduceBlocks())
    return costOfBlocks(plan, mesh, *reduce);
  if (const auto *exchange = action.AsExchangeBlocks())
    return costOfExchange(plan, mesh, *exchange);
  if (const auto *reduce = action.AsReduceToRoot())
    return costOfSum(mesh, reduce->communicator, reduce->tensors);
  if (const auto *copy = action.AsCopyFromRoot())
    return costOfParts(mesh, copy->communicator, copy->tensors);
  if (const auto *copy = action.AsCopy())
    return {.bytes = 2 * copy->size};
  if (const auto *send = action.AsSend()) {
    uint64_t part = plan.buffers[send->source]->size;
    return {.bytes = 2 * part, .payload = part};
  }
  if (const auto *receive = action.AsReceive()) {
    uint64_t part = plan.buffers[receive->target]->size;
    return {.bytes = 2 * part, .payload = part, .received = part};
  }
  // Whoever is outside writes where the argument is, and reads where the result is.
  if (const auto *pull = action.AsPull()) {
    uint64_t part = plan.buffers[pull->target]->size;
    return {.payload = part, .received = part};
  }
  if (const auto *push = action.AsPush())
    return {.payload = plan.buffers[push->source]->size};
  return {};
}

Cost costOf(const plan::PlanT &plan, const Mesh &mesh, const plan::CommandT &command) {
  Cost cost = costOfAction(plan, mesh, command.action);
  if (!command.owner)
    return cost;
  uint32_t members = mesh.memberCount(command.owner->communicator());
  return {cost.flops / members, cost.bytes / members, cost.payload / members, cost.received / members};
}

} // namespace epl::runtime
