// How factorizations of cuSOLVER and cuBLAS are enqueued, and what the stand-ins of these refuse.

#include "test/unit/cuda/card/FactorizationsFixture.h"

namespace epl::runtime::cuda {
namespace {

class FactorizationCalls : public FactorizationsBase {
protected:
  static plan::FactorizationT square(Kind kind) {
    auto shape = shapeOf<float>(kind, 4, 4);
    shape.left = shape.lower = true;
    return shape;
  }
  std::vector<CUdeviceptr> operandsOf(const plan::FactorizationT &shape) {
    std::vector<CUdeviceptr> operands;
    for (const std::vector<uint64_t> &sizes : {memoryOf(shape).inputs, memoryOf(shape).outputs})
      for (uint64_t size : sizes)
        operands.push_back(put(std::vector<float>(size / sizeof(float), 1)));
    return operands;
  }
};

TEST_F(FactorizationCalls, AreNotMadeOfManySmallMatricesOrOfNoElements) {
  for (int64_t count : {int64_t(0), FactorizationCall::kMostSmall + 1})
    EXPECT_FALSE(Kernel(cards, square(Kind::lu), count).make(api, {256, 256, 256, 256}));
  auto shape = shapeOf<float>(Kind::lu, 0, 4);
  EXPECT_FALSE(Kernel(cards, shape, 1).make(api, {256, 256, 256, 256}));
  EXPECT_TRUE(Kernel(cards, square(Kind::lu), FactorizationCall::kMostSmall).make(api, {256, 256, 256, 256}));
  auto large = shapeOf<float>(Kind::lu, FactorizationCall::kSmallExtent + 1, 4);
  EXPECT_TRUE(Kernel(cards, large, FactorizationCall::kMostSmall + 1).make(api, {256, 256, 256, 256}));
}

TEST_F(FactorizationCalls, OfCublasMayBeCaptured) {
  Kernel kernel(cards, square(Kind::triangular_solve), 1);
  std::vector<CUdeviceptr> operands = operandsOf(square(Kind::triangular_solve));
  std::optional<FactorizationCall> call = kernel.make(api, operands);
  ASSERT_TRUE(call);
  EXPECT_TRUE(call->isCapturable());
  CUdeviceptr workspace = take(call->workspaceBytes());
  begin(a);
  call->enqueue(workspace, a);
  ExecutableGraph graph = instantiate(end(a));
  EXPECT_EQ(api.cuGraphLaunch(graph, b), CUDA_SUCCESS);
  wait(b);
  EXPECT_EQ(get<float>(operands[2], 4), std::vector<float>(4, 1)) << "the first unknowns";
}

TEST_F(FactorizationCalls, OfCusolverMayNotBeCaptured) {
  Kernel kernel(cards, square(Kind::cholesky), 1);
  std::optional<FactorizationCall> call = kernel.make(api, operandsOf(square(Kind::cholesky)));
  ASSERT_TRUE(call);
  EXPECT_FALSE(call->isCapturable());
  CUdeviceptr workspace = take(call->workspaceBytes());
  begin(a);
  EXPECT_THROW(call->enqueue(workspace, a), Error);
  end(a);
  EXPECT_EQ(eplCudaCountFindings(), 1u);
  eplCudaRestart(1);
}

TEST_F(FactorizationCalls, HaveAWorkspaceEach) {
  for (Kind kind : {Kind::cholesky, Kind::lu, Kind::qr, Kind::triangular_solve}) {
    Kernel kernel(cards, square(kind), 1);
    std::optional<FactorizationCall> first = kernel.make(api, operandsOf(square(kind)));
    std::optional<FactorizationCall> second = kernel.make(api, operandsOf(square(kind)));
    CUdeviceptr workspace = take(first->workspaceBytes()), other = take(first->workspaceBytes());
    first->enqueue(workspace, a);
    second->enqueue(other, b);
    wait(a), wait(b);
    EXPECT_EQ(eplCudaCountFindings(), 0u);
    first->enqueue(workspace, a);
    second->enqueue(workspace, b);
    wait(a), wait(b);
    EXPECT_GT(eplCudaCountFindings(), 0u) << "two calls wrote to one workspace at a time";
    eplCudaRestart(1);
  }
}

/// What the library says, the stand-in says too.
TEST_F(FactorizationCalls, AreRefusedIfTheyAreUnsound) {
  const solver::Cusolver &api = *solver::Cusolver::get();
  solver::Handle handle = nullptr;
  ASSERT_EQ(api.cusolverDnCreate(&handle), solver::Status::success);
  ASSERT_EQ(api.cusolverDnSetStream(handle, a), solver::Status::success);
  auto pointer = [&](uint64_t size) { return reinterpret_cast<void *>(take(size)); };
  void *matrix = pointer(64), *device = pointer(4096);
  std::vector<char> host(4096);
  int *info = static_cast<int *>(pointer(4));
  auto factor = [&](int64_t n, int64_t lda, solver::DataType compute, size_t deviceBytes) {
    return api.cusolverDnXpotrf(handle, nullptr, solver::Triangle::upper, n, solver::DataType::f32, matrix,
                                lda, compute, device, deviceBytes, host.data(), host.size(), info);
  };
  using enum solver::Status;
  EXPECT_EQ(factor(-1, 4, solver::DataType::f32, 4096), invalidValue);
  EXPECT_EQ(factor(4, 3, solver::DataType::f32, 4096), invalidValue);
  EXPECT_EQ(factor(4, 4, solver::DataType::f64, 4096), invalidValue);
  EXPECT_EQ(factor(4, 4, solver::DataType::f32, 1), invalidWorkspace);
  size_t deviceBytes = 0, hostBytes = 0;
  using enum solver::DataType;
  EXPECT_EQ(api.cusolverDnXgesvd_bufferSize(handle, nullptr, 'N', 'N', 3, 4, f32, nullptr, 3, f32, nullptr,
                                            f32, nullptr, 3, f32, nullptr, 3, f32, &deviceBytes, &hostBytes),
            invalidValue);
  api.cusolverDnDestroy(handle);
}

} // namespace
} // namespace epl::runtime::cuda
