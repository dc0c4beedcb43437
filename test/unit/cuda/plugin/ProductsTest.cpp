// Products by the stand-in of cublasLt beside plain loops, on integers: bit by bit.

#include "runtime/device/cuda/products/Products.h"

#include "runtime/Error.h"
#include "runtime/device/cpu/Library.h"
#include "runtime/device/cuda/CudaMemory.h"
#include "test/cuda/driver/Control.h"
#include "test/unit/cuda/card/Card.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <random>

namespace epl::runtime::cuda {
namespace {

/// The upper half of an f32: tests have numbers that it holds.
struct BFloat16 {
  BFloat16() = default;
  explicit BFloat16(float value) : bits(uint16_t(std::bit_cast<uint32_t>(value) >> 16)) {}
  explicit operator double() const { return double(std::bit_cast<float>(uint32_t(bits) << 16)); }
  bool operator==(const BFloat16 &) const = default;

  uint16_t bits;
};

/// A card, and the library on it.
class Products : public test::CardTest {
protected:
  Products() { library = ProductLibrary::open(cards, 0); }

  template <typename Operand, typename Result> void compare(plan::ContractT contract, uint64_t seed);

  std::shared_ptr<const ProductLibrary> library;
};

/// Elements from the first to the last that an operand has.
int64_t sizeOf(int64_t rows, int64_t columns, int64_t leading,
               const std::vector<std::pair<int64_t, int64_t>> &batch) {
  int64_t last = (rows - 1) * leading + columns;
  for (auto [extent, stride] : batch)
    last += (extent - 1) * stride;
  return last;
}

template <typename Operand, typename Result> void Products::compare(plan::ContractT contract, uint64_t seed) {
  std::mt19937_64 random(seed);
  auto batchOf = [&](auto stride) {
    std::vector<std::pair<int64_t, int64_t>> batch;
    for (const plan::BatchDim &dim : contract.batch)
      batch.emplace_back(dim.extent(), (dim.*stride)());
    return batch;
  };
  int64_t m = contract.m, n = contract.n, k = contract.k;
  bool ta = contract.transpose_a, tb = contract.transpose_b;
  auto draw = [&]<typename T>(std::vector<T> values, int64_t size) {
    for (int64_t i = 0; i < size; ++i)
      values.push_back(T(float(random() % 7) - 3));
    return values;
  };
  std::vector<Operand> a = draw(std::vector<Operand>(), sizeOf(ta ? k : m, ta ? m : k, contract.lda,
                                                               batchOf(&plan::BatchDim::stride_a)));
  std::vector<Operand> b = draw(std::vector<Operand>(), sizeOf(tb ? n : k, tb ? k : n, contract.ldb,
                                                               batchOf(&plan::BatchDim::stride_b)));
  std::vector<Result> c = draw(std::vector<Result>(),
                               sizeOf(m, n, contract.ldc, batchOf(&plan::BatchDim::stride_c))),
                      expected = c;

  std::vector<std::array<int64_t, 3>> begins = {{0, 0, 0}};
  for (const plan::BatchDim &dim : contract.batch) {
    std::vector<std::array<int64_t, 3>> outer = std::move(begins);
    begins.clear();
    for (auto [x, y, z] : outer)
      for (int64_t i = 0; i < dim.extent(); ++i)
        begins.push_back({x + i * dim.stride_a(), y + i * dim.stride_b(), z + i * dim.stride_c()});
  }
  for (auto [x, y, z] : begins)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = contract.accumulate ? double(c[size_t(z + i * contract.ldc + j)]) : 0;
        for (int64_t l = 0; l < k; ++l)
          sum += double(a[size_t(x + (ta ? l * contract.lda + i : i * contract.lda + l))]) *
                 double(b[size_t(y + (tb ? j * contract.ldb + l : l * contract.ldb + j))]);
        expected[size_t(z + i * contract.ldc + j)] = Result(float(sum));
      }

  ProductOperands operands{put(a), put(b), put(c)};
  std::optional<ProductCall> call = ProductCall::make(library, contract, operands);
  ASSERT_TRUE(call) << seed;
  CUdeviceptr workspace = put(std::vector<char>(call->workspaceBytes()));
  EXPECT_NO_THROW(call->enqueue(workspace, cards->steps())) << seed;
  wait(cards->steps());
  EXPECT_EQ(get<Result>(operands.c, c.size()), expected) << seed;
}

plan::ContractT makeContract(plan::ElementType type, int64_t m, int64_t n, int64_t k) {
  plan::ContractT contract;
  contract.type = type;
  contract.m = m, contract.n = n, contract.k = k;
  contract.lda = k, contract.ldb = n, contract.ldc = n;
  return contract;
}

TEST_F(Products, AreThoseOfLoops) {
  ASSERT_TRUE(library);
  eplCudaRestart(1);
  for (uint64_t seed = 0; seed < 120; ++seed) {
    std::mt19937_64 random(seed);
    auto upTo = [&](int64_t most) { return int64_t(random() % uint64_t(most)) + 1; };
    plan::ContractT contract = makeContract(plan::ElementType::f32, upTo(9), upTo(9), upTo(9));
    contract.transpose_a = random() % 2, contract.transpose_b = random() % 2;
    contract.accumulate = random() % 2;
    contract.lda = (contract.transpose_a ? contract.m : contract.k) + upTo(3) - 1;
    contract.ldb = (contract.transpose_b ? contract.k : contract.n) + upTo(3) - 1;
    contract.ldc = contract.n + upTo(3) - 1;
    // The loops of a batch, from the innermost one; an operand may be the same in all of its iterations.
    int64_t a = 100 + upTo(5), b = random() % 3 ? 100 : 0, c = 100;
    for (int64_t dims = upTo(4) - 1; dims > 0; --dims) {
      int64_t extent = upTo(3);
      contract.batch.insert(contract.batch.begin(), plan::BatchDim(extent, a, b, c));
      a = random() % 2 ? a * extent : a * extent + 7, b *= extent, c *= extent;
    }
    using enum plan::ElementType;
    contract.widens = random() % 2;
    switch (contract.type = std::array{f32, f64, f16, bf16}[seed % 4]; contract.type) {
    case f32:
      contract.widens = false;
      compare<float, float>(contract, seed);
      break;
    case f64:
      contract.widens = false;
      compare<double, double>(contract, seed);
      break;
    case f16:
      contract.widens ? compare<_Float16, float>(contract, seed)
                      : compare<_Float16, _Float16>(contract, seed);
      break;
    default:
      contract.widens ? compare<BFloat16, float>(contract, seed)
                      : compare<BFloat16, BFloat16>(contract, seed);
    }
  }
  EXPECT_EQ(eplCudaCountFindings(), 0u);
}

/// Rows get the bias, then the activation; calls with other biases share what the library has chosen.
TEST_F(Products, HaveEpilogues) {
  std::vector<float> a = {1, 2}, b = {3, -5, 0.5f};
  auto expected = [&](plan::Activation activation, const std::vector<float> &bias) {
    std::vector<float> c;
    for (float x : a)
      for (size_t j = 0; j < b.size(); ++j) {
        float value = x * b[j] + (bias.empty() ? 0 : bias[j]);
        double y = std::sqrt(2 / M_PI) * (value + 0.044715 * std::pow(value, 3));
        c.push_back(activation == plan::Activation::relu   ? std::max(value, 0.f)
                    : activation == plan::Activation::gelu ? float(value / 2 * (1 + std::tanh(y)))
                                                           : value);
      }
    return c;
  };
  for (auto activation : {plan::Activation::none, plan::Activation::relu, plan::Activation::gelu})
    for (const std::vector<float> &bias :
         {std::vector<float>{}, std::vector<float>{1, 2, 3}, std::vector<float>{0, 7, -1}}) {
      plan::ContractT contract = makeContract(plan::ElementType::f32, 2, 3, 1);
      contract.has_bias = !bias.empty();
      contract.activation = activation;
      ProductOperands operands{put(a), put(b), put(std::vector<float>(6)), bias.empty() ? 0 : put(bias)};
      std::optional<ProductCall> call = ProductCall::make(library, contract, operands);
      ASSERT_TRUE(call);
      CUdeviceptr workspace = put(std::vector<char>(call->workspaceBytes()));
      EXPECT_NO_THROW(call->enqueue(workspace, cards->steps()));
      wait(cards->steps());
      std::vector<float> found = get<float>(operands.c, 6), right = expected(activation, bias);
      for (size_t i = 0; i < found.size(); ++i)
        EXPECT_NEAR(found[i], right[i], 1e-5) << int(activation) << " of element " << i;
    }
}

/// 1 + 2^-12 has more than 10 bits.
TEST_F(Products, InTf32LoseBits) {
  plan::ContractT contract = makeContract(plan::ElementType::f32, 1, 1, 1);
  std::vector<float> one = {1}, more = {1 + 0x1p-12f};
  ProductOperands operands{put(more), put(one), put(one)};
  CUdeviceptr workspace = put(std::vector<char>(4096));
  auto multiply = [&](const char *tf32) {
    ScopedVariable variable("EPL_CUDA_TF32", tf32);
    auto own = ProductLibrary::open(cards, 0);
    EXPECT_NO_THROW(ProductCall::make(own, contract, operands)->enqueue(workspace, cards->steps()));
    wait(cards->steps());
    return get<float>(operands.c, 1);
  };
  EXPECT_EQ(multiply("0"), more);
  EXPECT_EQ(multiply("1"), one);
  EXPECT_THROW(multiply("yes"), Error);
}

TEST_F(Products, WithoutElementsAreNotTheLibrarys) {
  plan::ContractT contract = makeContract(plan::ElementType::f32, 3, 3, 0);
  EXPECT_FALSE(ProductCall::make(library, contract, {256, 256, 256}));
}

TEST_F(Products, OfManyCallsAreNotTheLibrarys) {
  plan::ContractT contract = makeContract(plan::ElementType::f32, 2, 2, 2);
  for (int64_t stride : {100000, 1000, 10})
    contract.batch.emplace_back(20, stride, stride, stride);
  EXPECT_FALSE(ProductCall::make(library, contract, {256, 256, 256}));
}

TEST_F(Products, HaveAWorkspaceEach) {
  plan::ContractT contract = makeContract(plan::ElementType::f32, 4, 4, 4);
  eplCudaRestart(1);
  std::vector<float> ones(16, 1);
  CUdeviceptr a = put(ones), b = put(ones), workspace = put(std::vector<char>(4096));
  Stream first = makeStream(cards->driver()), second = makeStream(cards->driver());
  ProductOperands one{a, b, put(ones)}, two{a, b, put(ones)};
  EXPECT_NO_THROW(ProductCall::make(library, contract, one)->enqueue(workspace, first));
  EXPECT_NO_THROW(ProductCall::make(library, contract, two)->enqueue(workspace, second));
  wait(first);
  wait(second);
  EXPECT_EQ(eplCudaCountFindings(), 1u) << "two calls wrote to one workspace at a time";
  eplCudaRestart(1);
}

} // namespace
} // namespace epl::runtime::cuda
