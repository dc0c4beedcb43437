#include "runtime/device/cuda/Moves.h"

#include "runtime/plan/model/Access.h"

namespace epl::runtime::cuda {

namespace {

class MoveFinder {
public:
  MoveFinder(const plan::PlanT &plan, const Channels &channels, const Topology &topology, uint32_t rank,
             const MoveAddresses &addresses)
      : plan(plan), mesh(plan), channels(channels), topology(topology), rank(rank), addresses(addresses) {}

  Moves find(const plan::ActionUnion &action);

private:
  void add(const plan::CopyT &copy);
  void add(const plan::ReducePartT &reduce);
  void add(const plan::GatherPartsT &gather);
  void add(const plan::ReduceToRootT &reduce);
  void add(const plan::CopyFromRootT &copy);
  void add(const plan::GatherBlocksT &gather);
  void add(const plan::ReduceBlocksT &reduce);
  void add(const plan::ExchangeBlocksT &exchange);
  void add(const plan::SendT &send);
  void add(const plan::ReceiveT &receive);

  unsigned long own(uint32_t buffer) const { return addresses.buffer(rank, buffer); }
  std::span<const uint32_t> members(uint32_t communicator) const {
    return topology.members(communicator, rank);
  }
  void copy(unsigned long from, unsigned long to, uint64_t bytes) {
    if (bytes != 0 && from != to)
      moves.copies.push_back({to, from, bytes});
  }
  void copyBox(unsigned long from, unsigned long to, const SharedBox &box, uint64_t size) {
    box.forEachRun([&](int64_t source, int64_t target) {
      copy(from + uint64_t(source) * size, to + uint64_t(target) * size, uint64_t(box.run) * size);
    });
  }
  Sums &sumsOf(plan::ReductionKind reduction, plan::ElementType type, uint32_t communicator);
  /// Elements from `source` on of each member's buffer to those of an own one from `target` on.
  void sum(Sums &sums, uint32_t communicator, uint32_t from, int64_t source, uint32_t to, int64_t target,
           int64_t count, uint64_t size);

  const plan::PlanT &plan;
  Mesh mesh;
  const Channels &channels;
  const Topology &topology;
  uint32_t rank;
  const MoveAddresses &addresses;
  Moves moves;
};

} // namespace

Sums &MoveFinder::sumsOf(plan::ReductionKind reduction, plan::ElementType type, uint32_t communicator) {
  std::string kernel =
      std::string("epl_") + plan::EnumNameReductionKind(reduction) + "_" + plan::EnumNameElementType(type);
  auto count = uint32_t(members(communicator).size());
  if (moves.sums.empty() || moves.sums.back().kernel != kernel)
    moves.sums.push_back({kernel, count, {}, {}});
  return moves.sums.back();
}

void MoveFinder::sum(Sums &sums, uint32_t communicator, uint32_t from, int64_t source, uint32_t to,
                     int64_t target, int64_t count, uint64_t size) {
  if (count == 0)
    return;
  sums.runs.push_back({own(to) + uint64_t(target) * size, sums.sources.size(), uint64_t(count)});
  for (uint32_t member : members(communicator))
    sums.sources.push_back(addresses.buffer(member, from) + uint64_t(source) * size);
}

void MoveFinder::add(const plan::CopyT &action) {
  copy(own(action.source) + action.from, own(action.target) + action.to, action.size);
}

void MoveFinder::add(const plan::ReducePartT &reduce) {
  uint32_t self = topology.position(reduce.communicator, rank);
  for (const plan::ReducedTensorT &tensor : reduce.tensors) {
    auto [begin, end] = partOf(tensor.count, self, topology.groupSize(reduce.communicator));
    sum(sumsOf(reduce.reduction, tensor.type, reduce.communicator), reduce.communicator, tensor.source, begin,
        tensor.target, begin, end - begin, elementBytes(tensor.type));
  }
}

void MoveFinder::add(const plan::GatherPartsT &gather) {
  uint32_t size = topology.groupSize(gather.communicator);
  for (const plan::GatheredTensorT &tensor : gather.tensors)
    for (uint32_t member = 0; member < size; ++member) {
      auto [begin, end] = partOf(tensor.count, member, size);
      uint64_t bytes = elementBytes(tensor.type), offset = uint64_t(begin) * bytes;
      copy(addresses.buffer(members(gather.communicator)[member], tensor.buffer) + offset,
           own(tensor.buffer) + offset, uint64_t(end - begin) * bytes);
    }
}

void MoveFinder::add(const plan::ReduceToRootT &reduce) {
  if (topology.position(reduce.communicator, rank) != reduce.root)
    return;
  for (const plan::ReducedTensorT &tensor : reduce.tensors)
    sum(sumsOf(reduce.reduction, tensor.type, reduce.communicator), reduce.communicator, tensor.source, 0,
        tensor.target, 0, tensor.count, elementBytes(tensor.type));
}

void MoveFinder::add(const plan::CopyFromRootT &action) {
  uint32_t root = members(action.communicator)[action.root];
  if (root == rank)
    return;
  for (const plan::GatheredTensorT &tensor : action.tensors)
    copy(addresses.buffer(root, tensor.buffer), own(tensor.buffer),
         uint64_t(tensor.count) * elementBytes(tensor.type));
}

void MoveFinder::add(const plan::GatherBlocksT &gather) {
  std::span<const uint32_t> group = members(gather.communicator);
  for (const plan::GatheredBlocksT &tensor : gather.tensors) {
    uint64_t block = uint64_t(tensor.inner) * elementBytes(tensor.type);
    for (uint64_t outer = 0; outer < uint64_t(tensor.outer); ++outer)
      for (uint64_t member = 0; member < group.size(); ++member)
        copy(addresses.buffer(group[member], tensor.source) + outer * block,
             own(tensor.target) + (outer * group.size() + member) * block, block);
  }
}

void MoveFinder::add(const plan::ReduceBlocksT &reduce) {
  for (const plan::ReducedBlocksT &tensor : reduce.tensors) {
    SharedBox box = boxOf(plan, mesh, tensor, rank);
    Sums &sums = sumsOf(reduce.reduction, tensor.type, reduce.communicator);
    box.forEachRun([&](int64_t source, int64_t target) {
      sum(sums, reduce.communicator, tensor.source, source, tensor.target, target, box.run,
          elementBytes(tensor.type));
    });
  }
}

void MoveFinder::add(const plan::ExchangeBlocksT &exchange) {
  for (const Piece &piece : piecesOf(plan, mesh, exchange, rank))
    copyBox(addresses.buffer(piece.holder, exchange.source), own(exchange.target), piece.box,
            elementBytes(exchange.type));
}

void MoveFinder::add(const plan::SendT &send) {
  if (!channels.listeners(send.channel, rank).empty())
    copy(own(send.source), addresses.channel(send.channel, send.message, rank),
         channels.sentBytes(send.channel));
}

void MoveFinder::add(const plan::ReceiveT &receive) {
  for (const Piece &piece : channels.pieces(receive.channel, rank))
    copyBox(addresses.channel(receive.channel, receive.message, piece.holder), own(receive.target), piece.box,
            channels.elementSize(receive.channel));
}

Moves MoveFinder::find(const plan::ActionUnion &action) {
  auto addWhatItIs = [&](const auto *...actions) { (void)((actions && (add(*actions), true)) || ...); };
  addWhatItIs(action.AsCopy(), action.AsReducePart(), action.AsGatherParts(), action.AsReduceToRoot(),
              action.AsCopyFromRoot(), action.AsGatherBlocks(), action.AsReduceBlocks(),
              action.AsExchangeBlocks(), action.AsSend(), action.AsReceive());
  return std::move(moves);
}

Moves movesOf(const plan::PlanT &plan, const Channels &channels, const Topology &topology,
              const plan::CommandT &command, uint32_t rank, const MoveAddresses &addresses) {
  return MoveFinder(plan, channels, topology, rank, addresses).find(command.action);
}

} // namespace epl::runtime::cuda
