// A factorization, which the host computes for a card.
#ifndef EPL_RUNTIME_DEVICE_CUDA_HOSTCALL_H
#define EPL_RUNTIME_DEVICE_CUDA_HOSTCALL_H

#include "runtime/device/cpu/Factorization.h"
#include "runtime/device/cuda/Handles.h"

#include <vector>

namespace epl::runtime::cuda {

/// A kernel of LAPACK on operands of a card: these are copied to memory of the host that the card reads by
/// itself, and results back. All of it is enqueued like a kernel, so that it stands in graphs.
class HostCall {
public:
  /// `operands` are the card's inputs and outputs. Throws Error if there is no memory, or no LAPACK.
  HostCall(const Driver &api, const plan::KernelT &kernel, std::vector<CUdeviceptr> operands);
  HostCall(const HostCall &) = delete;

  CUresult enqueue(CUstream stream);
  /// Why it has failed since it was asked last; empty if it has not. Only while nothing runs.
  std::string takeError() { return std::exchange(error, {}); }

private:
  static void CUDA_CB run(void *self);

  const Driver &api;
  const plan::KernelT &kernel;
  Factorization factorization;
  std::vector<CUdeviceptr> operands;
  Pinned memory;
  std::vector<void *> buffers; // in it: of each operand, then the workspace
  std::string error;
};

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_HOSTCALL_H
