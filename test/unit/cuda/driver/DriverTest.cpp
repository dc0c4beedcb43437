//===- DriverTest.cpp - Devices, memory, streams --------------------------===//

#include "test/unit/cuda/driver/DriverFixture.h"

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

using namespace cuda_double;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

INSTANTIATE_TEST_SUITE_P(Seeds, DriverTest, testing::Range<uint64_t>(1, 6));

TEST_P(DriverTest, KnowsItsDevices) {
  int count = 0, value = 0;
  EXPECT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
  EXPECT_EQ(count, 4);
  CUdevice device;
  EXPECT_EQ(cuDeviceGet(&device, 3), CUDA_SUCCESS);
  EXPECT_EQ(cuDeviceGet(&device, 4), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0), CUDA_SUCCESS);
  EXPECT_EQ(value, 32);
  const char *name = nullptr;
  EXPECT_EQ(cuGetErrorName(CUDA_ERROR_INVALID_DEVICE, &name), CUDA_SUCCESS);
  EXPECT_STREQ(name, "CUDA_ERROR_INVALID_DEVICE");
  std::thread([] {
    CUdeviceptr address = 0;
    EXPECT_EQ(cuMemAlloc(&address, 4), CUDA_ERROR_INVALID_CONTEXT); // a context is of a thread
  }).join();
}

TEST_P(DriverTest, GivesMemoryUntilItIsFull) {
  size_t before = 0, free = 0, total = 0;
  EXPECT_EQ(cuMemGetInfo(&before, &total), CUDA_SUCCESS);
  CUdeviceptr address = 0, more = 0;
  EXPECT_EQ(cuMemAlloc(&address, 1000), CUDA_SUCCESS);
  EXPECT_EQ(cuMemGetInfo(&free, &total), CUDA_SUCCESS);
  EXPECT_EQ(before - free, 1000U);
  EXPECT_EQ(cuMemAlloc(&more, free + 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemAlloc(&more, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(address), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemGetInfo(&free, &total), CUDA_SUCCESS);
  EXPECT_EQ(free, before);
}

TEST_P(DriverTest, RunsKernels) {
  CUdeviceptr in = upload(5), out = allocate();
  EXPECT_EQ(launch(a, in, out), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_SUCCESS);
  EXPECT_THAT(download(out), Each(6U));
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_P(DriverTest, BeginsNothingBeforeSomebodyWaits) {
  CUdeviceptr in = upload(5), out = upload(0);
  EXPECT_EQ(launch(a, in, out), CUDA_SUCCESS);
  EXPECT_EQ(*reinterpret_cast<uint32_t *>(out), 0U);
  // Who asks gets on, a step each time.
  EXPECT_EQ(launch(a, out, in), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(a), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cuStreamQuery(a), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_SUCCESS);
  EXPECT_THAT(download(in), Each(7U));
}

TEST_P(DriverTest, OrdersTheHostBehindWhatItHasSeenDone) {
  CUdeviceptr x = upload(1), y = upload(0), z = upload(0);
  EXPECT_EQ(launch(a, x, y), CUDA_SUCCESS);
  while (cuStreamQuery(a) == CUDA_ERROR_NOT_READY) {
  }
  EXPECT_EQ(launch(b, y, z), CUDA_SUCCESS);
  CUevent event = makeEvent();
  EXPECT_EQ(cuEventRecord(event, b), CUDA_SUCCESS);
  while (cuEventQuery(event) == CUDA_ERROR_NOT_READY) {
  }
  EXPECT_EQ(launch(a, z, x), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_THAT(download(x), Each(4U));
}

TEST_P(DriverTest, FindsWhatNothingOrders) {
  CUdeviceptr x = upload(1), y = upload(0), z = upload(0);
  EXPECT_EQ(launch(a, x, y), CUDA_SUCCESS);
  EXPECT_EQ(launch(b, y, z), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_THAT(findings(),
              ElementsAre(HasSubstr("order: \"k\" and \"k\" touch the same bytes, and nothing orders them")));
}

TEST_P(DriverTest, TakesEventsForOrder) {
  CUdeviceptr x = upload(1), y = upload(0), z = upload(0);
  EXPECT_EQ(launch(a, x, y), CUDA_SUCCESS);
  order(a, b);
  EXPECT_EQ(launch(b, y, z), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(b), CUDA_SUCCESS);
  EXPECT_THAT(download(z), Each(3U));
  // Readers need none between them.
  EXPECT_EQ(launch(a, x, y), CUDA_SUCCESS);
  EXPECT_EQ(launch(b, x, z), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_P(DriverTest, KnowsThatTheHostHasWaited) {
  CUdeviceptr x = upload(1), y = upload(0), z = upload(0);
  EXPECT_EQ(launch(a, x, y), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_SUCCESS);
  EXPECT_EQ(launch(b, y, z), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(b), CUDA_SUCCESS);
  EXPECT_THAT(findings(), IsEmpty());
  // A copy for which the host waits is behind what it knows of, not behind the streams.
  EXPECT_EQ(launch(a, x, y), CUDA_SUCCESS);
  download(y);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_THAT(findings(), ElementsAre(HasSubstr("order: ")));
}

TEST_P(DriverTest, CopiesPinnedMemory) {
  void *host = nullptr;
  ASSERT_EQ(cuMemHostAlloc(&host, 4 * kSize, 0), CUDA_SUCCESS);
  std::fill_n(static_cast<uint32_t *>(host), kSize, 8);
  CUdeviceptr x = allocate(), y = allocate();
  EXPECT_EQ(cuMemcpyHtoDAsync(x, host, 4 * kSize, a), CUDA_SUCCESS);
  EXPECT_EQ(launch(a, x, y), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoDAsync(x, y, 4 * kSize, a), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32Async(y, 3, kSize, a), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8Async(y, 1, 4, a), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoHAsync(host, x, 4 * kSize, a), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_SUCCESS);
  EXPECT_EQ(static_cast<uint32_t *>(host)[9], 9U);
  EXPECT_EQ(download(y)[0], 0x01010101U);
  EXPECT_EQ(download(y)[1], 3U);
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_EQ(cuMemFreeHost(host), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeHost(host), CUDA_ERROR_INVALID_VALUE);
  std::vector<uint32_t> pageable(kSize);
  EXPECT_EQ(cuMemcpyHtoDAsync(x, pageable.data(), 4 * kSize, a), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(findings(), ElementsAre(HasSubstr("host memory that is not pinned")));
}

TEST_P(DriverTest, FindsReadsOfWhatNobodyWrote) {
  CUdeviceptr x = allocate(), y = allocate();
  EXPECT_EQ(cuMemcpyDtoDAsync(y, x, 4 * kSize, a), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_SUCCESS);
  EXPECT_THAT(findings(), ElementsAre("unwritten: copy of 256 bytes reads bytes that nobody has written"));
}

TEST_P(DriverTest, RefusesTheNullStream) {
  CUdeviceptr x = upload(1), y = allocate();
  EXPECT_EQ(launch(nullptr, x, y), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_THAT(findings(), ElementsAre(HasSubstr("\"k\" uses the NULL stream")));
}

TEST_P(DriverTest, RefusesHandlesOfNothing) {
  EXPECT_EQ(cuStreamSynchronize(reinterpret_cast<CUstream>(8)), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventSynchronize(nullptr), CUDA_ERROR_INVALID_HANDLE);
  CUevent event = makeEvent();
  EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(event, a), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuModuleGetFunction(&increment, module, "missing"), CUDA_ERROR_NOT_FOUND);
}

TEST_P(DriverTest, RefusesLaunchesThatNoCardRuns) {
  CUdeviceptr x = upload(1), y = allocate();
  void *arguments[] = {&x, &y};
  auto launchAs = [&](unsigned grid, unsigned block, unsigned shared) {
    return cuLaunchKernel(increment, grid, 1, 1, block, 1, 1, shared, a, arguments, nullptr);
  };
  EXPECT_EQ(launchAs(0, 32, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launchAs(1, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launchAs(1, 1025, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launchAs(1U << 31, 32, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunchKernel(increment, 1, 1U << 16, 1, 32, 1, 1, 0, a, arguments, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launchAs(1, 32, 49 * 1024), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncSetAttribute(increment, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 * 1024),
            CUDA_SUCCESS);
  EXPECT_EQ(launchAs(1, 32, 49 * 1024), CUDA_SUCCESS);
  EXPECT_EQ(cuFuncSetAttribute(increment, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 228 * 1024),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_SUCCESS);
}

TEST_P(DriverTest, FindsMemoryThatIsFreedUnderWork) {
  CUdeviceptr x = upload(1), y = 0;
  ASSERT_EQ(cuMemAlloc(&y, 4 * kSize), CUDA_SUCCESS);
  EXPECT_EQ(launch(a, x, y), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(y), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(findings(), Contains("memory: memory is freed while work is pending"));
  EXPECT_THAT(findings(), Contains(HasSubstr("memory that was freed")));
}

TEST_P(DriverTest, FailsForGoodWithAKernel) {
  CUdeviceptr x = upload(1), y = allocate(8);
  EXPECT_EQ(launch(a, x, y), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(findings(), Contains(HasSubstr("fault: kernel \"k\", line")));
  EXPECT_EQ(launch(b, x, x), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_P(DriverTest, ReportsRacesOfKernels) {
  CUmodule racing = nullptr;
  CUfunction function = nullptr;
  ASSERT_EQ(cuModuleLoadData(&racing, makeKernel(1, "st.global.u32 [%w0], %r0;").c_str()), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleGetFunction(&function, racing, "k"), CUDA_SUCCESS);
  CUdeviceptr x = allocate();
  void *arguments[] = {&x};
  EXPECT_EQ(cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, a, arguments, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_SUCCESS);
  EXPECT_THAT(findings(), ElementsAre(HasSubstr("race: kernel \"k\"")));
  EXPECT_EQ(cuModuleUnload(racing), CUDA_SUCCESS);
}

TEST_P(DriverTest, NamesTheLineOfPtxThatItDoesNotKnow) {
  CUmodule bad = nullptr;
  EXPECT_EQ(cuModuleLoadData(&bad, ".version 8.0\n.target sm_90\n.entry k() { wgmma.fence; }"),
            CUDA_ERROR_INVALID_PTX);
  EXPECT_THAT(findings(), ElementsAre(HasSubstr("ptx: line 3 of the PTX: the instruction \"wgmma.fence\"")));
}

TEST_P(DriverTest, KeepsDevicesApartUntilTheyArePeers) {
  CUdeviceptr x = upload(1), y = allocate();
  CUcontext other = nullptr;
  CUstream stream = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&other, GetParam() % 3 + 1), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(other), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
  CUmodule own = nullptr;
  CUfunction function = nullptr;
  loadModule(own, function);
  static std::set<uint64_t> arePeers; // for as long as the process lives
  if (arePeers.insert(GetParam() % 3).second) {
    EXPECT_EQ(launch(function, stream, x, y), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_THAT(findings(), Contains(HasSubstr("touches memory of another one")));
    eplCudaRestart(GetParam());
    EXPECT_EQ(cuCtxEnablePeerAccess(context, 0), CUDA_SUCCESS);
  }
  EXPECT_EQ(cuCtxEnablePeerAccess(context, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  EXPECT_EQ(cuCtxEnablePeerAccess(other, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(function, stream, x, y), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleUnload(own), CUDA_SUCCESS);
  cuCtxSetCurrent(context);
}

TEST_P(DriverTest, HasStreamsThatAreMoreUrgent) {
  int least = 1, greatest = 1;
  EXPECT_EQ(cuCtxGetStreamPriorityRange(&least, &greatest), CUDA_SUCCESS);
  EXPECT_EQ(least, 0);
  EXPECT_LT(greatest, least);
}

TEST_P(DriverTest, LaunchesAndRecordsOnTheDeviceOfTheStream) {
  CUdeviceptr x = upload(1), y = allocate();
  CUcontext other = nullptr;
  CUstream stream = nullptr;
  CUmodule own = nullptr;
  CUfunction function = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&other, 3), CUDA_SUCCESS);
  CUevent here = makeEvent();
  EXPECT_EQ(cuEventRecord(here, a), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(other), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
  loadModule(own, function);
  EXPECT_EQ(launch(a, x, y), CUDA_ERROR_INVALID_HANDLE);      // from another device than the stream's
  EXPECT_EQ(launch(stream, x, y), CUDA_ERROR_INVALID_HANDLE); // a function of another one
  EXPECT_EQ(cuEventRecord(here, stream), CUDA_ERROR_INVALID_HANDLE);
  CUevent there = makeEvent();
  EXPECT_EQ(cuEventRecord(there, stream), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(a, there, 0), CUDA_SUCCESS); // streams wait for any device
  EXPECT_EQ(cuEventSynchronize(there), CUDA_SUCCESS);
  EXPECT_EQ(cuEventSynchronize(here), CUDA_SUCCESS);
  float milliseconds = 0;
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, here, there), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleUnload(own), CUDA_SUCCESS);
  cuCtxSetCurrent(context);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_P(DriverTest, CallsFunctionsOfTheHostInTheirTurn) {
  CUdeviceptr x = upload(1), y = upload(0);
  uint32_t seen = 0;
  std::pair<CUdeviceptr, uint32_t *> data{y, &seen};
  EXPECT_EQ(launch(a, x, y), CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchHostFunc(
                a,
                [](void *data) {
                  auto *pair = static_cast<std::pair<CUdeviceptr, uint32_t *> *>(data);
                  *pair->second = *reinterpret_cast<uint32_t *>(pair->first);
                },
                &data),
            CUDA_SUCCESS);
  EXPECT_EQ(seen, 0U);
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_SUCCESS);
  EXPECT_EQ(seen, 2U);
}

TEST_P(DriverTest, TellsTimeBetweenEvents) {
  CUdeviceptr x = upload(1), y = upload(0);
  CUevent begin = makeEvent(), end = makeEvent();
  float milliseconds = -1;
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, begin, end), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventRecord(begin, a), CUDA_SUCCESS);
  EXPECT_EQ(launch(a, x, y), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(end, a), CUDA_SUCCESS);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, begin, end), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cuEventSynchronize(end), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(end), CUDA_SUCCESS);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, begin, end), CUDA_SUCCESS);
  EXPECT_GT(milliseconds, 0);
}

TEST_P(DriverTest, WritesAReport) {
  std::string path = testing::TempDir() + "/cuda-report-" + std::to_string(GetParam()) + ".json";
  auto work = [&] {
    setenv("EPL_CUDA_REPORT", path.c_str(), 1);
    launch(a, upload(1), upload(0));
    launch(nullptr, 0, 0);
    cuStreamSynchronize(a);
    std::exit(0);
  };
  GTEST_FLAG_SET(death_test_style, "fast");
  EXPECT_EXIT(work(), testing::ExitedWithCode(0), "");
  nlohmann::json report = nlohmann::json::parse(std::ifstream(path));
  EXPECT_EQ(report["findings"].size(), 1U);
  EXPECT_EQ(report["kernels"]["k"]["loads"]["bytes"], 256);
  EXPECT_EQ(report["kernels"]["k"]["stores"]["sectors"], 8);
}

TEST_P(DriverTest, FindsHostMemoryThatIsRewrittenTooEarly) {
  CUdeviceptr to = allocate();
  void *memory = nullptr;
  EXPECT_EQ(cuMemHostAlloc(&memory, 4 * kSize, 0), CUDA_SUCCESS);
  auto *numbers = static_cast<uint32_t *>(memory);
  std::fill_n(numbers, kSize, 1);
  EXPECT_EQ(cuMemcpyHtoDAsync(to, memory, 4 * kSize, a), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_SUCCESS);
  numbers[3] = 2;
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_EQ(cuMemcpyHtoDAsync(to, memory, 4 * kSize, a), CUDA_SUCCESS);
  numbers[3] = 3;
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_SUCCESS);
  EXPECT_THAT(findings(), ElementsAre(HasSubstr("has rewritten them before they were copied")));
  EXPECT_EQ(cuMemFreeHost(memory), CUDA_SUCCESS);
}
