// The functions of CUDA's driver, found when they are needed: nothing is linked.
#ifndef EPL_RUNTIME_DEVICE_CUDA_DRIVER_H
#define EPL_RUNTIME_DEVICE_CUDA_DRIVER_H

#include <cuda.h>

#include <string>

namespace epl::runtime::cuda {

/// All that is used of the driver; names are those of cuda.h, which has macros for their versions.
#define EPL_CUDA_FUNCTIONS(DO)                                                                               \
  DO(cuInit)                                                                                                 \
  DO(cuDriverGetVersion)                                                                                     \
  DO(cuGetErrorName)                                                                                         \
  DO(cuGetErrorString)                                                                                       \
  DO(cuDeviceGetCount)                                                                                       \
  DO(cuDeviceGet)                                                                                            \
  DO(cuDeviceGetAttribute)                                                                                   \
  DO(cuDeviceGetUuid)                                                                                        \
  DO(cuDeviceCanAccessPeer)                                                                                  \
  DO(cuDevicePrimaryCtxRetain)                                                                               \
  DO(cuDevicePrimaryCtxRelease)                                                                              \
  DO(cuCtxGetCurrent)                                                                                        \
  DO(cuCtxSetCurrent)                                                                                        \
  DO(cuCtxEnablePeerAccess)                                                                                  \
  DO(cuCtxGetStreamPriorityRange)                                                                            \
  DO(cuMemAlloc)                                                                                             \
  DO(cuMemFree)                                                                                              \
  DO(cuMemGetInfo)                                                                                           \
  DO(cuMemHostAlloc)                                                                                         \
  DO(cuMemFreeHost)                                                                                          \
  DO(cuMemcpyHtoDAsync)                                                                                      \
  DO(cuMemcpyDtoHAsync)                                                                                      \
  DO(cuMemcpyDtoDAsync)                                                                                      \
  DO(cuMemsetD8Async)                                                                                        \
  DO(cuModuleLoadDataEx)                                                                                     \
  DO(cuModuleUnload)                                                                                         \
  DO(cuModuleGetFunction)                                                                                    \
  DO(cuFuncLoad)                                                                                             \
  DO(cuLaunchKernel)                                                                                         \
  DO(cuLaunchHostFunc)                                                                                       \
  DO(cuStreamCreateWithPriority)                                                                             \
  DO(cuStreamDestroy)                                                                                        \
  DO(cuStreamSynchronize)                                                                                    \
  DO(cuStreamQuery)                                                                                          \
  DO(cuStreamWaitEvent)                                                                                      \
  DO(cuStreamWaitValue32)                                                                                    \
  DO(cuStreamWriteValue32)                                                                                   \
  DO(cuStreamBeginCapture)                                                                                   \
  DO(cuStreamEndCapture)                                                                                     \
  DO(cuStreamGetCaptureInfo)                                                                                 \
  DO(cuEventCreate)                                                                                          \
  DO(cuEventDestroy)                                                                                         \
  DO(cuEventRecord)                                                                                          \
  DO(cuEventQuery)                                                                                           \
  DO(cuEventSynchronize)                                                                                     \
  DO(cuEventElapsedTime)                                                                                     \
  DO(cuGraphInstantiate)                                                                                     \
  DO(cuGraphExecKernelNodeSetParams)                                                                         \
  DO(cuGraphExecUpdate)                                                                                      \
  DO(cuGraphLaunch)                                                                                          \
  DO(cuGraphDestroy)                                                                                         \
  DO(cuGraphExecDestroy)

/// The driver of the process: the `libcuda.so.1` that the loader finds.
struct Driver {
  /// Opens and initializes it; throws NoDriverError if there is none, or none that is new enough.
  static const Driver &get();

  /// Throws Error if a call has failed: `what` could not be done, and why.
  void check(CUresult result, const std::string &what) const;
  /// What the driver says of a result.
  std::string describe(CUresult result) const;

#define EPL_DECLARE(name) decltype(&::name) name = nullptr; // NOLINT(bugprone-macro-parentheses)
  EPL_CUDA_FUNCTIONS(EPL_DECLARE)
#undef EPL_DECLARE

private:
  static Driver open();
};

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_DRIVER_H
