// What the plugin relies on of a driver. The stand-in keeps these rules, too: scripts/test-gpu asks a real
// one.

#include "test/unit/cuda/card/Card.h"

#include <atomic>
#include <dlfcn.h>
#include <iostream>
#include <thread>

namespace epl::runtime::cuda::test {
namespace {

class Rules : public CardTest {};

/// Who measures asks which card it was, or whether it was one.
TEST_F(Rules, ACardHasAName) {
  void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD); // the plugin has no use for names
  ASSERT_NE(driver, nullptr);
  auto *getName = reinterpret_cast<CUresult (*)(char *, int, CUdevice)>(dlsym(driver, "cuDeviceGetName"));
  ASSERT_NE(getName, nullptr);
  char name[256] = {};
  ASSERT_EQ(getName(name, sizeof(name), 0), CUDA_SUCCESS);
  EXPECT_STRNE(name, "");
  std::cout << "card: " << name << '\n';
}

TEST_F(Rules, StreamsComeBehindEvents) {
  CUdeviceptr x = filled(1), y = filled(2), z = filled(3);
  copy(a, x, y);
  order(a, b);
  copy(b, y, z);
  wait(b);
  EXPECT_EQ(numberIn(z), 1U);
}

TEST_F(Rules, WhatIsCapturedRunsWhenItIsLaunched) {
  CUdeviceptr x = filled(1), y = filled(2), z = filled(3);
  begin(a);
  copy(a, x, y);
  order(a, b);
  copy(b, y, z);
  order(b, a);
  Graph graph = end(a);
  ExecutableGraph executable = instantiate(graph);
  EXPECT_EQ(numberIn(z), 3U);
  for (uint32_t round = 5; round < 8; ++round) {
    ASSERT_EQ(api.cuMemsetD8Async(x, uint8_t(round), 4 * kSize, a), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphLaunch(executable, a), CUDA_SUCCESS);
    wait(a);
    EXPECT_EQ(numberIn(z), round * 0x01010101U);
  }
}

TEST_F(Rules, AStreamThatIsNotJoinedIsAnError) {
  CUdeviceptr x = filled(1), y = filled(2);
  begin(a);
  order(a, b);
  copy(b, x, y);
  CUgraph graph = nullptr;
  EXPECT_EQ(api.cuStreamEndCapture(a, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  EXPECT_EQ(graph, nullptr);
  wait(b);
  EXPECT_EQ(numberIn(y), 2U);
}

TEST_F(Rules, ACaptureTakesNoEventFromOutside) {
  Event event = makeEvent(api);
  ASSERT_EQ(api.cuEventRecord(event, b), CUDA_SUCCESS);
  begin(a);
  EXPECT_EQ(api.cuStreamWaitEvent(a, event, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  CUgraph graph = nullptr;
  (void)api.cuStreamEndCapture(a, &graph);
  if (graph)
    api.cuGraphDestroy(graph);
  wait(b);
}

TEST_F(Rules, AnotherThreadWaitsWhileOneCaptures) {
  CUdeviceptr x = filled(1), y = filled(2);
  begin(a);
  copy(a, x, y);
  std::thread([&] {
    cards->use(0);
    EXPECT_EQ(numberIn(x), 1U);
  }).join();
  Graph graph = end(a);
  EXPECT_TRUE(graph);
}

TEST_F(Rules, TheLastNodeOfAStreamIsKnown) {
  CUdeviceptr x = filled(1), y = filled(2);
  begin(a);
  copy(a, x, y);
  CUstreamCaptureStatus status{};
  const CUgraphNode *last = nullptr;
  size_t count = 0;
  EXPECT_EQ(api.cuStreamGetCaptureInfo(a, &status, nullptr, nullptr, &last, nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(count, 1U);
  Graph graph = end(a);
}

TEST_F(Rules, AGraphIsUpdatedByAnotherOneOfTheSameForm) {
  CUdeviceptr x = filled(1), y = filled(2), z = filled(3);
  begin(a);
  copy(a, x, y);
  Graph first = end(a);
  ExecutableGraph executable = instantiate(first);
  begin(a);
  copy(a, x, z);
  Graph second = end(a);
  CUgraphExecUpdateResultInfo info{};
  ASSERT_EQ(api.cuGraphExecUpdate(executable, second, &info), CUDA_SUCCESS);
  ASSERT_EQ(api.cuGraphLaunch(executable, a), CUDA_SUCCESS);
  wait(a);
  EXPECT_EQ(numberIn(y), 2U);
  EXPECT_EQ(numberIn(z), 1U);
  begin(a);
  copy(a, x, y);
  copy(a, y, z);
  Graph longer = end(a);
  EXPECT_EQ(api.cuGraphExecUpdate(executable, longer, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
}

TEST_F(Rules, AStreamWaitsForANumberOfTheHost) {
  Pinned pinned = takePinned(api, 64);
  auto *numbers = static_cast<uint32_t *>(pinned.get());
  numbers[0] = numbers[1] = 0;
  auto address = reinterpret_cast<CUdeviceptr>(numbers);
  CUdeviceptr x = filled(1), y = filled(2);
  begin(a);
  ASSERT_EQ(api.cuStreamWriteValue32(a, address, 1, 0), CUDA_SUCCESS);
  ASSERT_EQ(api.cuStreamWaitValue32(a, address + 4, 1, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
  copy(a, x, y);
  Graph graph = end(a);
  ExecutableGraph executable = instantiate(graph);
  for (uint32_t round = 5; round < 8; ++round) {
    numbers[0] = numbers[1] = 0;
    ASSERT_EQ(api.cuMemsetD8Async(x, uint8_t(round), 4 * kSize, a), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphLaunch(executable, a), CUDA_SUCCESS);
    while (std::atomic_ref(numbers[0]).load() == 0)
      EXPECT_EQ(api.cuStreamQuery(a), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(api.cuStreamQuery(a), CUDA_ERROR_NOT_READY) << "it waits";
    std::atomic_ref(numbers[1]).store(1);
    wait(a);
    EXPECT_EQ(numberIn(y), round * 0x01010101U);
  }
}

TEST_F(Rules, HostFunctionsAreInTheirPlace) {
  Pinned pinned = takePinned(api, 4 * kSize);
  CUdeviceptr x = filled(1), y = filled(2);
  auto increment = [](void *data) {
    for (size_t i = 0; i < kSize; ++i)
      ++static_cast<uint32_t *>(data)[i];
  };
  begin(a);
  ASSERT_EQ(api.cuMemcpyDtoHAsync(pinned, x, 4 * kSize, a), CUDA_SUCCESS);
  ASSERT_EQ(api.cuLaunchHostFunc(a, increment, pinned), CUDA_SUCCESS);
  ASSERT_EQ(api.cuMemcpyHtoDAsync(y, pinned, 4 * kSize, a), CUDA_SUCCESS);
  Graph graph = end(a);
  ExecutableGraph executable = instantiate(graph);
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(api.cuGraphLaunch(executable, a), CUDA_SUCCESS);
    wait(a);
    EXPECT_EQ(numberIn(y), 2U);
  }
}

TEST_F(Rules, MemoryIsAlignedAndLimited) {
  CUdeviceptr some = 0;
  EXPECT_EQ(api.cuMemAlloc(&some, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(api.cuMemAlloc(&some, size_t(1) << 50), CUDA_ERROR_OUT_OF_MEMORY);
  for (size_t size : {1, 100, 1000}) {
    ASSERT_EQ(api.cuMemAlloc(&some, size), CUDA_SUCCESS);
    EXPECT_EQ(some % 256, 0U);
    EXPECT_EQ(api.cuMemFree(some), CUDA_SUCCESS);
  }
}

TEST_F(Rules, TimesAreThoseOfEvents) {
  CUdeviceptr x = filled(1), y = filled(2);
  Event first = makeEvent(api, /*isTimed=*/true), last = makeEvent(api, /*isTimed=*/true);
  ASSERT_EQ(api.cuEventRecord(first, a), CUDA_SUCCESS);
  copy(a, x, y);
  ASSERT_EQ(api.cuEventRecord(last, a), CUDA_SUCCESS);
  wait(a);
  float milliseconds = -1;
  EXPECT_EQ(api.cuEventElapsedTime(&milliseconds, first, last), CUDA_SUCCESS);
  EXPECT_GE(milliseconds, 0);
}

TEST_F(Rules, CodeThatIsNoneIsRefused) {
  CUmodule module = nullptr;
  EXPECT_EQ(api.cuModuleLoadDataEx(&module, "no code", 0, nullptr, nullptr), CUDA_ERROR_INVALID_PTX);
  const char *later = ".version 99.9\n.target sm_80\n.address_size 64\n";
  EXPECT_EQ(api.cuModuleLoadDataEx(&module, later, 0, nullptr, nullptr), CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  ASSERT_EQ(api.cuModuleLoadDataEx(&module, ownKernels().data(), 0, nullptr, nullptr), CUDA_SUCCESS);
  CUfunction function = nullptr;
  EXPECT_EQ(api.cuModuleGetFunction(&function, module, "epl_missing"), CUDA_ERROR_NOT_FOUND);
  ASSERT_EQ(api.cuModuleGetFunction(&function, module, "epl_copy"), CUDA_SUCCESS);
  CUdeviceptr table = filled(0);
  unsigned long count = 0;
  void *arguments[] = {&table, &count};
  EXPECT_EQ(api.cuLaunchKernel(function, 0, 1, 1, 128, 1, 1, 0, a, arguments, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(api.cuLaunchKernel(function, 1, 1, 1, 2048, 1, 1, 0, a, arguments, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  wait(a);
  EXPECT_EQ(api.cuModuleUnload(module), CUDA_SUCCESS);
}

} // namespace
} // namespace epl::runtime::cuda::test
