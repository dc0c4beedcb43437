#include "runtime/plan/model/Access.h"

#include "runtime/plan/model/AttentionGradient.h"
#include "runtime/plan/model/Blocks.h"

#include <algorithm>
#include <cassert>

namespace epl::runtime {
namespace {

Access rangeAccess(uint32_t buffer, bool write, ByteRange bytes) {
  Access access{.buffer = buffer, .write = write};
  if (bytes.begin < bytes.end)
    access.ranges.push_back(bytes);
  return access;
}

Access wholeAccess(uint32_t buffer, bool write, uint64_t bytes) {
  return rangeAccess(buffer, write, {0, bytes});
}

std::vector<Access> accesses(const plan::PlanT &plan, const plan::LaunchT &launch) {
  const plan::KernelT &kernel = *plan.kernels[launch.kernel];
  std::vector<Access> result;
  for (uint32_t i = 0; i < kernel.operand_sizes.size(); ++i) {
    bool write = i >= kernel.num_inputs;
    result.push_back(wholeAccess(launch.buffers[i], write, kernel.operand_sizes[i]));
    result.back().operand = write ? i - kernel.num_inputs : i;
  }
  if (kernel.workspace > 0) {
    result.push_back(wholeAccess(launch.buffers.back(), true, kernel.workspace));
    result.back().operand = kernel.num_outputs;
  }
  return result;
}

/// An operand of a contraction that a command reads as its operand `number`, or writes.
Access operandAccess(const plan::ContractT &contract, ContractOperand operand, uint32_t buffer, bool write,
                     uint32_t number) {
  Access result{.buffer = buffer, .write = write, .operand = write ? 0 : number};
  stridedRanges(dimsOf(contract, operand), elementBytes(typeOf(contract, operand)), result.ranges);
  return result;
}

std::vector<Access> accesses(const plan::PlanT &plan, const plan::ContractT &contract) {
  auto access = [&](uint32_t buffer, bool write, ContractOperand operand) {
    return operandAccess(contract, operand, buffer, write, uint32_t(operand));
  };
  std::vector<Access> result{access(contract.a, false, ContractOperand::a),
                             access(contract.b, false, ContractOperand::b)};
  if (contract.accumulate)
    result.push_back(access(contract.c, false, ContractOperand::c));
  if (contract.has_bias)
    result.push_back(access(contract.bias, false, ContractOperand::bias));
  if (contract.attention) { // a library computes it of q and k
    const plan::ContractT &scores = *plan.commands[contract.attention->scores]->action.AsContract();
    uint32_t number = uint32_t(result.size());
    result.push_back(operandAccess(scores, ContractOperand::a, scores.a, false, number));
    result.push_back(operandAccess(scores, ContractOperand::b, scores.b, false, number + 1));
  }
  result.push_back(access(contract.c, true, ContractOperand::c));
  if (contract.attention && contract.attention->gradient >= 0) {
    result.push_back(wholeAccess(contract.attention->stats, true,
                                 tensorBytes(plan::ElementType::f32, statsExtentsOf(contract))));
    result.back().operand = 1;
  }
  return result;
}

/// Tensor `operand` of an all-reduce, which the members have `extent` of.
template <typename TensorT>
Access partAccess(uint32_t communicator, const TensorT &tensor, uint32_t operand, uint32_t buffer,
                  Extent extent) {
  return {.buffer = buffer,
          .write = false,
          .operand = operand,
          .extent = extent,
          .communicator = communicator,
          .count = tensor.count,
          .elementBytes = elementBytes(tensor.type)};
}

Access remotely(Access access) {
  access.remote = true;
  return access;
}

Access written(Access access) {
  access.write = true;
  return access;
}

std::vector<Access> accesses(const plan::ReducePartT &reduce) {
  std::vector<Access> reads, writes;
  for (uint32_t i = 0; i < reduce.tensors.size(); ++i) {
    const plan::ReducedTensorT &tensor = reduce.tensors[i];
    auto access = [&](uint32_t buffer, Extent extent) {
      return partAccess(reduce.communicator, tensor, i, buffer, extent);
    };
    reads.push_back(access(tensor.source, Extent::ownPart));
    // A rank reads its own part everywhere: seen from the memory's owner, the others read all other parts.
    reads.push_back(remotely(access(tensor.source, Extent::otherParts)));
    writes.push_back(written(access(tensor.target, Extent::ownPart)));
  }
  std::ranges::move(writes, std::back_inserter(reads));
  return reads;
}

std::vector<Access> accesses(const plan::GatherPartsT &gather) {
  std::vector<Access> reads, writes;
  for (uint32_t i = 0; i < gather.tensors.size(); ++i) {
    const plan::GatheredTensorT &tensor = gather.tensors[i];
    auto access = [&](Extent extent) {
      return partAccess(gather.communicator, tensor, i, tensor.buffer, extent);
    };
    reads.push_back(remotely(access(Extent::ownPart)));
    writes.push_back(written(access(Extent::otherParts)));
  }
  std::ranges::move(writes, std::back_inserter(reads));
  return reads;
}

/// The root reads all members' tensors, and writes its own.
std::vector<Access> accesses(const plan::ReduceToRootT &reduce) {
  std::vector<Access> reads, writes;
  for (uint32_t i = 0; i < reduce.tensors.size(); ++i) {
    const plan::ReducedTensorT &tensor = reduce.tensors[i];
    uint64_t bytes = uint64_t(tensor.count) * elementBytes(tensor.type);
    auto access = [&](uint32_t buffer, bool write, bool isRoot) {
      Access result = wholeAccess(buffer, write, bytes);
      result.operand = i;
      result.communicator = reduce.communicator;
      result.ranks.push_back({reduce.communicator, reduce.root, isRoot});
      return result;
    };
    reads.push_back(access(tensor.source, false, true));
    reads.push_back(remotely(access(tensor.source, false, false)));
    writes.push_back(access(tensor.target, true, true));
  }
  std::ranges::move(writes, std::back_inserter(reads));
  return reads;
}

/// The others read the root's tensors, and write their own.
std::vector<Access> accesses(const plan::CopyFromRootT &copy) {
  std::vector<Access> reads, writes;
  for (uint32_t i = 0; i < copy.tensors.size(); ++i) {
    const plan::GatheredTensorT &tensor = copy.tensors[i];
    uint64_t bytes = uint64_t(tensor.count) * elementBytes(tensor.type);
    for (bool write : {false, true}) {
      Access access = wholeAccess(tensor.buffer, write, bytes);
      access.operand = i;
      access.communicator = copy.communicator;
      access.remote = !write;
      access.ranks.push_back({copy.communicator, copy.root, !write});
      (write ? writes : reads).push_back(std::move(access));
    }
  }
  std::ranges::move(writes, std::back_inserter(reads));
  return reads;
}

/// A tensor of which every member reads every other's `source`, and writes all of its `target`.
struct Exchanged {
  uint32_t source;
  uint64_t sourceBytes;
  uint32_t target;
  uint64_t targetBytes;
};

std::vector<Access> exchangeAccesses(uint32_t communicator, const std::vector<Exchanged> &tensors) {
  std::vector<Access> reads, writes;
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    reads.push_back(wholeAccess(tensors[i].source, false, tensors[i].sourceBytes));
    reads.back().operand = i;
    reads.push_back(remotely(reads.back()));
    reads.back().communicator = communicator;
    writes.push_back(wholeAccess(tensors[i].target, true, tensors[i].targetBytes));
    writes.back().operand = i;
  }
  std::ranges::move(writes, std::back_inserter(reads));
  return reads;
}

std::vector<Access> accesses(const plan::GatherBlocksT &gather, const Mesh &mesh) {
  std::vector<Exchanged> tensors;
  for (const plan::GatheredBlocksT &tensor : gather.tensors) {
    uint64_t bytes = uint64_t(tensor.outer) * uint64_t(tensor.inner) * elementBytes(tensor.type);
    tensors.push_back({tensor.source, bytes, tensor.target, bytes * mesh.memberCount(gather.communicator)});
  }
  return exchangeAccesses(gather.communicator, tensors);
}

std::vector<Access> accesses(const plan::PlanT &plan, const plan::ReduceBlocksT &reduce) {
  std::vector<Exchanged> tensors;
  for (const plan::ReducedBlocksT &tensor : reduce.tensors) {
    std::vector<int64_t> block = partShape(plan, tensor.shape, tensor.sharding);
    tensors.push_back({tensor.source, tensorBytes(tensor.type, tensor.shape), tensor.target,
                       tensorBytes(tensor.type, block)});
  }
  return exchangeAccesses(reduce.communicator, tensors);
}

std::vector<Access> accesses(const plan::PlanT &plan, const plan::ExchangeBlocksT &exchange) {
  std::vector<int64_t> source = partShape(plan, exchange.shape, exchange.from);
  std::vector<int64_t> target = partShape(plan, exchange.shape, exchange.to);
  return exchangeAccesses(exchange.communicator, {{exchange.source, tensorBytes(exchange.type, source),
                                                   exchange.target, tensorBytes(exchange.type, target)}});
}

} // namespace

static std::vector<Access> actionAccesses(const plan::PlanT &plan, const Mesh &mesh,
                                          const plan::ActionUnion &action) {
  switch (action.type) {
  case plan::Action::Launch:
    return accesses(plan, *action.AsLaunch());
  case plan::Action::Contract:
    return accesses(plan, *action.AsContract());
  case plan::Action::AttentionGradient:
    return accessesOf(plan, *action.AsAttentionGradient());
  case plan::Action::ReducePart:
    return accesses(*action.AsReducePart());
  case plan::Action::GatherParts:
    return accesses(*action.AsGatherParts());
  case plan::Action::GatherBlocks:
    return accesses(*action.AsGatherBlocks(), mesh);
  case plan::Action::ReduceBlocks:
    return accesses(plan, *action.AsReduceBlocks());
  case plan::Action::ExchangeBlocks:
    return accesses(plan, *action.AsExchangeBlocks());
  case plan::Action::ReduceToRoot:
    return accesses(*action.AsReduceToRoot());
  case plan::Action::CopyFromRoot:
    return accesses(*action.AsCopyFromRoot());
  case plan::Action::Copy: {
    const plan::CopyT &copy = *action.AsCopy();
    return {rangeAccess(copy.source, false, {copy.from, copy.from + copy.size}),
            rangeAccess(copy.target, true, {copy.to, copy.to + copy.size})};
  }
  case plan::Action::Send: {
    const plan::SendT &send = *action.AsSend();
    return {
        wholeAccess(send.source, false, tensorBytes(send.type, partShape(plan, send.shape, send.sharding)))};
  }
  case plan::Action::Receive: {
    const plan::ReceiveT &receive = *action.AsReceive();
    return {wholeAccess(receive.target, true,
                        tensorBytes(receive.type, partShape(plan, receive.shape, receive.sharding)))};
  }
  case plan::Action::Pull:
    return {wholeAccess(action.AsPull()->target, true, plan.buffers[action.AsPull()->target]->size)};
  case plan::Action::Push:
    return {wholeAccess(action.AsPush()->source, false, plan.buffers[action.AsPush()->source]->size)};
  case plan::Action::NONE:
    break;
  }
  return {};
}

std::vector<Access> accessesOf(const plan::PlanT &plan, const Mesh &mesh, const plan::CommandT &command) {
  std::vector<Access> result = actionAccesses(plan, mesh, command.action);
  assert(std::ranges::all_of(result,
                             [&](const Access &access) { return access.buffer < plan.buffers.size(); }) &&
         "a command's buffers are the plan's");
  for (uint32_t i = 0; i < command.guards.size(); ++i) {
    result.push_back(wholeAccess(command.guards[i].buffer(), false, 1));
    result.back().operand = firstGuard + i;
  }
  for (Access &access : result) {
    // The members of a collective are all owners, or none is: its communicator has no axis of theirs.
    if (command.owner)
      access.ranks.push_back({command.owner->communicator(), command.owner->member(), true});
    access.root = rootOf(plan, access.buffer);
    access.offset = access.root == access.buffer ? 0 : plan.buffers[access.buffer]->offset;
  }
  return result;
}

bool haveEqualGuards(const plan::CommandT &a, const plan::CommandT &b) {
  return std::ranges::equal(a.guards, b.guards, [](const plan::Guard &one, const plan::Guard &other) {
    return one.buffer() == other.buffer() && one.expected() == other.expected();
  });
}

bool haveEqualOwners(const plan::CommandT &a, const plan::CommandT &b) {
  if (!a.owner || !b.owner)
    return !a.owner && !b.owner;
  return a.owner->communicator() == b.owner->communicator() && a.owner->member() == b.owner->member();
}

std::vector<RankTest> ownersOf(const plan::SlotT &slot) {
  if (!slot.owner)
    return {};
  return {{slot.owner->communicator(), slot.owner->member(), true}};
}

uint32_t rootOf(const plan::PlanT &plan, uint32_t buffer) {
  int32_t root = plan.buffers[buffer]->view_of;
  return root < 0 ? buffer : uint32_t(root);
}

BufferPlace placeOf(const plan::PlanT &plan, uint32_t buffer) {
  uint32_t root = rootOf(plan, buffer);
  const plan::BufferT &whole = *plan.buffers[root];
  uint64_t begin = whole.slot < 0 ? whole.offset : 0;
  return {whole.slot, root == buffer ? begin : begin + plan.buffers[buffer]->offset};
}

int32_t hostSlotOf(const plan::PlanT &plan, uint32_t buffer) {
  int32_t slot = placeOf(plan, buffer).slot;
  return slot >= 0 && plan.slots[size_t(slot)]->in_host ? slot : -1;
}

int32_t communicatorOf(const Access &access) {
  return access.remote || access.extent != Extent::ranges ? int32_t(access.communicator) : -1;
}

std::vector<ByteRange> rangesOf(const Access &access, const Mesh &mesh, uint32_t owner) {
  for (const RankTest &test : access.ranks)
    if ((mesh.memberIndex(test.communicator, owner) == test.member) != test.isMember)
      return {};
  if (access.extent == Extent::ranges)
    return access.ranges;
  ElementRange part = partOf(access.count, mesh.memberIndex(access.communicator, owner),
                             mesh.memberCount(access.communicator));
  uint64_t begin = uint64_t(part.begin) * access.elementBytes;
  uint64_t end = uint64_t(part.end) * access.elementBytes;
  uint64_t size = uint64_t(access.count) * access.elementBytes;
  std::vector<ByteRange> ranges = access.extent == Extent::ownPart
                                      ? std::vector<ByteRange>{{begin, end}}
                                      : std::vector<ByteRange>{{0, begin}, {end, size}};
  std::erase_if(ranges, [](ByteRange range) { return range.begin == range.end; });
  return ranges;
}

std::vector<StridedDim> dimsOf(const plan::ContractT &contract, ContractOperand operand) {
  if (operand == ContractOperand::bias)
    return {{contract.n, 1}, {1, contract.n}};
  int64_t rows = contract.m, columns = contract.n, leading = contract.ldc;
  if (operand == ContractOperand::a) {
    rows = contract.transpose_a ? contract.k : contract.m;
    columns = contract.transpose_a ? contract.m : contract.k;
    leading = contract.lda;
  } else if (operand == ContractOperand::b) {
    rows = contract.transpose_b ? contract.n : contract.k;
    columns = contract.transpose_b ? contract.k : contract.n;
    leading = contract.ldb;
  }
  std::vector<StridedDim> dims{{columns, 1}, {rows, leading}};
  for (const plan::BatchDim &batch : contract.batch)
    dims.push_back({batch.extent(), operand == ContractOperand::a   ? batch.stride_a()
                                    : operand == ContractOperand::b ? batch.stride_b()
                                                                    : batch.stride_c()});
  return dims;
}

plan::ElementType typeOf(const plan::ContractT &contract, ContractOperand operand) {
  bool isResult = operand == ContractOperand::c || operand == ContractOperand::bias;
  return contract.widens && isResult ? plan::ElementType::f32 : contract.type;
}

bool stridedRanges(std::vector<StridedDim> dims, uint64_t elementBytes, std::vector<ByteRange> &ranges) {
  assert(std::ranges::all_of(dims, [](StridedDim dim) { return dim.extent >= 0 && dim.stride >= 0; }) &&
         "extents and strides are not negative");
  ranges.clear();
  if (std::ranges::any_of(dims, [](StridedDim dim) { return dim.extent == 0; }))
    return true;
  std::erase_if(dims, [](StridedDim dim) { return dim.extent == 1 || dim.stride == 0; });
  std::ranges::sort(dims, {}, &StridedDim::stride);
  // Dimensions whose steps leave no gap make one run of elements; the others repeat it.
  int64_t run = 1;
  size_t outer = 0;
  for (; outer < dims.size() && dims[outer].stride <= run; ++outer)
    run += dims[outer].stride * (dims[outer].extent - 1);
  std::vector<int64_t> starts{0};
  for (; outer < dims.size(); ++outer) {
    if (dims[outer].extent > maxRanges / int64_t(starts.size()))
      return false;
    size_t count = starts.size();
    for (int64_t i = 1; i < dims[outer].extent; ++i)
      for (size_t j = 0; j < count; ++j)
        starts.push_back(starts[j] + i * dims[outer].stride);
  }
  std::ranges::sort(starts);
  for (int64_t start : starts) {
    uint64_t begin = uint64_t(start) * elementBytes, end = uint64_t(start + run) * elementBytes;
    if (ranges.empty() || ranges.back().end < begin)
      ranges.push_back({begin, end});
    else
      ranges.back().end = std::max(ranges.back().end, end);
  }
  return true;
}

} // namespace epl::runtime
