#include "runtime/plan/model/Runs.h"

#include <algorithm>
#include <cassert>

namespace epl::runtime {
namespace {

/// Puts together the runs of one command.
class Runs {
public:
  Runs(const plan::PlanT &plan, const Mesh &mesh, uint32_t reader, uint32_t holder)
      : plan(plan), mesh(mesh), reader(reader), holder(holder) {}

  std::vector<ByteRun> of(const plan::ActionUnion &action) {
    switch (action.type) {
    case plan::Action::ReducePart:
      add(*action.AsReducePart());
      break;
    case plan::Action::GatherParts:
      add(*action.AsGatherParts());
      break;
    case plan::Action::GatherBlocks:
      add(*action.AsGatherBlocks());
      break;
    case plan::Action::ReduceBlocks:
      add(*action.AsReduceBlocks());
      break;
    case plan::Action::ReduceToRoot:
      add(*action.AsReduceToRoot());
      break;
    case plan::Action::CopyFromRoot:
      add(*action.AsCopyFromRoot());
      break;
    case plan::Action::ExchangeBlocks:
      add(*action.AsExchangeBlocks());
      break;
    default:
      break;
    }
    return std::move(runs);
  }

private:
  void add(uint32_t buffer, ByteRange bytes) {
    if (bytes.begin != bytes.end)
      runs.push_back({buffer, bytes});
  }

  void addPart(uint32_t communicator, uint32_t owner, uint32_t buffer, int64_t count, uint64_t element) {
    auto [begin, end] = partOf(count, mesh.memberIndex(communicator, owner), mesh.memberCount(communicator));
    add(buffer, {uint64_t(begin) * element, uint64_t(end) * element});
  }

  /// The part that the reader combines.
  void add(const plan::ReducePartT &reduce) {
    for (const plan::ReducedTensorT &tensor : reduce.tensors)
      addPart(reduce.communicator, reader, tensor.source, tensor.count, elementBytes(tensor.type));
  }

  /// The part that the holder has combined.
  void add(const plan::GatherPartsT &gather) {
    for (const plan::GatheredTensorT &tensor : gather.tensors)
      addPart(gather.communicator, holder, tensor.buffer, tensor.count, elementBytes(tensor.type));
  }

  bool isRoot(uint32_t communicator, uint32_t root, uint32_t rank) const {
    return mesh.memberIndex(communicator, rank) == root;
  }

  void add(const plan::ReduceToRootT &reduce) {
    if (isRoot(reduce.communicator, reduce.root, reader))
      for (const plan::ReducedTensorT &tensor : reduce.tensors)
        add(tensor.source, {0, uint64_t(tensor.count) * elementBytes(tensor.type)});
  }

  void add(const plan::CopyFromRootT &copy) {
    if (isRoot(copy.communicator, copy.root, holder))
      for (const plan::GatheredTensorT &tensor : copy.tensors)
        add(tensor.buffer, {0, uint64_t(tensor.count) * elementBytes(tensor.type)});
  }

  void add(const plan::GatherBlocksT &gather) {
    for (const plan::GatheredBlocksT &tensor : gather.tensors)
      add(tensor.source, {0, uint64_t(tensor.outer) * uint64_t(tensor.inner) * elementBytes(tensor.type)});
  }

  void add(const plan::ReduceBlocksT &reduce) {
    for (const plan::ReducedBlocksT &tensor : reduce.tensors)
      addRuns(runs, tensor.source, boxOf(plan, mesh, tensor, reader), elementBytes(tensor.type));
  }

  void add(const plan::ExchangeBlocksT &exchange) {
    for (const Piece &piece : piecesOf(plan, mesh, exchange, reader))
      if (piece.holder == holder)
        addRuns(runs, exchange.source, piece.box, elementBytes(exchange.type));
  }

  const plan::PlanT &plan;
  const Mesh &mesh;
  uint32_t reader, holder;
  std::vector<ByteRun> runs;
};

} // namespace

std::vector<ByteRun> runsOf(const plan::PlanT &plan, const Mesh &mesh, const plan::CommandT &command,
                            uint32_t reader, uint32_t holder) {
  assert(reader != holder && "a rank sends itself nothing");
  int32_t communicator = plan.lanes[command.lane]->communicator;
  if (communicator < 0 || !mesh.isOwner(command.owner.get(), reader))
    return {};
  std::vector<uint32_t> members = mesh.members(uint32_t(communicator), reader);
  if (std::ranges::find(members, holder) == members.end())
    return {};
  return Runs(plan, mesh, reader, holder).of(command.action);
}

void addRuns(std::vector<ByteRun> &runs, uint32_t buffer, const SharedBox &box, uint64_t elementBytes) {
  box.forEachRun([&](int64_t source, int64_t) {
    uint64_t begin = uint64_t(source) * elementBytes;
    runs.push_back({buffer, {begin, begin + uint64_t(box.run) * elementBytes}});
  });
}

uint64_t bytesOf(const std::vector<ByteRun> &runs) {
  uint64_t bytes = 0;
  for (const ByteRun &run : runs)
    bytes += run.bytes.end - run.bytes.begin;
  return bytes;
}

} // namespace epl::runtime
