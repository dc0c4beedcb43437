//===- GraphsTest.cpp - Captures and graphs -------------------------------===//

#include "test/unit/cuda/driver/DriverFixture.h"

using namespace cuda_double;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {
class GraphTest : public DriverTest {
protected:
  void SetUp() override {
    DriverTest::SetUp();
    for (CUdeviceptr *address : {&x, &y, &z})
      *address = upload(0);
  }

  /// y = x + 1 on one stream, z = y + 1 on another, x = z + 1 on the first; without the wait that is left
  /// out.
  void capture(int leftOut = 0) {
    EXPECT_EQ(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
    order(a, b); // b is in the capture
    EXPECT_EQ(launch(a, x, y), CUDA_SUCCESS);
    if (leftOut != 1)
      order(a, b);
    EXPECT_EQ(launch(b, y, z), CUDA_SUCCESS);
    if (leftOut != 2)
      order(b, a);
    EXPECT_EQ(launch(a, z, x), CUDA_SUCCESS);
    order(b, a);
    EXPECT_EQ(cuStreamEndCapture(a, &graph), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
  }

  void TearDown() override {
    if (graph) {
      EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
      EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
    }
    DriverTest::TearDown();
  }

  CUdeviceptr x = 0, y = 0, z = 0;
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
};
} // namespace

INSTANTIATE_TEST_SUITE_P(Seeds, GraphTest, testing::Range<uint64_t>(1, 9));

TEST_P(GraphTest, RunsWhatWasCapturedAgainAndAgain) {
  capture();
  EXPECT_EQ(*reinterpret_cast<uint32_t *>(x), 0U); // a capture does nothing
  size_t nodes = 0;
  EXPECT_EQ(cuGraphGetNodes(graph, nullptr, &nodes), CUDA_SUCCESS);
  EXPECT_EQ(nodes, 3U);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(cuGraphLaunch(executable, i == 1 ? b : a), CUDA_SUCCESS); // a graph runs once at a time
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_THAT(download(x), Each(9U));
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_P(GraphTest, MissesEachWait) {
  capture(GetParam() % 2 == 0 ? 1 : 2);
  EXPECT_EQ(cuGraphLaunch(executable, a), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_SUCCESS);
  EXPECT_THAT(findings(), ElementsAre(HasSubstr("order: ")));
}

TEST_P(GraphTest, HasStreamsThatComeTogether) {
  EXPECT_EQ(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  order(a, b);
  EXPECT_EQ(launch(b, x, y), CUDA_SUCCESS);
  CUgraph unjoined = nullptr;
  EXPECT_EQ(cuStreamEndCapture(a, &unjoined), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  EXPECT_EQ(unjoined, nullptr);
  EXPECT_EQ(cuStreamEndCapture(a, &unjoined), CUDA_ERROR_ILLEGAL_STATE);
}

TEST_P(GraphTest, IsWaitedForByNobodyWhileItIsCaptured) {
  CUevent outside = makeEvent();
  EXPECT_EQ(cuEventRecord(outside, b), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  CUstreamCaptureStatus status;
  EXPECT_EQ(cuStreamIsCapturing(a, &status), CUDA_SUCCESS);
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(cuStreamSynchronize(b), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(cuStreamQuery(a), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(cuMemFree(x), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(cuStreamWaitEvent(a, outside, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  CUevent inside = makeEvent();
  EXPECT_EQ(cuEventRecord(inside, a), CUDA_SUCCESS);
  EXPECT_EQ(cuEventSynchronize(inside), CUDA_ERROR_CAPTURED_EVENT);
  CUgraph empty = nullptr;
  EXPECT_EQ(cuStreamEndCapture(a, &empty), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(b, inside, 0), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_EQ(cuGraphDestroy(empty), CUDA_SUCCESS);
}

/// The mode of a capture says whether other threads may wait meanwhile.
TEST_P(GraphTest, LetsOtherThreadsWaitWhileItIsCaptured) {
  auto waitInThread = [&] {
    CUresult result = CUDA_ERROR_UNKNOWN;
    std::thread([&] {
      cuCtxSetCurrent(context);
      result = cuStreamSynchronize(b);
    }).join();
    return result;
  };
  for (CUstreamCaptureMode mode :
       {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_RELAXED}) {
    EXPECT_EQ(cuStreamBeginCapture(a, mode), CUDA_SUCCESS);
    EXPECT_EQ(waitInThread() == CUDA_SUCCESS, mode != CU_STREAM_CAPTURE_MODE_GLOBAL);
    EXPECT_EQ(cuStreamSynchronize(b) == CUDA_SUCCESS, mode == CU_STREAM_CAPTURE_MODE_RELAXED);
    CUgraph empty = nullptr;
    EXPECT_EQ(cuStreamEndCapture(a, &empty), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphDestroy(empty), CUDA_SUCCESS);
  }
}

/// Of the same nodes: with other arguments, the graph that was made first does what was captured last.
TEST_P(GraphTest, TakesWhatIsCapturedAgain) {
  capture();
  CUgraph first = graph;
  CUgraphExec made = executable;
  std::swap(x, z); // x' = x + 1 ..
  capture();
  CUgraphExecUpdateResultInfo info;
  EXPECT_EQ(cuGraphExecUpdate(made, graph, &info), CUDA_SUCCESS);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
  EXPECT_EQ(cuGraphLaunch(made, a), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_SUCCESS);
  EXPECT_EQ(*reinterpret_cast<uint32_t *>(y), 1U);
  EXPECT_EQ(*reinterpret_cast<uint32_t *>(z), 2U);
  EXPECT_EQ(*reinterpret_cast<uint32_t *>(x), 3U);
  EXPECT_EQ(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  EXPECT_EQ(launch(a, x, y), CUDA_SUCCESS);
  CUgraph other = nullptr;
  EXPECT_EQ(cuStreamEndCapture(a, &other), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphExecUpdate(made, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  EXPECT_EQ(cuGraphExecDestroy(made), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(first), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(other), CUDA_SUCCESS);
}

TEST_P(GraphTest, IsNotMergedWithAnother) {
  EXPECT_EQ(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamBeginCapture(b, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  CUevent event = makeEvent();
  EXPECT_EQ(cuEventRecord(event, a), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(b, event, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
  for (CUstream stream : {a, b}) {
    CUgraph made = nullptr;
    EXPECT_EQ(cuStreamEndCapture(stream, &made), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphDestroy(made), CUDA_SUCCESS);
  }
}

TEST_P(GraphTest, TakesOtherArgumentsForItsKernels) {
  capture();
  std::vector<CUgraphNode> nodes(3);
  size_t count = 3;
  EXPECT_EQ(cuGraphGetNodes(graph, nodes.data(), &count), CUDA_SUCCESS);
  CUgraphNodeType type;
  EXPECT_EQ(cuGraphNodeGetType(nodes[0], &type), CUDA_SUCCESS);
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_KERNEL);
  CUdeviceptr batch = upload(100);
  void *arguments[] = {&batch, &y};
  CUDA_KERNEL_NODE_PARAMS said{};
  said.func = increment;
  said.gridDimX = kSize / 32;
  said.blockDimX = 32;
  said.gridDimY = said.gridDimZ = said.blockDimY = said.blockDimZ = 1;
  said.kernelParams = arguments;
  EXPECT_EQ(cuGraphExecKernelNodeSetParams(executable, nodes[0], &said), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphLaunch(executable, a), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_SUCCESS);
  EXPECT_THAT(download(x), Each(103U));
}

TEST_P(GraphTest, TellsWhatTheNextNodeComesAfter) {
  CUstreamCaptureStatus status;
  const CUgraphNode *last = nullptr;
  size_t count = 1;
  auto ask = [&](CUstream stream) {
    EXPECT_EQ(cuStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &last, nullptr, &count),
              CUDA_SUCCESS);
    return std::vector<CUgraphNode>(last, last + count);
  };
  EXPECT_THAT(ask(a), IsEmpty());
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_EQ(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  EXPECT_THAT(ask(a), IsEmpty());
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(launch(a, x, y), CUDA_SUCCESS);
  CUgraphNode first = ask(a).at(0);
  order(a, b);
  EXPECT_THAT(ask(b), ElementsAre(first));
  EXPECT_EQ(launch(b, y, z), CUDA_SUCCESS);
  EXPECT_THAT(ask(b), ElementsAre(testing::Ne(first)));
  order(b, a);
  EXPECT_EQ(ask(a).size(), 2U);
  EXPECT_EQ(cuStreamEndCapture(a, &graph), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
  std::vector<CUgraphNode> nodes(2);
  EXPECT_EQ(cuGraphGetNodes(graph, nodes.data(), &count), CUDA_SUCCESS);
  EXPECT_EQ(nodes[0], first);
}

TEST_P(GraphTest, HasKernelsThatWereLoadedBefore) {
  CUmodule own = nullptr;
  CUfunction function = nullptr;
  loadModule(own, function);
  EXPECT_EQ(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  EXPECT_EQ(launch(function, a, x, y), CUDA_SUCCESS);
  CUgraph made = nullptr;
  EXPECT_EQ(cuStreamEndCapture(a, &made), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(made), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleUnload(own), CUDA_SUCCESS);
  EXPECT_THAT(findings(), ElementsAre(HasSubstr("is loaded by its first launch, while a graph is captured")));
}
