//===- RealDriver.cpp - The driver that the real cuDNN finds where it plans -----------===//
//
// libcuda.so.1 for the real library behind the stand-in (Real.h), which plans for a device that a file
// describes: engines for attention are compiled for it, and what is compiled is handed to the driver before a
// plan counts as one. Of a card it knows nothing, and nothing is run.
//
//===----------------------------------------------------------------------===//

#include <cstddef>
#include <cstdint>

namespace {

constexpr int kSuccess = 0, kNoDevice = 100;
/// What stands for code that has been loaded.
void *const kLoaded = reinterpret_cast<void *>(uintptr_t(16));

} // namespace

// NOLINTBEGIN(readability-identifier-naming): the driver's names
extern "C" {

int cuLibraryLoadData(void **library) {
  *library = kLoaded;
  return kSuccess;
}

int cuLibraryGetKernel(void **kernel) {
  *kernel = kLoaded;
  return kSuccess;
}

int cuKernelGetAttribute(int *value) {
  *value = 0;
  return kSuccess;
}

int cuKernelSetAttribute() { return kSuccess; }
int cuLibraryUnload() { return kSuccess; }

/// NVRTC looks at the size of the table that it is given, its first word, and asks nothing of a small one.
int cuGetExportTable(const void **table) {
  static const size_t words[8] = {0x30};
  *table = words;
  return kSuccess;
}

int cuGetErrorString(int, const char **text) {
  *text = "no device";
  return kSuccess;
}

#define EPL_WITHOUT_DEVICE(name)                                                                             \
  int name() { return kNoDevice; }
EPL_WITHOUT_DEVICE(cuCtxGetCurrent)
EPL_WITHOUT_DEVICE(cuCtxGetDevice)
EPL_WITHOUT_DEVICE(cuCtxGetLimit)
EPL_WITHOUT_DEVICE(cuCtxPopCurrent)
EPL_WITHOUT_DEVICE(cuCtxPushCurrent)
EPL_WITHOUT_DEVICE(cuDeviceGet)
EPL_WITHOUT_DEVICE(cuDeviceGetAttribute)
EPL_WITHOUT_DEVICE(cuDeviceGetCount)
EPL_WITHOUT_DEVICE(cuDevicePrimaryCtxRelease)
EPL_WITHOUT_DEVICE(cuDevicePrimaryCtxReset)
EPL_WITHOUT_DEVICE(cuDevicePrimaryCtxRetain)
EPL_WITHOUT_DEVICE(cuDriverGetVersion)
EPL_WITHOUT_DEVICE(cuFuncGetAttribute)
EPL_WITHOUT_DEVICE(cuFuncSetAttribute)
EPL_WITHOUT_DEVICE(cuGetErrorName)
EPL_WITHOUT_DEVICE(cuInit)
EPL_WITHOUT_DEVICE(cuLaunchCooperativeKernel)
EPL_WITHOUT_DEVICE(cuLaunchKernel)
EPL_WITHOUT_DEVICE(cuLaunchKernelEx)
EPL_WITHOUT_DEVICE(cuLibraryLoadFromFile)
EPL_WITHOUT_DEVICE(cuLinkAddData)
EPL_WITHOUT_DEVICE(cuLinkComplete)
EPL_WITHOUT_DEVICE(cuLinkCreate)
EPL_WITHOUT_DEVICE(cuLinkDestroy)
EPL_WITHOUT_DEVICE(cuModuleGetFunction)
EPL_WITHOUT_DEVICE(cuModuleLoadData)
EPL_WITHOUT_DEVICE(cuModuleLoadDataEx)
EPL_WITHOUT_DEVICE(cuModuleLoadFatBinary)
EPL_WITHOUT_DEVICE(cuModuleUnload)
EPL_WITHOUT_DEVICE(cuOccupancyMaxActiveBlocksPerMultiprocessor)
EPL_WITHOUT_DEVICE(cuOccupancyMaxPotentialClusterSize)
EPL_WITHOUT_DEVICE(cuStreamGetCtx)
EPL_WITHOUT_DEVICE(cuStreamSynchronize)
#undef EPL_WITHOUT_DEVICE

} // extern "C"
// NOLINTEND(readability-identifier-naming)
