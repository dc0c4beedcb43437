#include "runtime/device/cpu/Contraction.h"

#include "runtime/Error.h"
#include "runtime/device/cpu/Blas.h"
#include "runtime/device/cpu/Features.h"
#include "runtime/device/cpu/NarrowProduct.h"
#include "runtime/device/cpu/OneDnn.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <random>
#include <thread>

namespace epl::runtime {
namespace {

/// A type of element: its name in plans, and the numbers that it stands for.
template <typename Element> struct Type {
  static constexpr plan::ElementType name = plan::ElementType::f32;
  static Element make(int value) { return Element(value); }
  static Element round(float sum) { return sum; }
  static float read(Element element) { return element; }
};
template <> struct Type<double> {
  static constexpr plan::ElementType name = plan::ElementType::f64;
  static double make(int value) { return value; }
  static double round(double sum) { return sum; }
  static double read(double element) { return element; }
};
template <typename Element> struct NarrowType {
  static Element round(float sum) {
    Element result;
    narrow(sum, result);
    return result;
  }
  static Element make(int value) { return round(float(value)); }
  static float read(Element element) { return widen(element); }
};
template <> struct Type<BFloat16> : NarrowType<BFloat16> {
  static constexpr plan::ElementType name = plan::ElementType::bf16;
};
template <> struct Type<_Float16> : NarrowType<_Float16> {
  static constexpr plan::ElementType name = plan::ElementType::f16;
};

/// Small integers: products and sums are exact, so results must be equal to the last bit.
template <typename Element> std::vector<Element> randomIntegers(size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int> values(-8, 8);
  std::vector<Element> result(count);
  for (Element &value : result)
    value = Type<Element>::make(values(generator));
  return result;
}

/// A contraction of densely stored operands.
plan::ContractT dense(plan::ElementType type, int64_t m, int64_t n, int64_t k, bool transposeA,
                      bool transposeB) {
  plan::ContractT contract;
  contract.type = type;
  contract.m = m;
  contract.n = n;
  contract.k = k;
  contract.transpose_a = transposeA;
  contract.transpose_b = transposeB;
  contract.lda = std::max<int64_t>(1, transposeA ? m : k);
  contract.ldb = std::max<int64_t>(1, transposeB ? k : n);
  contract.ldc = std::max<int64_t>(1, n);
  return contract;
}

void addBatch(plan::ContractT &contract, int64_t extent, int64_t strideA, int64_t strideB, int64_t strideC) {
  contract.batch.emplace_back(extent, strideA, strideB, strideC);
}

/// The definition: one plain sum for each element, rounded once.
template <typename Element, typename Result>
void multiplyPlainly(const plan::ContractT &s, const Element *a, const Element *b, Result *c,
                     size_t loop = 0) {
  if (loop < s.batch.size()) {
    const plan::BatchDim &dim = s.batch[loop];
    for (int64_t i = 0; i < dim.extent(); ++i)
      multiplyPlainly(s, a + i * dim.stride_a(), b + i * dim.stride_b(), c + i * dim.stride_c(), loop + 1);
    return;
  }
  for (int64_t i = 0; i < s.m; ++i)
    for (int64_t j = 0; j < s.n; ++j) {
      auto sum = Type<Result>::read(s.accumulate ? c[i * s.ldc + j] : Result());
      for (int64_t l = 0; l < s.k; ++l)
        sum += Type<Element>::read(s.transpose_a ? a[l * s.lda + i] : a[i * s.lda + l]) *
               Type<Element>::read(s.transpose_b ? b[j * s.ldb + l] : b[l * s.ldb + j]);
      c[i * s.ldc + j] = Type<Result>::round(sum);
    }
}

template <typename Element> auto readAll(const std::vector<Element> &elements) {
  std::vector<decltype(Type<Element>::read(Element()))> result;
  result.reserve(elements.size());
  for (Element element : elements)
    result.push_back(Type<Element>::read(element));
  return result;
}

/// Operands of type `From`, a result of type `To`.
template <typename From, typename To = From> struct Types {
  using Element = From;
  using Result = To;
  static constexpr plan::ElementType name = Type<From>::name;
  static constexpr bool widens = !std::is_same_v<From, To>;
};

template <typename Types>
void compare(const plan::ContractT &contract, size_t sizeA, size_t sizeB, size_t sizeC) {
  using Element = typename Types::Element;
  auto a = randomIntegers<Element>(sizeA, 1), b = randomIntegers<Element>(sizeB, 2);
  auto expected = randomIntegers<typename Types::Result>(sizeC, 3), found = expected;
  multiplyPlainly(contract, a.data(), b.data(), expected.data());
  Contraction(contract).run(a.data(), b.data(), found.data());
  EXPECT_EQ(readAll(found), readAll(expected))
      << contract.m << "x" << contract.n << "x" << contract.k << " transposed " << contract.transpose_a
      << contract.transpose_b;
}

template <typename Types> class ContractionTest : public testing::Test {};
using AllTypes = testing::Types<Types<float>, Types<double>, Types<BFloat16>, Types<BFloat16, float>,
                                Types<_Float16>, Types<_Float16, float>>;
TYPED_TEST_SUITE(ContractionTest, AllTypes);

/// A contraction of densely stored operands of `Types`.
template <typename Types>
plan::ContractT dense(int64_t m, int64_t n, int64_t k, bool transposeA = false, bool transposeB = false) {
  plan::ContractT contract = dense(Types::name, m, n, k, transposeA, transposeB);
  contract.widens = Types::widens;
  return contract;
}

template <typename Types> void compareEveryTranspose(int64_t m, int64_t n, int64_t k) {
  for (bool transposeA : {false, true})
    for (bool transposeB : {false, true})
      for (bool accumulate : {false, true}) {
        auto contract = dense<Types>(m, n, k, transposeA, transposeB);
        contract.accumulate = accumulate;
        compare<Types>(contract, m * k, k * n, m * n);
      }
}

TYPED_TEST(ContractionTest, MultipliesEveryTransposeOfOddSizes) {
  for (int64_t m : {0, 1, 3, 17, 65})
    for (int64_t n : {0, 1, 7, 64})
      for (int64_t k : {0, 1, 5, 63})
        compareEveryTranspose<TypeParam>(m, n, k);
}

TYPED_TEST(ContractionTest, MultipliesEveryTransposeOfLargeMatrices) {
  compareEveryTranspose<TypeParam>(131, 127, 65);
  compareEveryTranspose<TypeParam>(1, 1024, 513);
  compareEveryTranspose<TypeParam>(1031, 3, 257);
  compareEveryTranspose<TypeParam>(5, 1030, 1027);
}

TYPED_TEST(ContractionTest, OverwritesNotANumber) {
  using Element = Type<typename TypeParam::Element>;
  using Result = Type<typename TypeParam::Result>;
  auto contract = dense<TypeParam>(3, 5, 4);
  std::vector a(12, Element::make(1)), b(20, Element::make(1));
  std::vector c(15, Result::round(std::numeric_limits<float>::quiet_NaN()));
  Contraction(contract).run(a.data(), b.data(), c.data());
  EXPECT_THAT(readAll(c), testing::Each(4));
}

/// Each in another summand, the last ones of odd numbers among them.
TYPED_TEST(ContractionTest, KeepsInfinities) {
  using Element = Type<typename TypeParam::Element>;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (int64_t k : {1, 2, 7})
    for (bool transposed : {false, true})
      for (int64_t at = 0; at < k; ++at) {
        auto contract = dense<TypeParam>(1, 5, k, transposed, transposed);
        std::vector a(k, Element::make(1)), b(5 * k, Element::make(2));
        std::vector c(5, Type<typename TypeParam::Result>::make(0));
        a[at] = Element::round(kInfinity);
        Contraction(contract).run(a.data(), b.data(), c.data());
        EXPECT_THAT(readAll(c), testing::Each(kInfinity)) << at << " of " << k;
      }
}

TYPED_TEST(ContractionTest, WalksBatchLoopsWithStrides) {
  auto contract = dense<TypeParam>(3, 4, 5, false, true);
  addBatch(contract, 2, 45, 0, 36); // b is the same for all
  addBatch(contract, 3, 15, 20, 12);
  compare<TypeParam>(contract, 90, 60, 72);
  contract.batch[0] = plan::BatchDim(0, 45, 0, 36);
  compare<TypeParam>(contract, 90, 60, 72);
}

TYPED_TEST(ContractionTest, LeavesWhatLiesBetweenRows) {
  auto contract = dense<TypeParam>(4, 3, 0);
  contract.ldc = 5;
  compare<TypeParam>(contract, 0, 0, 20);
  contract.k = 2;
  contract.lda = 7;
  contract.ldb = 6;
  compare<TypeParam>(contract, 28, 12, 20);
}

/// A sum in bf16 would stop at 256.
TEST(Contraction, RoundsASumOfNarrowFloatsOnce) {
  constexpr int64_t kTerms = 3001;
  auto contract = dense(plan::ElementType::bf16, 1, 1, kTerms, false, false);
  std::vector ones(kTerms, Type<BFloat16>::make(1));
  BFloat16 sum = Type<BFloat16>::make(1);
  contract.accumulate = true;
  Contraction(contract).run(ones.data(), ones.data(), &sum);
  EXPECT_EQ(widen(sum), 3008); // 3002 in steps of 16
}

TEST(Blas, RunsTheKernelsThatSuitTheCpu) {
  // OpenBLAS's table has no entry for newer CPUs: what counts is what CPUID says.
  std::string core = Blas::get().coreName();
  bool avx = cpuSupports("avx"), avx2 = cpuSupports("avx2"), avx512 = cpuSupports("avx512f");
  EXPECT_EQ(core, avx512                  ? "SkylakeX"
                  : avx2                  ? "Haswell"
                  : avx                   ? "Sandybridge"
                  : cpuSupports("sse4.2") ? "Nehalem"
                                          : "Prescott");
}

TEST(Blas, LeavesTheEnvironmentAsItWas) {
  setenv("OPENBLAS_CORETYPE", "before", 1);
  Blas::get();
  EXPECT_STREQ(std::getenv("OPENBLAS_CORETYPE"), "before");
  unsetenv("OPENBLAS_CORETYPE");
}

TEST(Contraction, ChoosesTheLibraryByTypeAndSize) {
  auto library = [](plan::ElementType type, int64_t n) {
    auto contract = dense(type, n, n, n, false, false);
    return std::string(Contraction(contract).library());
  };
  EXPECT_EQ(library(plan::ElementType::f32, 128), OneDnn::get() ? "oneDNN" : "OpenBLAS");
  EXPECT_EQ(library(plan::ElementType::f32, 64), "OpenBLAS");
  EXPECT_EQ(library(plan::ElementType::f32, 0), "OpenBLAS");
  EXPECT_EQ(library(plan::ElementType::f64, 128), "OpenBLAS");
  EXPECT_EQ(library(plan::ElementType::bf16, 8), multipliesBFloat16() ? "oneDNN" : "OpenBLAS");
  EXPECT_EQ(library(plan::ElementType::f16, 128), "OpenBLAS");
}

TEST(Contraction, ChoosesTheLibraryByTheRowsOfATranspose) {
  auto library = [](int64_t m, int64_t n, bool transposeA) {
    return std::string(Contraction(dense(plan::ElementType::f32, m, n, 512, transposeA, false)).library());
  };
  std::string ahead = OneDnn::get() ? "oneDNN" : "OpenBLAS";
  EXPECT_EQ(library(1024, 256, true), "OpenBLAS");
  EXPECT_EQ(library(1024, 128, true), ahead);
  EXPECT_EQ(library(1024, 1024, true), ahead);
  EXPECT_EQ(library(784, 256, true), ahead);
  EXPECT_EQ(library(1024, 256, false), ahead);
}

TEST(Contraction, MultipliesOnSeveralThreadsAtOnce) {
  std::atomic<int> wrong = 0;
  auto multiply = [&](int64_t n, int repeats) {
    auto contract = dense(plan::ElementType::f32, n, n, n, false, false);
    Contraction contraction(contract);
    std::vector<float> a(n * n, 1), b(n * n, 2), c(n * n);
    for (int repeat = 0; repeat < repeats; ++repeat) {
      std::fill(c.begin(), c.end(), 0.0f);
      contraction.run(a.data(), b.data(), c.data());
      wrong += std::any_of(c.begin(), c.end(), [&](float value) { return value != float(2 * n); });
    }
  };
  std::vector<std::thread> threads;
  for (int64_t n : {3, 8, 17, 24}) // small: a library without locks fails where calls begin and end
    threads.emplace_back(multiply, n, 50000);
  for (int64_t n : {81, 97})
    threads.emplace_back(multiply, n, 2000);
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

/// The thread may be the user's.
TEST(Contraction, LeavesTheThreadsOfOpenMpAsTheyWere) {
  if (!OneDnn::get())
    GTEST_SKIP() << "needs oneDNN";
  void *openMp = dlopen("libgomp.so.1", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_TRUE(openMp);
  auto getThreads = reinterpret_cast<int (*)()>(dlsym(openMp, "omp_get_max_threads"));
  auto setThreads = reinterpret_cast<void (*)(int)>(dlsym(openMp, "omp_set_num_threads"));
  setThreads(3);
  constexpr size_t kSize = size_t(128) * 128;
  std::vector<float> a(kSize), c(kSize);
  OneDnn::get()->multiply({false, false, false, 128, 128, 128, a.data(), 128, a.data(), 128, c.data(), 128});
  EXPECT_EQ(getThreads(), 3);
  dlclose(openMp);
}

TEST(Contraction, RefusesWhatTheLibraryCannotIndex) {
  auto contract = dense(plan::ElementType::f32, int64_t(1) << 31, 1, 1, false, false);
  EXPECT_THAT([&] { Contraction{contract}; },
              testing::ThrowsMessage<Error>(testing::HasSubstr("2147483648")));
}

} // namespace
} // namespace epl::runtime
