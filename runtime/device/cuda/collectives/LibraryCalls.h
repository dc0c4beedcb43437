// Collectives of a plan that NCCL has a call for.
#ifndef EPL_RUNTIME_DEVICE_CUDA_COLLECTIVES_LIBRARYCALLS_H
#define EPL_RUNTIME_DEVICE_CUDA_COLLECTIVES_LIBRARYCALLS_H

#include "runtime/device/cuda/Moves.h"
#include "runtime/device/cuda/collectives/Nccl.h"

namespace epl::runtime::cuda {

/// A call of one member.
struct LibraryCall {
  enum class Kind : uint8_t { allReduce, reduce, broadcast, allGather, reduceScatter, send, receive };
  Kind kind;
  CUdeviceptr from = 0, to = 0;
  uint64_t count = 0; ///< elements, of each member's part in an all-gather or a reduce-scatter
  nccl::DataType type = nccl::DataType::u8;
  nccl::Reduction reduction = nccl::Reduction::sum;
  int member = 0; ///< the root; with whom a message is exchanged

  nccl::Status enqueue(const nccl::Nccl &api, nccl::Comm comm, CUstream stream) const;
};

/// Whether a command of a mesh is calls of the library on the group of `rank`, the same for all of its
/// members.
///
/// | command      | call |
/// |--------------|------|
/// | ReducePart   | all-reduce; its GatherParts are none then |
/// | ReduceToRoot | reduce |
/// | CopyFromRoot | broadcast |
/// | GatherBlocks | all-gather, along the first dimension |
/// | ReduceBlocks | reduce-scatter, along the first dimension in member order |
///
/// Other dimensions, parts of other sizes, integers of 16 bits and maxima of floats (the library's do not
/// keep NaN) are moved by messages and combined here. So are sums, with `keepsOrder`: the library adds in
/// an order of its own.
bool isLibraryCall(const plan::PlanT &plan, const Mesh &mesh, const plan::CommandT &command, uint32_t rank,
                   bool keepsOrder);

/// The calls of `rank` for such a command.
std::vector<LibraryCall> libraryCallsOf(const plan::PlanT &plan, const plan::CommandT &command, uint32_t rank,
                                        const MoveAddresses &addresses);

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_COLLECTIVES_LIBRARYCALLS_H
