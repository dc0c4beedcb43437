#include "runtime/executor/Actions.h"

#include "runtime/Error.h"
#include "runtime/collective/inproc/Collective.h"

#include <algorithm>
#include <cstring>

namespace epl::runtime {

Actions::Actions(const plan::PlanT &plan, const Topology &topology, const Image &image,
                 const Channels &channels) {
  for (uint32_t communicator = 0; communicator < plan.communicators.size(); ++communicator)
    maxPointers = std::max<size_t>(maxPointers, topology.groupSize(communicator));
  for (const auto &command : plan.commands) {
    bound.push_back(bind(plan, command->action, image, channels));
    guards.emplace_back(command->guards);
    if (const auto *launch = command->action.AsLaunch())
      maxPointers = std::max(maxPointers, launch->buffers.size());
  }
}

Actions::Bound Actions::bind(const plan::PlanT &plan, const plan::ActionUnion &action, const Image &image,
                             const Channels &channels) {
  switch (action.type) {
  case plan::Action::Launch: {
    const plan::LaunchT &launch = *action.AsLaunch();
    const plan::KernelT &kernel = *plan.kernels[launch.kernel];
    if (kernel.factorization)
      return Factorize{Factorization(*kernel.factorization), kernel.extent, launch.buffers};
    return Launch{image.find(kernel.symbol), kernel.extent, launch.buffers};
  }
  case plan::Action::Contract:
    return Contract{Contraction(*action.AsContract()), *action.AsContract()};
  case plan::Action::ReducePart: {
    const plan::ReducePartT &reduce = *action.AsReducePart();
    std::vector<CombineFunction> combine;
    combine.reserve(reduce.tensors.size());
    for (const plan::ReducedTensorT &tensor : reduce.tensors)
      combine.push_back(combineFunction(reduce.reduction, tensor.type));
    return ReducePart{std::move(combine), reduce};
  }
  case plan::Action::GatherParts:
    return GatherParts{*action.AsGatherParts()};
  case plan::Action::GatherBlocks:
    return GatherBlocks{*action.AsGatherBlocks()};
  case plan::Action::Copy: {
    const plan::CopyT &copy = *action.AsCopy();
    return Copy{copy.source, copy.target, copy.from, copy.to, copy.size};
  }
  case plan::Action::ReduceBlocks:
    return bindBlocks(plan, *action.AsReduceBlocks());
  case plan::Action::ExchangeBlocks:
    return bindBlocks(plan, *action.AsExchangeBlocks());
  case plan::Action::Send:
    return Send{channels, action.AsSend()->channel, action.AsSend()->source};
  case plan::Action::Receive:
    return Receive{channels, action.AsReceive()->channel, action.AsReceive()->target};
  case plan::Action::NONE:
    break;
  }
  throw Error("the plan has a command without an action that this runtime knows");
}

/// Who combines what, for all ranks: computed once.
Actions::Bound Actions::bindBlocks(const plan::PlanT &plan, const plan::ReduceBlocksT &reduce) {
  Mesh mesh(plan);
  ReduceBlocks bound{reduce.communicator, {}};
  for (const plan::ReducedBlocksT &tensor : reduce.tensors) {
    std::vector<SharedBox> boxes;
    boxes.reserve(mesh.devices());
    for (uint32_t rank = 0; rank < mesh.devices(); ++rank)
      boxes.push_back(boxOf(plan, mesh, tensor, rank));
    bound.tensors.push_back({combineFunction(reduce.reduction, tensor.type), tensor, std::move(boxes)});
  }
  return bound;
}

Actions::Bound Actions::bindBlocks(const plan::PlanT &plan, const plan::ExchangeBlocksT &exchange) {
  Mesh mesh(plan);
  std::vector<std::vector<Piece>> pieces;
  pieces.reserve(mesh.devices());
  for (uint32_t rank = 0; rank < mesh.devices(); ++rank)
    pieces.push_back(piecesOf(plan, mesh, exchange, rank));
  return ExchangeBlocks{elementBytes(exchange.type), exchange, std::move(pieces)};
}

bool Actions::run(uint32_t command, const ActionContext &context) const {
  for (const plan::Guard &guard : guards[command])
    if ((*static_cast<const uint8_t *>(context.addresses.get(context.rank, guard.buffer())) != 0) !=
        guard.expected())
      return false;
  std::visit([&](const auto &action) { action.run(context); }, bound[command]);
  return true;
}

/// Where a launch finds its buffers.
static void *const *findBuffers(const ActionContext &context, std::span<const uint32_t> buffers) {
  for (size_t i = 0; i < buffers.size(); ++i)
    context.pointers[i] = context.addresses.get(context.rank, buffers[i]);
  return context.pointers;
}

void Actions::Launch::run(const ActionContext &context) const {
  void *const *operands = findBuffers(context, buffers);
  entry(operands, context.topology.coordinates(context.rank).data(), 0, extent);
}

void Actions::Factorize::run(const ActionContext &context) const {
  factorization.run(findBuffers(context, buffers), 0, extent);
}

void Actions::Contract::run(const ActionContext &context) const {
  auto address = [&](uint32_t buffer) { return context.addresses.get(context.rank, buffer); };
  contraction.run(address(action.a), address(action.b), address(action.c));
}

/// The members' memory of one buffer, in member order.
static std::span<void *> memberBuffers(const ActionContext &context, uint32_t communicator, uint32_t buffer) {
  auto members = context.topology.members(communicator, context.rank);
  for (size_t i = 0; i < members.size(); ++i)
    context.pointers[i] = context.addresses.get(members[i], buffer);
  return {context.pointers, members.size()};
}

void Actions::ReducePart::run(const ActionContext &context) const {
  size_t self = context.topology.position(action.communicator, context.rank);
  for (size_t i = 0; i < action.tensors.size(); ++i) {
    const plan::ReducedTensorT &tensor = action.tensors[i];
    reducePart(combine[i], memberBuffers(context, action.communicator, tensor.source), self,
               context.addresses.get(context.rank, tensor.target), tensor.count);
  }
}

void Actions::GatherParts::run(const ActionContext &context) const {
  size_t self = context.topology.position(action.communicator, context.rank);
  for (const plan::GatheredTensorT &tensor : action.tensors)
    gatherParts(memberBuffers(context, action.communicator, tensor.buffer), self,
                context.addresses.get(context.rank, tensor.buffer), tensor.count, elementBytes(tensor.type));
}

void Actions::GatherBlocks::run(const ActionContext &context) const {
  for (const plan::GatheredBlocksT &tensor : action.tensors)
    gatherBlocks(memberBuffers(context, action.communicator, tensor.source),
                 context.addresses.get(context.rank, tensor.target), tensor.outer, tensor.inner,
                 elementBytes(tensor.type));
}

void Actions::ReduceBlocks::run(const ActionContext &context) const {
  for (const Tensor &tensor : tensors)
    reduceBox(tensor.combine, memberBuffers(context, communicator, tensor.action.source),
              context.addresses.get(context.rank, tensor.action.target), tensor.boxes[context.rank],
              elementBytes(tensor.action.type));
}

void Actions::ExchangeBlocks::run(const ActionContext &context) const {
  for (const Piece &piece : pieces[context.rank])
    copyBox(context.addresses.get(piece.holder, action.source),
            context.addresses.get(context.rank, action.target), piece.box, elementSize);
}

void Actions::Send::run(const ActionContext &context) const {
  channels.send(channel, context.rank, context.addresses.get(context.rank, source));
}

void Actions::Receive::run(const ActionContext &context) const {
  channels.receive(channel, context.rank, context.addresses.get(context.rank, target));
}

void Actions::Copy::run(const ActionContext &context) const {
  auto at = [&](uint32_t buffer, size_t offset) {
    return static_cast<std::byte *>(context.addresses.get(context.rank, buffer)) + offset;
  };
  if (size != 0)
    std::memmove(at(target, to), at(source, from), size);
}

} // namespace epl::runtime
