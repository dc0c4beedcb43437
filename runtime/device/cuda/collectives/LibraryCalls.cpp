#include "runtime/device/cuda/collectives/LibraryCalls.h"

#include "runtime/plan/model/Blocks.h"

#include <algorithm>
#include <optional>

namespace epl::runtime::cuda {

using Kind = LibraryCall::Kind;

nccl::Status LibraryCall::enqueue(const nccl::Nccl &api, nccl::Comm comm, CUstream stream) const {
  const auto *source = reinterpret_cast<const void *>(from);
  auto *target = reinterpret_cast<void *>(to);
  switch (kind) {
  case Kind::allReduce:
    return api.ncclAllReduce(source, target, count, type, reduction, comm, stream);
  case Kind::reduce:
    return api.ncclReduce(source, target, count, type, reduction, member, comm, stream);
  case Kind::broadcast:
    return api.ncclBroadcast(source, target, count, type, member, comm, stream);
  case Kind::allGather:
    return api.ncclAllGather(source, target, count, type, comm, stream);
  case Kind::reduceScatter:
    return api.ncclReduceScatter(source, target, count, type, reduction, comm, stream);
  case Kind::send:
    return api.ncclSend(source, count, type, member, comm, stream);
  case Kind::receive:
    return api.ncclRecv(target, count, type, member, comm, stream);
  }
  return nccl::Status::invalidArgument;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// As what the library combines elements; none if it does not.
static std::optional<nccl::DataType> combinedAs(plan::ElementType type) {
  switch (type) {
  case plan::ElementType::i1: // a byte of 0 or 1
    return nccl::DataType::u8;
  case plan::ElementType::i8:
    return nccl::DataType::i8;
  case plan::ElementType::i32:
    return nccl::DataType::i32;
  case plan::ElementType::i64:
    return nccl::DataType::i64;
  case plan::ElementType::f16:
    return nccl::DataType::f16;
  case plan::ElementType::bf16:
    return nccl::DataType::bf16;
  case plan::ElementType::f32:
    return nccl::DataType::f32;
  case plan::ElementType::f64:
    return nccl::DataType::f64;
  default:
    return std::nullopt;
  }
}

static bool isFloat(plan::ElementType type) {
  return type == plan::ElementType::f16 || type == plan::ElementType::bf16 ||
         type == plan::ElementType::f32 || type == plan::ElementType::f64;
}

static nccl::Reduction reductionOf(plan::ReductionKind kind) {
  switch (kind) {
  case plan::ReductionKind::prod:
    return nccl::Reduction::prod;
  case plan::ReductionKind::max:
  case plan::ReductionKind::any:
    return nccl::Reduction::max;
  case plan::ReductionKind::min:
  case plan::ReductionKind::all:
    return nccl::Reduction::min;
  default:
    return nccl::Reduction::sum;
  }
}

static bool isCombined(plan::ReductionKind kind, plan::ElementType type, bool keepsOrder) {
  bool isOrdered = kind == plan::ReductionKind::sum || kind == plan::ReductionKind::prod;
  return combinedAs(type) && !(isFloat(type) && (!isOrdered || keepsOrder));
}

//===----------------------------------------------------------------------===//
// Which commands are calls
//===----------------------------------------------------------------------===//

/// Whether each member combines as many elements, which follow those of the member before it.
static bool isScattered(const plan::PlanT &plan, const Mesh &mesh, const plan::ReducedBlocksT &tensor,
                        const std::vector<uint32_t> &members) {
  SharedBox first = boxOf(plan, mesh, tensor, members.front());
  for (size_t member = 0; member < members.size(); ++member) {
    size_t runs = 0;
    bool isInPlace = true;
    SharedBox box = boxOf(plan, mesh, tensor, members[member]);
    box.forEachRun([&](int64_t source, int64_t target) {
      ++runs;
      isInPlace &= source == first.source + int64_t(member) * first.run && target == 0;
    });
    if (runs != 1 || !isInPlace || box.run != first.run)
      return false;
  }
  return true;
}

template <typename Action> static bool areCombined(const Action &action, bool keepsOrder) {
  return std::ranges::all_of(action.tensors, [&](const auto &tensor) {
    return isCombined(action.reduction, tensor.type, keepsOrder);
  });
}

bool isLibraryCall(const plan::PlanT &plan, const Mesh &mesh, const plan::CommandT &command, uint32_t rank,
                   bool keepsOrder) {
  if (const plan::ReducePartT *reduce = command.action.AsReducePart())
    return areCombined(*reduce, keepsOrder);
  if (const plan::GatherPartsT *gather = command.action.AsGatherParts())
    return areCombined(*plan.commands[gather->reduce]->action.AsReducePart(), keepsOrder);
  if (const plan::ReduceToRootT *reduce = command.action.AsReduceToRoot())
    return areCombined(*reduce, keepsOrder);
  if (const plan::GatherBlocksT *gather = command.action.AsGatherBlocks())
    return std::ranges::all_of(gather->tensors, [](const auto &tensor) { return tensor.outer == 1; });
  if (const plan::ReduceBlocksT *reduce = command.action.AsReduceBlocks()) {
    std::vector<uint32_t> members = mesh.members(reduce->communicator, rank);
    return areCombined(*reduce, keepsOrder) && std::ranges::all_of(reduce->tensors, [&](const auto &tensor) {
             return isScattered(plan, mesh, tensor, members);
           });
  }
  return command.action.AsCopyFromRoot() != nullptr;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

namespace {

class CallFinder {
public:
  CallFinder(const plan::PlanT &plan, uint32_t rank, const MoveAddresses &addresses)
      : plan(plan), mesh(plan), rank(rank), addresses(addresses) {}

  std::vector<LibraryCall> find(const plan::CommandT &command);

private:
  void add(const plan::ReducePartT &reduce);
  void add(const plan::ReduceToRootT &reduce);
  void add(const plan::CopyFromRootT &copy);
  void add(const plan::GatherBlocksT &gather);
  void add(const plan::ReduceBlocksT &reduce);
  /// `member`: the root, if there is one.
  void combine(Kind kind, plan::ReductionKind reduction, plan::ElementType type, uint32_t source,
               uint32_t target, int64_t count, uint32_t member = 0);
  /// As bytes.
  void copy(Kind kind, plan::ElementType type, uint32_t source, uint32_t target, int64_t count,
            uint32_t member = 0);
  CUdeviceptr own(uint32_t buffer) const { return addresses.buffer(rank, buffer); }

  const plan::PlanT &plan;
  Mesh mesh;
  uint32_t rank;
  const MoveAddresses &addresses;
  std::vector<LibraryCall> calls;
};

} // namespace

void CallFinder::combine(Kind kind, plan::ReductionKind reduction, plan::ElementType type, uint32_t source,
                         uint32_t target, int64_t count, uint32_t member) {
  if (count != 0)
    calls.push_back({kind, own(source), own(target), uint64_t(count), *combinedAs(type),
                     reductionOf(reduction), int(member)});
}

void CallFinder::copy(Kind kind, plan::ElementType type, uint32_t source, uint32_t target, int64_t count,
                      uint32_t member) {
  if (count != 0)
    calls.push_back({kind, own(source), own(target), uint64_t(count) * elementBytes(type), nccl::DataType::u8,
                     nccl::Reduction::sum, int(member)});
}

void CallFinder::add(const plan::ReducePartT &reduce) {
  for (const plan::ReducedTensorT &tensor : reduce.tensors)
    combine(Kind::allReduce, reduce.reduction, tensor.type, tensor.source, tensor.target, tensor.count);
}

void CallFinder::add(const plan::ReduceToRootT &reduce) {
  for (const plan::ReducedTensorT &tensor : reduce.tensors)
    combine(Kind::reduce, reduce.reduction, tensor.type, tensor.source, tensor.target, tensor.count,
            reduce.root);
}

void CallFinder::add(const plan::CopyFromRootT &action) {
  for (const plan::GatheredTensorT &tensor : action.tensors)
    copy(Kind::broadcast, tensor.type, tensor.buffer, tensor.buffer, tensor.count, action.root);
}

void CallFinder::add(const plan::GatherBlocksT &gather) {
  for (const plan::GatheredBlocksT &tensor : gather.tensors)
    copy(Kind::allGather, tensor.type, tensor.source, tensor.target, tensor.inner);
}

void CallFinder::add(const plan::ReduceBlocksT &reduce) {
  uint32_t first = mesh.members(reduce.communicator, rank).front();
  for (const plan::ReducedBlocksT &tensor : reduce.tensors) {
    SharedBox box = boxOf(plan, mesh, tensor, first);
    combine(Kind::reduceScatter, reduce.reduction, tensor.type, tensor.source, tensor.target, box.run);
    if (box.run != 0)
      calls.back().from += uint64_t(box.source) * elementBytes(tensor.type);
  }
}

std::vector<LibraryCall> CallFinder::find(const plan::CommandT &command) {
  const plan::ActionUnion &action = command.action;
  auto addWhatItIs = [&](const auto *...actions) { (void)((actions && (add(*actions), true)) || ...); };
  addWhatItIs(action.AsReducePart(), action.AsReduceToRoot(), action.AsCopyFromRoot(),
              action.AsGatherBlocks(), action.AsReduceBlocks());
  return std::move(calls);
}

std::vector<LibraryCall> libraryCallsOf(const plan::PlanT &plan, const plan::CommandT &command, uint32_t rank,
                                        const MoveAddresses &addresses) {
  return CallFinder(plan, rank, addresses).find(command);
}

} // namespace epl::runtime::cuda
