#include "runtime/plan/model/Runs.h"

#include "runtime/plan/model/Blocks.h"

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
    case plan::Action::ExchangeBlocks:
      add(*action.AsExchangeBlocks());
      break;
    default:
      break;
    }
    return std::move(runs);
  }

private:
  bool isMember(uint32_t communicator) const {
    std::vector<uint32_t> members = mesh.members(communicator, reader);
    return std::ranges::find(members, holder) != members.end();
  }

  /// A run that begins where the last one of the same tensor ends makes that longer.
  void add(uint32_t buffer, ByteRange bytes, bool isFirst) {
    if (bytes.begin == bytes.end)
      return;
    if (!isFirst && !runs.empty() && runs.back().bytes.end == bytes.begin)
      runs.back().bytes.end = bytes.end;
    else
      runs.push_back({buffer, bytes});
  }

  void addPart(uint32_t communicator, uint32_t owner, uint32_t buffer, int64_t count, uint64_t element) {
    auto [begin, end] = partOf(count, mesh.memberIndex(communicator, owner), mesh.memberCount(communicator));
    add(buffer, {uint64_t(begin) * element, uint64_t(end) * element}, /*isFirst=*/true);
  }

  /// In the order in which the box is read, which is ascending.
  void addBox(uint32_t buffer, const SharedBox &box, uint64_t element) {
    bool isFirst = true;
    box.forEachRun([&](int64_t source, int64_t) {
      uint64_t begin = uint64_t(source) * element;
      add(buffer, {begin, begin + uint64_t(box.run) * element}, isFirst);
      isFirst = false;
    });
  }

  /// The part that the reader combines.
  void add(const plan::ReducePartT &reduce) {
    if (isMember(reduce.communicator))
      for (const plan::ReducedTensorT &tensor : reduce.tensors)
        addPart(reduce.communicator, reader, tensor.source, tensor.count, elementBytes(tensor.type));
  }

  /// The part that the holder has combined.
  void add(const plan::GatherPartsT &gather) {
    if (isMember(gather.communicator))
      for (const plan::GatheredTensorT &tensor : gather.tensors)
        addPart(gather.communicator, holder, tensor.buffer, tensor.count, elementBytes(tensor.type));
  }

  void add(const plan::GatherBlocksT &gather) {
    if (isMember(gather.communicator))
      for (const plan::GatheredBlocksT &tensor : gather.tensors)
        add(tensor.source, {0, uint64_t(tensor.outer) * uint64_t(tensor.inner) * elementBytes(tensor.type)},
            /*isFirst=*/true);
  }

  void add(const plan::ReduceBlocksT &reduce) {
    if (isMember(reduce.communicator))
      for (const plan::ReducedBlocksT &tensor : reduce.tensors)
        addBox(tensor.source, boxOf(plan, mesh, tensor, reader), elementBytes(tensor.type));
  }

  void add(const plan::ExchangeBlocksT &exchange) {
    for (const Piece &piece : piecesOf(plan, mesh, exchange, reader))
      if (piece.holder == holder)
        addBox(exchange.source, piece.box, elementBytes(exchange.type));
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
  return Runs(plan, mesh, reader, holder).of(command.action);
}

uint64_t bytesOf(const std::vector<ByteRun> &runs) {
  uint64_t bytes = 0;
  for (const ByteRun &run : runs)
    bytes += run.bytes.end - run.bytes.begin;
  return bytes;
}

} // namespace epl::runtime
