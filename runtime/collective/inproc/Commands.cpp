#include "runtime/collective/inproc/Commands.h"

#include "runtime/Error.h"
#include "runtime/collective/inproc/Collective.h"

namespace epl::runtime {

namespace {

/// A command that reads the memory of all members of a communicator.
class MembersCommand : public Command {
public:
  size_t numPointers() const override { return members; }

protected:
  MembersCommand(const plan::PlanT &plan, uint32_t communicator)
      : communicator(communicator), members(Mesh(plan).memberCount(communicator)) {}

  /// The members' memory of one buffer, in member order.
  std::span<void *> memberBuffers(const CommandContext &context, uint32_t buffer) const {
    auto ranks = context.topology.members(communicator, context.rank);
    for (size_t i = 0; i < ranks.size(); ++i)
      context.pointers[i] = context.addressOf(ranks[i], buffer);
    return {context.pointers, ranks.size()};
  }
  /// The place of the rank among them.
  size_t self(const CommandContext &context) const {
    return context.topology.position(communicator, context.rank);
  }

private:
  uint32_t communicator;
  size_t members;
};

class ReducePart final : public MembersCommand {
public:
  ReducePart(const plan::PlanT &plan, const plan::ReducePartT &action)
      : MembersCommand(plan, action.communicator), action(action) {
    for (const plan::ReducedTensorT &tensor : action.tensors)
      combine.push_back(combineFunction(action.reduction, tensor.type));
  }

  CommandState start(const CommandContext &context) override {
    for (size_t i = 0; i < action.tensors.size(); ++i) {
      const plan::ReducedTensorT &tensor = action.tensors[i];
      reducePart(combine[i], memberBuffers(context, tensor.source), self(context),
                 context.addresses.get(context.rank, tensor.target), tensor.count);
    }
    return CommandState::done;
  }

  void startOn(const CommandContext &context, const ByteRun &run) override {
    for (size_t i = 0; i < action.tensors.size(); ++i)
      if (const plan::ReducedTensorT &tensor = action.tensors[i]; tensor.source == run.buffer) {
        auto size = int64_t(elementBytes(tensor.type));
        reducePart(combine[i], memberBuffers(context, tensor.source), self(context),
                   context.addresses.get(context.rank, tensor.target), tensor.count,
                   {int64_t(run.bytes.begin) / size, int64_t(run.bytes.end) / size});
      }
  }

private:
  const plan::ReducePartT &action;
  std::vector<CombineFunction> combine; // of each tensor
};

class GatherParts final : public MembersCommand {
public:
  GatherParts(const plan::PlanT &plan, const plan::GatherPartsT &action)
      : MembersCommand(plan, action.communicator), action(action) {}

  CommandState start(const CommandContext &context) override {
    for (const plan::GatheredTensorT &tensor : action.tensors)
      gatherParts(memberBuffers(context, tensor.buffer), context.addresses.get(context.rank, tensor.buffer),
                  tensor.count, elementBytes(tensor.type));
    return CommandState::done;
  }

private:
  const plan::GatherPartsT &action;
};

/// Ranks that are not the root do nothing.
class ReduceToRoot final : public MembersCommand {
public:
  ReduceToRoot(const plan::PlanT &plan, const plan::ReduceToRootT &action)
      : MembersCommand(plan, action.communicator), action(action) {
    for (const plan::ReducedTensorT &tensor : action.tensors)
      combine.push_back(combineFunction(action.reduction, tensor.type));
  }

  CommandState start(const CommandContext &context) override {
    if (self(context) != action.root)
      return CommandState::skipped;
    for (size_t i = 0; i < action.tensors.size(); ++i) {
      const plan::ReducedTensorT &tensor = action.tensors[i];
      reduceWhole(combine[i], memberBuffers(context, tensor.source),
                  context.addresses.get(context.rank, tensor.target), tensor.count);
    }
    return CommandState::done;
  }

  void startOn(const CommandContext &context, const ByteRun &run) override {
    for (size_t i = 0; i < action.tensors.size(); ++i)
      if (const plan::ReducedTensorT &tensor = action.tensors[i]; tensor.source == run.buffer) {
        auto size = int64_t(elementBytes(tensor.type));
        reduceWhole(combine[i], memberBuffers(context, tensor.source),
                    context.addresses.get(context.rank, tensor.target), tensor.count,
                    {int64_t(run.bytes.begin) / size, int64_t(run.bytes.end) / size});
      }
  }

private:
  const plan::ReduceToRootT &action;
  std::vector<CombineFunction> combine; // of each tensor
};

class CopyFromRoot final : public MembersCommand {
public:
  CopyFromRoot(const plan::PlanT &plan, const plan::CopyFromRootT &action)
      : MembersCommand(plan, action.communicator), action(action) {}

  CommandState start(const CommandContext &context) override {
    if (self(context) == action.root)
      return CommandState::skipped;
    for (const plan::GatheredTensorT &tensor : action.tensors)
      copyWhole(memberBuffers(context, tensor.buffer)[action.root],
                context.addresses.get(context.rank, tensor.buffer),
                size_t(tensor.count) * elementBytes(tensor.type));
    return CommandState::done;
  }

private:
  const plan::CopyFromRootT &action;
};

class GatherBlocks final : public MembersCommand {
public:
  GatherBlocks(const plan::PlanT &plan, const plan::GatherBlocksT &action)
      : MembersCommand(plan, action.communicator), action(action) {}

  CommandState start(const CommandContext &context) override {
    for (const plan::GatheredBlocksT &tensor : action.tensors)
      gatherBlocks(memberBuffers(context, tensor.source), context.addresses.get(context.rank, tensor.target),
                   tensor.outer, tensor.inner, elementBytes(tensor.type));
    return CommandState::done;
  }

private:
  const plan::GatherBlocksT &action;
};

/// Who combines what is computed once, for all ranks.
class ReduceBlocks final : public MembersCommand {
public:
  ReduceBlocks(const plan::PlanT &plan, const plan::ReduceBlocksT &action)
      : MembersCommand(plan, action.communicator) {
    Mesh mesh(plan);
    for (const plan::ReducedBlocksT &tensor : action.tensors) {
      tensors.push_back({combineFunction(action.reduction, tensor.type), tensor, {}});
      for (uint32_t rank = 0; rank < mesh.devices(); ++rank)
        tensors.back().boxes.push_back(boxOf(plan, mesh, tensor, rank));
    }
  }

  CommandState start(const CommandContext &context) override {
    for (const Tensor &tensor : tensors)
      reduceBox(tensor.combine, memberBuffers(context, tensor.action.source),
                context.addresses.get(context.rank, tensor.action.target), tensor.boxes[context.rank],
                elementBytes(tensor.action.type));
    return CommandState::done;
  }

private:
  struct Tensor {
    CombineFunction combine;
    const plan::ReducedBlocksT &action;
    std::vector<SharedBox> boxes; // of each rank
  };
  std::vector<Tensor> tensors;
};

class ExchangeBlocks final : public Command {
public:
  ExchangeBlocks(const plan::PlanT &plan, const plan::ExchangeBlocksT &action)
      : elementSize(elementBytes(action.type)), action(action) {
    Mesh mesh(plan);
    for (uint32_t rank = 0; rank < mesh.devices(); ++rank)
      pieces.push_back(piecesOf(plan, mesh, action, rank));
  }

  CommandState start(const CommandContext &context) override {
    for (const Piece &piece : pieces[context.rank])
      copyBox(context.addressOf(piece.holder, action.source),
              context.addresses.get(context.rank, action.target), piece.box, elementSize);
    return CommandState::done;
  }

private:
  size_t elementSize;
  const plan::ExchangeBlocksT &action;
  std::vector<std::vector<Piece>> pieces; // of each rank
};

class Send final : public Command {
public:
  Send(const ChannelMemory &channels, const plan::SendT &action) : channels(channels), action(action) {}

  CommandState start(const CommandContext &context) override {
    channels.send(action.channel, action.message, context.rank,
                  context.addresses.get(context.rank, action.source));
    return CommandState::done;
  }

private:
  const ChannelMemory &channels;
  const plan::SendT &action;
};

class Receive final : public Command {
public:
  Receive(const ChannelMemory &channels, const plan::ReceiveT &action) : channels(channels), action(action) {}

  CommandState start(const CommandContext &context) override {
    channels.receive(action.channel, action.message, context.rank,
                     context.addresses.get(context.rank, action.target), context.fetched);
    return CommandState::done;
  }

private:
  const ChannelMemory &channels;
  const plan::ReceiveT &action;
};

} // namespace

std::unique_ptr<Command> bindCollective(const plan::PlanT &plan, const plan::ActionUnion &action,
                                        const ChannelMemory &channels) {
  switch (action.type) {
  case plan::Action::ReducePart:
    return std::make_unique<ReducePart>(plan, *action.AsReducePart());
  case plan::Action::GatherParts:
    return std::make_unique<GatherParts>(plan, *action.AsGatherParts());
  case plan::Action::GatherBlocks:
    return std::make_unique<GatherBlocks>(plan, *action.AsGatherBlocks());
  case plan::Action::ReduceBlocks:
    return std::make_unique<ReduceBlocks>(plan, *action.AsReduceBlocks());
  case plan::Action::ReduceToRoot:
    return std::make_unique<ReduceToRoot>(plan, *action.AsReduceToRoot());
  case plan::Action::CopyFromRoot:
    return std::make_unique<CopyFromRoot>(plan, *action.AsCopyFromRoot());
  case plan::Action::ExchangeBlocks:
    return std::make_unique<ExchangeBlocks>(plan, *action.AsExchangeBlocks());
  case plan::Action::Send:
    return std::make_unique<Send>(channels, *action.AsSend());
  case plan::Action::Receive:
    return std::make_unique<Receive>(channels, *action.AsReceive());
  default:
    throw Error("the plan has a command without an action that collectives within a process know");
  }
}

} // namespace epl::runtime
