// Batches of matrices that the libraries of a card factor.
#ifndef EPL_TEST_UNIT_CUDA_CARD_FACTORIZATIONSFIXTURE_H
#define EPL_TEST_UNIT_CUDA_CARD_FACTORIZATIONSFIXTURE_H

#include "runtime/Error.h"
#include "runtime/device/cpu/Lapack.h"
#include "runtime/device/cuda/factorizations/FactorizationCall.h"
#include "test/unit/cuda/card/Card.h"
#include "test/unit/cuda/card/Findings.h"
#include "test/unit/device/FactorizationRun.h"

namespace epl::runtime::cuda {

constexpr int64_t kCount = 3; // matrices in a batch

/// A kernel that factors a batch, and what it takes on the card.
struct Kernel {
  Kernel(const std::shared_ptr<const Cards> &cards, const plan::FactorizationT &shape, int64_t count) {
    kernel.extent = count;
    kernel.factorization = std::make_unique<plan::FactorizationT>(shape);
    plan.kernels.push_back(std::make_unique<plan::KernelT>(kernel));
    images = std::make_unique<Images>(cards, plan);
  }
  std::optional<FactorizationCall> make(const Driver &api, std::vector<CUdeviceptr> operands) const {
    std::string type = plan::EnumNameElementType(kernel.factorization->type);
    return FactorizationCall::make(images->factorizations(0), api, kernel, std::move(operands),
                                   {images->own(0, "epl_matrices_" + type), images->own(0, "epl_pivots")});
  }

  plan::KernelT kernel;
  plan::PlanT plan;
  std::unique_ptr<Images> images;
};

class FactorizationsBase : public test::CardTest {
protected:
  /// Machines that have a driver need not have libraries.
  void SetUp() override {
    test::restart(1);
    if (!solver::Cusolver::get() || !solver::Cublas::get())
      GTEST_SKIP() << "cuSOLVER and cuBLAS";
    try {
      Lapack<float>::get();
    } catch (const Error &error) {
      GTEST_SKIP() << error.what();
    }
  }
  void TearDown() override {
    EXPECT_THAT(test::findings(), testing::IsEmpty());
    test::restart(1);
  }

  /// Memory in which nobody has written.
  CUdeviceptr take(uint64_t size) {
    memory.push_back(allocateOn(cards, 0, size, "a test"));
    return memory.back()->pointer();
  }
  /// What one call after another works in.
  CUdeviceptr workspaceOf(uint64_t size) {
    if (!workspace || workspace->size() < size)
      workspace = allocateOn(cards, 0, size, "a test");
    return workspace->pointer();
  }
  template <typename Scalar> static std::vector<Scalar> batchOf(const std::vector<Matrix<Scalar>> &matrices) {
    std::vector<Scalar> all;
    for (const Matrix<Scalar> &matrix : matrices)
      all.insert(all.end(), matrix.values.begin(), matrix.values.end());
    return all;
  }

  /// The results of a library for batches of operands.
  template <typename Scalar>
  std::vector<std::vector<uint8_t>> factorBatch(const plan::FactorizationT &shape,
                                                const std::vector<std::vector<Scalar>> &operands) {
    Kernel kernel(cards, shape, kCount);
    std::vector<CUdeviceptr> addresses;
    addresses.reserve(operands.size());
    for (const std::vector<Scalar> &operand : operands)
      addresses.push_back(put(operand));
    std::vector<uint64_t> sizes = memoryOf(shape).outputs;
    for (uint64_t &size : sizes)
      addresses.push_back(take(size *= uint64_t(kCount)));
    std::optional<FactorizationCall> call = kernel.make(api, addresses);
    EXPECT_TRUE(call);
    if (!call)
      return {};
    call->enqueue(workspaceOf(call->workspaceBytes()), a);
    wait(a);
    std::vector<std::vector<uint8_t>> results;
    for (size_t i = 0; i < sizes.size(); ++i)
      results.push_back(get<uint8_t>(addresses[operands.size() + i], sizes[i]));
    for (size_t i = 0; i < operands.size(); ++i) { // bit by bit, as some are NaN
      const auto *bytes = reinterpret_cast<const uint8_t *>(operands[i].data());
      std::vector<uint8_t> before(bytes, bytes + operands[i].size() * sizeof(Scalar));
      EXPECT_EQ(get<uint8_t>(addresses[i], before.size()), before) << "wrote input " << i;
    }
    return results;
  }

  /// A matrix of a batch.
  template <typename Scalar>
  static Matrix<Scalar> matrix(const std::vector<uint8_t> &bytes, int64_t rows, int64_t columns,
                               int64_t index) {
    return {rows, columns, reinterpret_cast<const Scalar *>(bytes.data()) + index * rows * columns};
  }
  static std::vector<int> numbers(const std::vector<uint8_t> &bytes, int64_t size, int64_t index) {
    const int *begin = reinterpret_cast<const int *>(bytes.data()) + index * size;
    return {begin, begin + size};
  }

private:
  std::unique_ptr<CudaAllocation> workspace;
};

} // namespace epl::runtime::cuda

#endif // EPL_TEST_UNIT_CUDA_CARD_FACTORIZATIONSFIXTURE_H
