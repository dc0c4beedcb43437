#include "FactorizationRun.h"

#include <functional>
#include <numeric>

namespace epl::runtime {
namespace {

template <typename Scalar> class FactorizationTest : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(FactorizationTest, Scalars);

const std::pair<int64_t, int64_t> kSizes[] = {{1, 1},  {1, 7},   {7, 1},    {5, 5},   {13, 7},
                                              {7, 13}, {67, 67}, {131, 40}, {33, 129}};

TYPED_TEST(FactorizationTest, CholeskyReadsTheLowerTriangle) {
  for (int64_t n : {1, 2, 5, 17, 67, 129}) {
    auto a = randomPositive<TypeParam>(n, unsigned(n));
    Run<TypeParam> run(shapeOf<TypeParam>(Kind::cholesky, n, n), {a.values});
    auto l = run.matrix(0, n, n);
    expectNear(l, l.where([](int64_t i, int64_t j) { return i >= j; }), 0);
    expectNear(l * l.transposed(), symmetric(a), 10.0 * double(n));
  }
}

TYPED_TEST(FactorizationTest, CholeskyOfWhatIsNotPositiveIsNan) {
  auto a = randomPositive<TypeParam>(6, 0), bad = a;
  bad(3, 3) = -1;
  std::vector<TypeParam> both = a.values;
  both.insert(both.end(), bad.values.begin(), bad.values.end());
  Run<TypeParam> run(shapeOf<TypeParam>(Kind::cholesky, 6, 6), {both}, 2);
  expectNear(run.matrix(0, 6, 6) * run.matrix(0, 6, 6).transposed(), symmetric(a), 60);
  for (TypeParam value : run.template get<TypeParam>(0, 1))
    EXPECT_TRUE(std::isnan(value));
}

TYPED_TEST(FactorizationTest, LuChangesRows) {
  for (auto [m, n] : kSizes) {
    int64_t k = std::min(m, n);
    auto a = randomMatrix<TypeParam>(m, n, unsigned(m + n));
    Run<TypeParam> run(shapeOf<TypeParam>(Kind::lu, m, n), {a.values});
    auto lu = run.matrix(0, m, n);
    Matrix<TypeParam> l(m, k), u(k, n);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        (j < i && j < k ? l(i, j) : u(std::min(i, k - 1), j)) += j < i && j >= k ? 0 : lu(i, j);
    for (int64_t i = 0; i < k; ++i)
      l(i, i) = 1;
    auto permutation = run.template get<int>(2), rows = permutation;
    expectNear(l * u, a.rowsOf(permutation), 10.0 * double(k));
    std::iota(rows.begin(), rows.end(), 0);
    auto pivots = run.template get<int>(1);
    for (size_t i = 0; i < pivots.size(); ++i) {
      ASSERT_GE(pivots[i], int(i));
      ASSERT_LT(pivots[i], int(m));
      std::swap(rows[i], rows[size_t(pivots[i])]);
    }
    EXPECT_EQ(rows, permutation);
  }
}

TYPED_TEST(FactorizationTest, QrAndItsReflectorsMultipliedOut) {
  for (auto [m, n] : kSizes) {
    int64_t k = std::min(m, n);
    auto a = randomMatrix<TypeParam>(m, n, unsigned(m * n));
    Run<TypeParam> qr(shapeOf<TypeParam>(Kind::qr, m, n), {a.values});
    auto packed = qr.matrix(0, m, n);
    auto factors = qr.template get<TypeParam>(1);
    for (int64_t columns : {k, m}) { // of q
      Matrix<TypeParam> reflectors(m, columns);
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < std::min(columns, n); ++j)
          reflectors(i, j) = packed(i, j);
      auto shape = shapeOf<TypeParam>(Kind::orthogonal, m, columns);
      shape.reflectors = k;
      auto q = Run<TypeParam>(shape, {reflectors.values, factors}).matrix(0, m, columns);
      expectNear(q.transposed() * q, Matrix<TypeParam>::identity(columns), double(m));
      Matrix<TypeParam> r(columns, n);
      for (int64_t i = 0; i < columns; ++i)
        for (int64_t j = i; j < n; ++j)
          r(i, j) = packed(i, j);
      expectNear(q * r, a, 10.0 * double(k));
    }
  }
}

TYPED_TEST(FactorizationTest, EighReadsTheLowerTriangle) {
  for (int64_t n : {1, 2, 5, 17, 67, 129}) {
    auto a = randomPositive<TypeParam>(n, unsigned(n));
    Run<TypeParam> run(shapeOf<TypeParam>(Kind::eigh, n, n), {a.values});
    auto v = run.matrix(0, n, n);
    auto w = run.template get<TypeParam>(1);
    EXPECT_TRUE(std::ranges::is_sorted(w));
    expectNear(v.transposed() * v, Matrix<TypeParam>::identity(n), double(n));
    expectNear(v * Matrix<TypeParam>::diagonal(n, n, w) * v.transposed(), symmetric(a), 20.0 * double(n));
  }
}

TYPED_TEST(FactorizationTest, SvdWithNoThinAndAllVectors) {
  for (auto [m, n] : kSizes) {
    auto a = randomMatrix<TypeParam>(m, n, unsigned(m * n + 1));
    auto shape = shapeOf<TypeParam>(Kind::svd, m, n);
    auto values = Run<TypeParam>(shape, {a.values}).template get<TypeParam>(0);
    EXPECT_TRUE(std::ranges::is_sorted(values, std::greater()));
    shape.vectors = true;
    for (bool full : {false, true}) {
      shape.full = full;
      Run<TypeParam> run(shape, {a.values});
      int64_t left = leftVectorsOf(shape), right = rightVectorsOf(shape);
      auto s = run.template get<TypeParam>(0);
      for (size_t i = 0; i < s.size(); ++i)
        EXPECT_NEAR(s[i], values[i], kTolerance<TypeParam> * 10 * double(m + n));
      auto u = run.matrix(1, m, left), vt = run.matrix(2, right, n);
      expectNear(u.transposed() * u, Matrix<TypeParam>::identity(left), double(m + n));
      expectNear(vt * vt.transposed(), Matrix<TypeParam>::identity(right), double(m + n));
      expectNear(u * Matrix<TypeParam>::diagonal(left, right, s) * vt, a, double(m + n));
    }
  }
}

TYPED_TEST(FactorizationTest, TriangularSolveOfEveryForm) {
  for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {5, 3}, {3, 5}, {17, 1}, {33, 20}})
    for (int flags = 0; flags < 16; ++flags) {
      auto shape = shapeOf<TypeParam>(Kind::triangular_solve, m, n);
      shape.left = flags & 1;
      shape.lower = flags & 2;
      shape.transpose = flags & 4;
      shape.unit_diagonal = flags & 8;
      int64_t order = shape.left ? m : n;
      auto a = randomMatrix<TypeParam>(order, order, unsigned(flags));
      for (int64_t i = 0; i < order; ++i)
        for (int64_t j = 0; j < order; ++j)
          a(i, j) = i == j ? TypeParam(2) + std::abs(a(i, j)) : a(i, j) / TypeParam(order);
      auto b = randomMatrix<TypeParam>(m, n, unsigned(flags + 1));
      auto x = Run<TypeParam>(shape, {a.values, b.values}).matrix(0, m, n);
      auto triangle = a.where([&](int64_t i, int64_t j) { return shape.lower ? i >= j : i <= j; });
      for (int64_t i = 0; i < order && shape.unit_diagonal; ++i)
        triangle(i, i) = 1;
      auto op = shape.transpose ? triangle.transposed() : triangle;
      expectNear(shape.left ? op * x : x * op, b, 10);
    }
}

TYPED_TEST(FactorizationTest, RunsPartsOfABatch) {
  auto shape = shapeOf<TypeParam>(Kind::eigh, 3, 3);
  std::vector<TypeParam> all;
  for (unsigned i = 0; i < 5; ++i)
    std::ranges::copy(randomPositive<TypeParam>(3, i).values, std::back_inserter(all));
  Run<TypeParam> whole(shape, {all}, 5);
  std::vector<TypeParam> v(5 * 9), w(5 * 3);
  std::vector<uint8_t> work(memoryOf(shape).workspace);
  void *buffers[] = {all.data(), v.data(), w.data(), work.data()};
  Factorization factorization(shape);
  factorization.run(buffers, 3, 5);
  factorization.run(buffers, 0, 3);
  for (int64_t i = 0; i < 5; ++i)
    EXPECT_EQ(whole.template get<TypeParam>(1, i),
              std::vector<TypeParam>(w.begin() + i * 3, w.begin() + i * 3 + 3));
}

} // namespace
} // namespace epl::runtime
