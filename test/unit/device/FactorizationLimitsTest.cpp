// What factorizations do at the limits: no elements, numbers that are none, little memory, several threads.
#include "FactorizationRun.h"

#include "runtime/device/cpu/Lapack.h"

#include <limits>
#include <thread>

namespace epl::runtime {
namespace {

template <typename Scalar> class FactorizationLimitsTest : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(FactorizationLimitsTest, Scalars);

/// Every kind on matrices of m x n, square ones where they must be.
template <typename Scalar> std::vector<plan::FactorizationT> everyKind(int64_t m, int64_t n) {
  std::vector<plan::FactorizationT> shapes;
  for (Kind kind : {Kind::cholesky, Kind::lu, Kind::qr, Kind::orthogonal, Kind::eigh, Kind::svd,
                    Kind::triangular_solve}) {
    bool square = kind == Kind::cholesky || kind == Kind::eigh;
    shapes.push_back(shapeOf<Scalar>(kind, m, square ? m : kind == Kind::orthogonal ? std::min(m, n) : n));
    shapes.back().left = true;
    shapes.back().reflectors = std::min(m, n);
  }
  shapes.push_back(shapeOf<Scalar>(Kind::svd, m, n));
  shapes.back().vectors = true;
  shapes.push_back(shapes.back());
  shapes.back().full = true;
  return shapes;
}

template <typename Scalar>
std::vector<std::vector<Scalar>> operandsOf(const plan::FactorizationT &shape, Scalar value) {
  std::vector<std::vector<Scalar>> operands;
  for (uint64_t bytes : memoryOf(shape).inputs)
    operands.emplace_back(bytes / sizeof(Scalar), value);
  return operands;
}

TYPED_TEST(FactorizationLimitsTest, TakesMatricesWithoutElements) {
  for (auto [m, n] : {std::pair<int64_t, int64_t>{0, 0}, {0, 4}, {4, 0}})
    for (const plan::FactorizationT &shape : everyKind<TypeParam>(m, n)) {
      Run<TypeParam> run(shape, operandsOf<TypeParam>(shape, 1));
      if (shape.full)
        expectNear(run.matrix(m > 0 ? 1 : 2, m + n, m + n), Matrix<TypeParam>::identity(m + n), 0);
      if (shape.kind == Kind::lu)
        for (int64_t i = 0; i < m; ++i)
          EXPECT_EQ(run.template get<int>(2)[size_t(i)], i);
    }
}

/// LAPACK's own routines for what has no eigenvalues may go on for ever, or outside of the matrix.
TYPED_TEST(FactorizationLimitsTest, ComesToAnEndWhateverTheElementsAre) {
  using Limits = std::numeric_limits<TypeParam>;
  for (TypeParam odd : {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(), Limits::max(),
                        Limits::denorm_min(), TypeParam(0)})
    for (auto [m, n] : {std::pair<int64_t, int64_t>{5, 5}, {40, 30}, {30, 40}})
      for (const plan::FactorizationT &shape : everyKind<TypeParam>(m, n)) {
        auto all = operandsOf<TypeParam>(shape, odd), one = operandsOf<TypeParam>(shape, TypeParam(0.5));
        one[0][one[0].size() / 2] = odd;
        for (const auto &operands : {all, one}) {
          Run<TypeParam> run(shape, operands);
          bool isSpectrum = shape.kind == Kind::eigh || shape.kind == Kind::svd;
          if (isSpectrum && !std::isfinite(odd))
            EXPECT_TRUE(std::isnan(run.template get<TypeParam>(shape.kind == Kind::svd ? 0 : 1)[0]));
          if (shape.kind == Kind::lu)
            for (int pivot : run.template get<int>(1))
              EXPECT_TRUE(pivot >= 0 && pivot < m) << pivot;
        }
      }
}

/// What LAPACK would like to have is within what the plan gives it, so that it works in blocks.
TYPED_TEST(FactorizationLimitsTest, WorkspacesAreThoseOfBlocks) {
  const auto &lapack = Lapack<TypeParam>::get();
  for (int m : {1, 2, 7, 30, 64, 100, 500, 3000})
    for (int n : {1, 2, 7, 30, 64, 100, 500, 3000}) {
      TypeParam none = 0, best = 0;
      int info = 0, query = -1, integers = 0, k = std::min(m, n), larger = std::max(m, n);
      auto expectRoom = [&](const plan::FactorizationT &shape) {
        EXPECT_EQ(info, 0);
        EXPECT_LE(best, double(lapackWorkspaceOf(shape).elements) * 1.0001)
            << plan::EnumNameFactorizationKind(shape.kind) << ' ' << m << " x " << n;
      };
      lapack.gelqf(&n, &m, &none, &n, &none, &best, &query, &info);
      expectRoom(shapeOf<TypeParam>(Kind::qr, m, n));
      lapack.orglq(&k, &larger, &k, &none, &k, &none, &best, &query, &info);
      expectRoom(shapeOf<TypeParam>(Kind::orthogonal, larger, k));
      auto shape = shapeOf<TypeParam>(Kind::svd, m, n);
      for (const char *job : {"N", "S", "A"}) {
        shape.vectors = *job != 'N';
        shape.full = *job == 'A';
        int right = shape.full ? n : k;
        lapack.gesdd(job, &m, &n, &none, &m, &none, &none, &m, &none, &right, &best, &query, &integers, &info,
                     1);
        expectRoom(shape);
      }
      lapack.syevd("V", "L", &n, &none, &n, &none, &best, &query, &integers, &query, &info, 1, 1);
      shape = shapeOf<TypeParam>(Kind::eigh, n, n);
      expectRoom(shape);
      EXPECT_LE(integers, lapackWorkspaceOf(shape).integers);
    }
}

TYPED_TEST(FactorizationLimitsTest, SeveralThreadsFactorAtOnce) {
  constexpr int64_t n = 48;
  auto shape = shapeOf<TypeParam>(Kind::svd, n, n);
  shape.vectors = true;
  auto a = randomMatrix<TypeParam>(n, n, 3);
  Run<TypeParam> alone(shape, {a.values});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round)
        EXPECT_EQ(Run<TypeParam>(shape, {a.values}).memory[2], alone.memory[2]);
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(Factorizations, FaultsAreNamed) {
  auto faultWith = [](auto change) {
    plan::FactorizationT shape = shapeOf<float>(Kind::cholesky, 4, 4);
    change(shape);
    return faultOf(shape);
  };
  using testing::HasSubstr;
  using Shape = plan::FactorizationT;
  EXPECT_EQ(faultWith([](Shape &) {}), "");
  EXPECT_THAT(faultWith([](Shape &s) { s.kind = Kind(99); }), HasSubstr("kind 99, which does not exist"));
  EXPECT_THAT(faultWith([](Shape &s) { s.type = plan::ElementType::bf16; }),
              HasSubstr("expected f32 or f64"));
  EXPECT_THAT(faultWith([](Shape &s) { s.rows = -1; }), HasSubstr("-1 x 4, expected extents from 0"));
  EXPECT_THAT(faultWith([](Shape &s) { s.columns = 1 << 25; }), HasSubstr("expected extents from 0"));
  EXPECT_THAT(faultWith([](Shape &s) { s.rows = 5; }), HasSubstr("5 x 4, expected a square"));
  EXPECT_THAT(faultWith([](Shape &s) { s.kind = Kind::orthogonal, s.reflectors = 5; }),
              HasSubstr("multiplies 5 reflectors of 4 x 4"));
  EXPECT_THAT(faultWith([](Shape &s) { s.kind = Kind::eigh, s.rows = s.columns = 40000; }),
              HasSubstr("more than LAPACK's 32-bit indices reach"));
}

} // namespace
} // namespace epl::runtime
