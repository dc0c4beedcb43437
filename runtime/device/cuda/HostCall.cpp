#include "runtime/device/cuda/HostCall.h"

#include "runtime/host/Memory.h"

#include <algorithm>

namespace epl::runtime::cuda {

static size_t align(size_t size) {
  return (size + Memory::kAlignment - 1) / Memory::kAlignment * Memory::kAlignment;
}

HostCall::HostCall(const Driver &api, const plan::KernelT &kernel, std::vector<CUdeviceptr> operands)
    : api(api), kernel(kernel), factorization(*kernel.factorization), operands(std::move(operands)) {
  size_t size = align(kernel.workspace);
  for (uint64_t bytes : kernel.operand_sizes)
    size += align(bytes);
  memory = takePinned(api, std::max(size, Memory::kAlignment));
  auto *next = static_cast<std::byte *>(memory.get());
  for (uint64_t bytes : kernel.operand_sizes) {
    buffers.push_back(next);
    next += align(bytes);
  }
  buffers.push_back(next);
}

/// A callback of the driver: nothing may leave it.
void CUDA_CB HostCall::run(void *self) {
  auto &call = *static_cast<HostCall *>(self);
  try {
    call.factorization.run(call.buffers.data(), 0, call.kernel.extent);
  } catch (const std::exception &failure) {
    call.error = failure.what();
  }
}

CUresult HostCall::enqueue(CUstream stream) {
  CUresult result = CUDA_SUCCESS;
  for (uint32_t i = 0; i < kernel.num_inputs && result == CUDA_SUCCESS; ++i)
    if (kernel.operand_sizes[i] != 0)
      result = api.cuMemcpyDtoHAsync(buffers[i], operands[i], kernel.operand_sizes[i], stream);
  if (result == CUDA_SUCCESS)
    result = api.cuLaunchHostFunc(stream, &HostCall::run, this);
  for (size_t i = kernel.num_inputs; i < operands.size() && result == CUDA_SUCCESS; ++i)
    if (kernel.operand_sizes[i] != 0)
      result = api.cuMemcpyHtoDAsync(operands[i], buffers[i], kernel.operand_sizes[i], stream);
  return result;
}

} // namespace epl::runtime::cuda
