//===- ApiMemory.cpp - Functions of the driver: memory --------------------===//

#include "test/cuda/driver/Api.h"

using namespace cuda_double;

static uint64_t addressOf(const void *pointer) { return reinterpret_cast<uint64_t>(pointer); }

CUresult cuMemAlloc(CUdeviceptr *address, size_t size) {
  return call([&](Driver &driver) { *address = driver.allocate(size); });
}

CUresult cuMemFree(CUdeviceptr address) {
  return call([&](Driver &driver) {
    driver.checkNoCapture();
    driver.release(address);
  });
}

CUresult cuMemGetInfo(size_t *free, size_t *total) {
  return call([&](Driver &driver) {
    int device = driver.getCurrentDevice();
    *free = driver.getFree(device);
    *total = driver.getCapacity(device);
  });
}

CUresult cuMemHostAlloc(void **address, size_t size, unsigned) {
  return call([&](Driver &driver) { *address = driver.allocateHost(size); });
}

CUresult cuMemFreeHost(void *address) {
  return call([&](Driver &driver) { driver.releaseHost(address); });
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t size) {
  return call([&](Driver &driver) { driver.runNow(CopyWork{to, addressOf(from), size}); });
}

CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t size) {
  return call([&](Driver &driver) { driver.runNow(CopyWork{addressOf(to), from, size}); });
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t size, CUstream stream) {
  return call([&](Driver &driver) { driver.enqueue(stream, CopyWork{to, addressOf(from), size}); });
}

CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t size, CUstream stream) {
  return call([&](Driver &driver) { driver.enqueue(stream, CopyWork{addressOf(to), from, size}); });
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
  return call([&](Driver &driver) { driver.enqueue(stream, CopyWork{to, from, size}); });
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return call([&](Driver &driver) { driver.enqueue(stream, FillWork{to, value, 1, count}); });
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  return call([&](Driver &driver) { driver.enqueue(stream, FillWork{to, value, 4, count}); });
}
