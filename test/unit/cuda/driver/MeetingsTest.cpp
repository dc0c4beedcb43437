//===- MeetingsTest.cpp - Work that waits for others ----------------------===//

#include "test/cuda/driver/Meeting.h"
#include "test/unit/cuda/driver/DriverFixture.h"

#include <atomic>
#include <cstdlib>
#include <thread>

using namespace cuda_double;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

/// What tests say and see of a meeting, which adds one to numbers as the kernel of the fixture does.
struct Seen {
  std::atomic<Meeting::State> state = Meeting::State::waits;
  std::atomic<int> begun = 0, ended = 0, gone = 0;
};

class Increment : public Meeting {
public:
  Increment(Seen &seen, CUdeviceptr in, CUdeviceptr out, size_t size)
      : seen(seen), from(reinterpret_cast<uint32_t *>(in)), to(reinterpret_cast<uint32_t *>(out)),
        size(size) {
    ++seen.begun;
  }
  ~Increment() override { ++seen.gone; }

  State ask() override { return seen.state; }
  void end() override {
    ++seen.ended;
    for (size_t i = 0; i < size; ++i)
      to[i] = from[i] + 1;
  }

private:
  Seen &seen;
  uint32_t *from, *to;
  size_t size;
};

class MeetingsTest : public DriverTest {
protected:
  void SetUp() override {
    DriverTest::SetUp();
    for (CUdeviceptr *address : {&x, &y, &z})
      *address = upload(0);
  }

  static CUresult meet(CUstream stream, Seen &seen, CUdeviceptr in, CUdeviceptr out, int device = 0,
                       size_t size = kSize) {
    return eplCudaMeet(stream,
                       {"meeting", device, {{in, 4 * size}}, {{out, 4 * size}}, [&seen, in, out, size] {
                          return std::make_unique<Increment>(seen, in, out, size);
                        }});
  }

  /// All that can go on has done so.
  static void goOn(CUstream stream) {
    for (int i = 0; i < 20; ++i)
      EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  }

  CUdeviceptr x = 0, y = 0, z = 0;
  Seen seen, other;
};

} // namespace

INSTANTIATE_TEST_SUITE_P(Seeds, MeetingsTest, testing::Range<uint64_t>(1, 9));

TEST_P(MeetingsTest, BeginInTheirTurnAndLetOthersGoOn) {
  CUdeviceptr free = upload(7), result = upload(0);
  EXPECT_EQ(launch(a, x, y), CUDA_SUCCESS);
  EXPECT_EQ(meet(a, seen, y, z), CUDA_SUCCESS);
  EXPECT_EQ(launch(a, z, x), CUDA_SUCCESS);
  EXPECT_EQ(seen.begun, 0);
  EXPECT_EQ(launch(b, free, result), CUDA_SUCCESS);
  goOn(a);
  EXPECT_EQ(seen.begun, 1);
  EXPECT_EQ(cuStreamSynchronize(b), CUDA_SUCCESS);
  EXPECT_THAT(download(result), Each(8U));
  EXPECT_EQ(*reinterpret_cast<uint32_t *>(y), 1U);
  EXPECT_EQ(*reinterpret_cast<uint32_t *>(x), 0U); // what is behind it waits
  EXPECT_EQ(seen.ended, 0);
  seen.state = Meeting::State::complete;
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_SUCCESS);
  EXPECT_THAT(download(x), Each(3U));
  EXPECT_EQ(seen.begun, 1);
  EXPECT_EQ(seen.ended, 1);
  EXPECT_EQ(seen.gone, 1);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_P(MeetingsTest, LetOtherThreadsCallTheDriver) {
  EXPECT_EQ(meet(a, seen, x, y), CUDA_SUCCESS);
  std::thread helper([&] {
    EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    while (seen.begun == 0)
      std::this_thread::yield();
    CUdeviceptr own = upload(4);
    EXPECT_EQ(launch(b, own, z), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(b), CUDA_SUCCESS);
    seen.state = Meeting::State::complete;
  });
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_SUCCESS);
  helper.join();
  EXPECT_THAT(download(y), Each(1U));
  EXPECT_THAT(download(z), Each(5U));
  EXPECT_THAT(findings(), IsEmpty());
}

/// A thread that waits does the work of others, too; a fault that one runs into ends the waiting of all.
TEST_P(MeetingsTest, EndWithAFaultOfAnotherThread) {
  EXPECT_EQ(meet(a, seen, x, y), CUDA_SUCCESS);
  std::thread helper([&] {
    EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    while (seen.begun == 0)
      std::this_thread::yield();
    EXPECT_EQ(launch(b, x, allocate(8)), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(b), CUDA_ERROR_ILLEGAL_ADDRESS);
  });
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_ERROR_ILLEGAL_ADDRESS);
  helper.join();
}

TEST_P(MeetingsTest, AreOrderedOnADevice) {
  seen.state = other.state = Meeting::State::complete;
  EXPECT_EQ(meet(a, seen, x, y), CUDA_SUCCESS);
  order(a, b);
  EXPECT_EQ(meet(b, other, x, z), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_EQ(meet(a, seen, x, y), CUDA_SUCCESS);
  EXPECT_EQ(meet(b, other, x, z), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_THAT(findings(), ElementsAre("order: \"meeting\" and \"meeting\" wait for others on one device, and "
                                      "nothing orders them"));
}

TEST_P(MeetingsTest, OfTwoDevicesNeedNoOrder) {
  CUcontext second = nullptr;
  CUstream stream = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&second, 1), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(second), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
  CUdeviceptr in = upload(1), out = upload(0);
  EXPECT_EQ(meet(stream, other, in, out, 0), CUDA_ERROR_INVALID_HANDLE); // a stream of another device
  seen.state = other.state = Meeting::State::complete;
  EXPECT_EQ(meet(a, seen, x, y), CUDA_SUCCESS);
  EXPECT_EQ(meet(stream, other, in, out, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_THAT(download(out), Each(2U));
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_EQ(meet(a, seen, in, y), CUDA_SUCCESS); // memory of the other device
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(findings(), Contains(HasSubstr("touches memory of another one")));
  eplCudaRestart(GetParam());
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
  cuCtxSetCurrent(context);
}

TEST_P(MeetingsTest, AreLookedAtLikeAllWork) {
  seen.state = Meeting::State::complete;
  EXPECT_EQ(meet(nullptr, seen, x, y), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_THAT(findings(), ElementsAre("stream: \"meeting\" uses the NULL stream"));
  eplCudaRestart(GetParam());
  EXPECT_EQ(meet(a, seen, allocate(), y), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_SUCCESS);
  EXPECT_THAT(findings(), ElementsAre("unwritten: meeting reads bytes that nobody has written"));
  eplCudaRestart(GetParam());
  EXPECT_EQ(launch(a, x, y), CUDA_SUCCESS);
  EXPECT_EQ(meet(b, seen, y, z), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_THAT(findings(), ElementsAre(HasSubstr("touch the same bytes, and nothing orders them")));
}

TEST_P(MeetingsTest, TouchMemoryOfTheDeviceOnly) {
  seen.state = Meeting::State::complete;
  EXPECT_EQ(meet(a, seen, x, y, 0, kSize + 1), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(findings(),
              ElementsAre("fault: meeting touches 4 bytes beyond the end of an allocation of 256"));
  eplCudaRestart(GetParam());
  seen.state = Meeting::State::waits;
  CUdeviceptr freed = 0;
  ASSERT_EQ(cuMemAlloc(&freed, 4 * kSize), CUDA_SUCCESS);
  EXPECT_EQ(meet(a, seen, x, freed), CUDA_SUCCESS);
  goOn(a);
  EXPECT_EQ(cuMemFree(freed), CUDA_SUCCESS);
  seen.state = Meeting::State::complete;
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(findings(), Contains("fault: meeting touches memory that was freed"));
  EXPECT_EQ(seen.ended, 0);
}

TEST_P(MeetingsTest, ThatFailWriteNothing) {
  CUdeviceptr out = allocate();
  seen.state = Meeting::State::failed;
  EXPECT_EQ(meet(a, seen, x, out), CUDA_SUCCESS);
  EXPECT_EQ(launch(a, out, y), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_SUCCESS);
  EXPECT_EQ(seen.ended, 0);
  EXPECT_EQ(seen.gone, 1);
  EXPECT_THAT(findings(), ElementsAre(HasSubstr("unwritten: kernel \"k\"")));
}

TEST_P(MeetingsTest, BeginAnewWithEachLaunchOfAGraph) {
  seen.state = Meeting::State::complete;
  EXPECT_EQ(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  EXPECT_EQ(launch(a, x, y), CUDA_SUCCESS);
  EXPECT_EQ(meet(a, seen, y, x), CUDA_SUCCESS);
  CUgraph graph = nullptr, again = nullptr;
  CUgraphExec executable = nullptr;
  EXPECT_EQ(cuStreamEndCapture(a, &graph), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(seen.begun, 0);
  CUgraphNode nodes[2] = {};
  size_t count = 2;
  EXPECT_EQ(cuGraphGetNodes(graph, nodes, &count), CUDA_SUCCESS);
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  EXPECT_EQ(cuGraphNodeGetType(nodes[1], &type), CUDA_SUCCESS);
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_KERNEL);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(cuGraphLaunch(executable, a), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_SUCCESS);
  EXPECT_EQ(seen.begun, 2);
  EXPECT_EQ(seen.ended, 2);
  EXPECT_THAT(download(x), Each(4U));
  // Another meeting in its place.
  other.state = Meeting::State::complete;
  EXPECT_EQ(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  EXPECT_EQ(launch(a, x, y), CUDA_SUCCESS);
  EXPECT_EQ(meet(a, other, y, z), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamEndCapture(a, &again), CUDA_SUCCESS);
  CUgraphExecUpdateResultInfo info;
  EXPECT_EQ(cuGraphExecUpdate(executable, again, &info), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphLaunch(executable, a), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_SUCCESS);
  EXPECT_EQ(other.ended, 1);
  EXPECT_THAT(download(z), Each(6U));
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(again), CUDA_SUCCESS);
}

TEST_P(MeetingsTest, ReportFindingsOfTheirLibrary) {
  eplCudaReport("library", "text");
  EXPECT_THAT(findings(), ElementsAre("library: text"));
}

TEST_P(MeetingsTest, AreOverWhereNothingIsDone) {
  auto work = [&] {
    bool isOver = meet(a, seen, x, y) == CUDA_SUCCESS && cuStreamSynchronize(a) == CUDA_SUCCESS;
    std::exit(isOver && seen.begun == 0 ? 0 : 1);
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe"); // a process that begins anew
  setenv("EPL_CUDA_IDLE", "1", 1);
  EXPECT_EXIT(work(), testing::ExitedWithCode(0), "");
  unsetenv("EPL_CUDA_IDLE");
  GTEST_FLAG_SET(death_test_style, "fast");
}
