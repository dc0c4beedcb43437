//===- DriverFixture.h - Tests that call the driver -------------*- C++ -*-===//
#pragma once

#include "test/cuda/driver/Control.h"
#include "test/unit/cuda/Kernel.h"

#include <cuda.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuda_double {

/// A context of device 0, two streams, and a module of kernels on 32-bit numbers, in the orders of several
/// seeds.
class DriverTest : public testing::TestWithParam<uint64_t> {
protected:
  void SetUp() override {
    eplCudaRestart(GetParam());
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    for (CUstream *stream : {&a, &b})
      ASSERT_EQ(cuStreamCreate(stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    // out[i] = in[i] + 1
    loadModule(module, increment);
    ASSERT_EQ(cuFuncLoad(increment), CUDA_SUCCESS);
  }

  /// Loads the kernel for the device of this thread.
  static void loadModule(CUmodule &module, CUfunction &function) {
    std::string text = makeKernel(
        2, "mul.wide.u32 %w4, %r0, 4; add.u64 %w5, %w0, %w4; ld.global.u32 %r5, [%w5]; add.u32 %r5, %r5, 1;\n"
           "add.u64 %w6, %w1, %w4; st.global.u32 [%w6], %r5;");
    ASSERT_EQ(cuModuleLoadData(&module, text.c_str()), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetFunction(&function, module, "k"), CUDA_SUCCESS);
  }

  void TearDown() override {
    eplCudaRestart(1);
    for (CUstream stream : {a, b})
      cuStreamDestroy(stream);
    for (CUdeviceptr address : allocated)
      cuMemFree(address);
    cuModuleUnload(module);
  }

  CUdeviceptr allocate(size_t size = kSize) {
    CUdeviceptr address = 0;
    EXPECT_EQ(cuMemAlloc(&address, 4 * size), CUDA_SUCCESS);
    allocated.push_back(address);
    return address;
  }

  CUdeviceptr upload(uint32_t value) {
    CUdeviceptr address = allocate();
    std::vector<uint32_t> values(kSize, value);
    EXPECT_EQ(cuMemcpyHtoD(address, values.data(), 4 * kSize), CUDA_SUCCESS);
    return address;
  }

  std::vector<uint32_t> download(CUdeviceptr address) {
    std::vector<uint32_t> values(kSize);
    EXPECT_EQ(cuMemcpyDtoH(values.data(), address, 4 * kSize), CUDA_SUCCESS);
    return values;
  }

  /// out = in + 1, all of it.
  CUresult launch(CUstream stream, CUdeviceptr in, CUdeviceptr out) {
    return launch(increment, stream, in, out);
  }
  static CUresult launch(CUfunction function, CUstream stream, CUdeviceptr in, CUdeviceptr out) {
    void *arguments[] = {&in, &out};
    return cuLaunchKernel(function, kSize / 32, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr);
  }

  static CUevent makeEvent() {
    CUevent event = nullptr;
    EXPECT_EQ(cuEventCreate(&event, CU_EVENT_DEFAULT), CUDA_SUCCESS);
    return event;
  }

  /// What `behind` does next comes after all that `before` has done.
  static void order(CUstream before, CUstream behind) {
    CUevent event = makeEvent();
    EXPECT_EQ(cuEventRecord(event, before), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamWaitEvent(behind, event, 0), CUDA_SUCCESS);
  }

  static std::vector<std::string> findings() {
    std::vector<std::string> texts;
    for (size_t i = 0; i < eplCudaCountFindings(); ++i)
      texts.emplace_back(eplCudaGetFinding(i));
    return texts;
  }

  static constexpr size_t kSize = 64;
  CUcontext context = nullptr;
  CUstream a = nullptr, b = nullptr;
  CUmodule module = nullptr;
  CUfunction increment = nullptr;
  std::vector<CUdeviceptr> allocated;
};

} // namespace cuda_double
