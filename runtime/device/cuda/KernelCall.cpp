#include "runtime/device/cuda/KernelCall.h"

#include <algorithm>

namespace epl::runtime::cuda {

plan::GridT gridFor(uint64_t elements) {
  constexpr uint64_t kThreads = 128, kMostBlocks = 1024;
  plan::GridT grid;
  grid.threads = kThreads;
  grid.blocks = uint32_t(std::clamp<uint64_t>((elements + kThreads - 1) / kThreads, 1, kMostBlocks));
  return grid;
}

void KernelCall::setTable(uint64_t begin) {
  for (size_t at : inTable) {
    uint64_t offset;
    std::memcpy(&offset, arguments.data() + at, sizeof(offset));
    offset += begin;
    std::memcpy(arguments.data() + at, &offset, sizeof(offset));
  }
  inTable.clear();
}

/// The arguments as the driver takes them, which copies them.
std::vector<void *> KernelCall::pointers() const {
  std::vector<void *> all;
  all.reserve(offsets.size());
  for (size_t offset : offsets)
    all.push_back(const_cast<std::byte *>(arguments.data() + offset));
  return all;
}

CUresult KernelCall::enqueue(const Driver &api, CUstream stream) const {
  return api.cuLaunchKernel(function, grid.blocks, rows, 1, grid.threads, 1, 1, grid.shared, stream,
                            pointers().data(), nullptr);
}

CUresult KernelCall::update(const Driver &api, CUgraphExec graph, CUgraphNode node) const {
  std::vector<void *> all = pointers();
  CUDA_KERNEL_NODE_PARAMS parameters{};
  parameters.func = function;
  parameters.gridDimX = grid.blocks, parameters.gridDimY = rows, parameters.gridDimZ = 1;
  parameters.blockDimX = grid.threads, parameters.blockDimY = parameters.blockDimZ = 1;
  parameters.sharedMemBytes = grid.shared;
  parameters.kernelParams = all.data();
  return api.cuGraphExecKernelNodeSetParams(graph, node, &parameters);
}

} // namespace epl::runtime::cuda
