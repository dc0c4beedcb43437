//===- ApiDevices.cpp - Functions of the driver: devices, contexts --------===//

#include "test/cuda/driver/Api.h"

#include "test/cuda/driver/Control.h"
#include "test/cuda/driver/Current.h"

#include <cstring>

using namespace cuda_double;

CUresult cuInit(unsigned flags) { return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; }

CUresult cuDriverGetVersion(int *version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) {
  return call([&](Driver &driver) { *count = driver.getDeviceCount(); });
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  return call([&](Driver &driver) {
    driver.checkDevice(ordinal);
    *device = ordinal;
  });
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
  return call([&](Driver &driver) {
    driver.checkDevice(device);
    std::strncpy(name, "EPL's stand-in of a GPU", length - 1);
    name[length - 1] = 0;
  });
}

/// A card of this machine, for all of its processes.
CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device) {
  return call([&](Driver &driver) {
    driver.checkDevice(device);
    *uuid = {};
    uuid->bytes[15] = static_cast<char>(device + 1);
  });
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device) {
  return call([&](Driver &driver) {
    driver.checkDevice(device);
    *bytes = driver.getCapacity(device);
  });
}

/// Those of an H100 that somebody asks for.
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
  return call([&](Driver &driver) {
    driver.checkDevice(device);
    static const std::map<CUdevice_attribute, int> table = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 48 * 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 227 * 1024}};
    auto found = table.find(attribute);
    if (found == table.end())
      throw DriverError{CUDA_ERROR_NOT_SUPPORTED};
    *value = found->second;
  });
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  return call([&](Driver &driver) {
    driver.checkDevice(device);
    *context = contextOf(device);
  });
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return call([&](Driver &driver) { driver.checkDevice(device); });
}

CUresult cuCtxSetCurrent(CUcontext context) {
  return call([&](Driver &driver) {
    if (context)
      driver.checkDevice(deviceOf(context));
    currentContext() = context;
  });
}

CUresult cuCtxGetCurrent(CUcontext *context) {
  return call([&](Driver &) { *context = currentContext(); });
}

CUresult cuCtxGetDevice(CUdevice *device) {
  return call([&](Driver &driver) { *device = driver.getCurrentDevice(); });
}

CUresult cuCtxSynchronize() {
  return call([](Driver &driver) {
    driver.getCurrentDevice();
    driver.wait(driver.operations.getAll());
  });
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice from, CUdevice to) {
  return call([&](Driver &driver) {
    driver.checkDevice(from);
    driver.checkDevice(to);
    *can = from != to ? 1 : 0;
  });
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  return call([&](Driver &driver) {
    int from = driver.getCurrentDevice(), to = deviceOf(peer);
    driver.checkDevice(to);
    if (from == to || flags != 0)
      throw DriverError{CUDA_ERROR_INVALID_VALUE};
    if (!driver.enablePeer(from, to))
      throw DriverError{CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED};
  });
}

CUresult cuGetErrorName(CUresult error, const char **name) {
  static const std::map<CUresult, const char *> names = {
      {CUDA_SUCCESS, "CUDA_SUCCESS"},
      {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
      {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
      {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE"},
      {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
      {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX"},
      {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE"},
      {CUDA_ERROR_ILLEGAL_STATE, "CUDA_ERROR_ILLEGAL_STATE"},
      {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
      {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY"},
      {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED"},
      {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
      {CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED"},
      {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
      {CUDA_ERROR_STREAM_CAPTURE_MERGE, "CUDA_ERROR_STREAM_CAPTURE_MERGE"},
      {CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"},
      {CUDA_ERROR_CAPTURED_EVENT, "CUDA_ERROR_CAPTURED_EVENT"},
      {CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"}};
  auto found = names.find(error);
  *name = found == names.end() ? nullptr : found->second;
  return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text) { return cuGetErrorName(error, text); }

void eplCudaRestart(uint64_t seed) { Driver::get().restart(seed); }
size_t eplCudaCountFindings() { return Driver::get().getFindings().size(); }
const char *eplCudaGetFinding(size_t number) { return Driver::get().getFindings().at(number).c_str(); }
