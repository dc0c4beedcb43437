// Factorizations by cuSOLVER and cuBLAS beside those of LAPACK on the host: batches of odd sizes, vectors up
// to what a library may choose.

#include "test/unit/cuda/card/FactorizationsFixture.h"

#include <limits>
#include <numeric>

namespace epl::runtime::cuda {
namespace {

template <typename Scalar> using HostRun = Run<Scalar>; // tests have a function of that name

template <typename Scalar> class Factorizations : public FactorizationsBase {
protected:
  /// A matrix for each of the batch.
  template <typename Make> std::vector<Matrix<Scalar>> draw(Make make) {
    std::vector<Matrix<Scalar>> matrices;
    for (unsigned i = 0; i < kCount; ++i)
      matrices.push_back(make(next++));
    return matrices;
  }
  std::vector<Matrix<Scalar>> drawAny(int64_t rows, int64_t columns) {
    return draw([&](unsigned seed) { return randomMatrix<Scalar>(rows, columns, seed); });
  }
  std::vector<Matrix<Scalar>> drawPositive(int64_t n) {
    return draw([&](unsigned seed) { return randomPositive<Scalar>(n, seed); });
  }

  using Operands = std::vector<std::vector<Scalar>>;
  std::vector<std::vector<uint8_t>> factor(const plan::FactorizationT &shape, const Operands &operands) {
    return this->factorBatch(shape, operands);
  }
  /// Results of LAPACK.
  HostRun<Scalar> expect(const plan::FactorizationT &shape,
                         const std::vector<std::vector<Scalar>> &operands) {
    return HostRun<Scalar>(shape, operands, kCount);
  }

private:
  unsigned next = 0;
};

using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(Factorizations, Scalars);

const std::pair<int64_t, int64_t> kSizes[] = {{1, 1}, {1, 7}, {7, 1}, {5, 5}, {13, 7}, {7, 13}, {33, 20}};

template <typename Scalar> void expectOrthogonal(const Matrix<Scalar> &q) {
  expectNear(q.transposed() * q, Matrix<Scalar>::identity(q.columns), double(q.rows));
}

TYPED_TEST(Factorizations, CholeskyHasZerosAboveTheDiagonal) {
  for (int64_t n : {1, 2, 5, 17, 40}) {
    auto shape = shapeOf<TypeParam>(Kind::cholesky, n, n);
    std::vector<std::vector<TypeParam>> a = {this->batchOf(this->drawPositive(n))};
    auto results = this->factor(shape, a);
    auto expected = this->expect(shape, a);
    for (int64_t i = 0; i < kCount; ++i) {
      auto l = this->template matrix<TypeParam>(results[0], n, n, i);
      expectNear(l, l.where([](int64_t row, int64_t column) { return row >= column; }), 0);
      expectNear(l, expected.matrix(0, n, n, i), double(n));
    }
  }
}

/// Of a batch the others are as they were.
TYPED_TEST(Factorizations, CholeskyOfWhatIsNotPositiveIsNan) {
  auto shape = shapeOf<TypeParam>(Kind::cholesky, 6, 6);
  auto matrices = this->drawPositive(6);
  matrices[1](3, 3) = -1;
  std::vector<std::vector<TypeParam>> a = {this->batchOf(matrices)};
  auto results = this->factor(shape, a);
  auto expected = this->expect(shape, a);
  for (int64_t i : {0, 2})
    expectNear(this->template matrix<TypeParam>(results[0], 6, 6, i), expected.matrix(0, 6, 6, i), 6);
  for (TypeParam value : this->template matrix<TypeParam>(results[0], 6, 6, 1).values)
    EXPECT_TRUE(std::isnan(value));
}

TYPED_TEST(Factorizations, LuHasThePivotsOfLapack) {
  for (auto [m, n] : kSizes) {
    int64_t k = std::min(m, n);
    auto shape = shapeOf<TypeParam>(Kind::lu, m, n);
    std::vector<std::vector<TypeParam>> a = {this->batchOf(this->drawAny(m, n))};
    auto results = this->factor(shape, a);
    auto expected = this->expect(shape, a);
    for (int64_t i = 0; i < kCount; ++i) {
      expectNear(this->template matrix<TypeParam>(results[0], m, n, i), expected.matrix(0, m, n, i), 100);
      EXPECT_EQ(this->numbers(results[1], k, i), expected.template get<int>(1, i));
      EXPECT_EQ(this->numbers(results[2], m, i), expected.template get<int>(2, i));
    }
  }
}

TYPED_TEST(Factorizations, LuOfWhatIsSingularOrNoNumberHasPivots) {
  constexpr int64_t n = 5;
  auto matrices = this->drawAny(n, n);
  for (int64_t column = 0; column < n; ++column)
    matrices[0](2, column) = 0, matrices[1](2, column) = std::numeric_limits<TypeParam>::quiet_NaN();
  auto results = this->factor(shapeOf<TypeParam>(Kind::lu, n, n), {this->batchOf(matrices)});
  for (int64_t i = 0; i < kCount; ++i) {
    std::vector<int> rows = this->numbers(results[2], n, i), all(n);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_TRUE(std::ranges::is_permutation(rows, all));
  }
}

/// Also with columns that no reflector has made.
TYPED_TEST(Factorizations, QrAndItsReflectorsMultipliedOut) {
  for (auto [m, n] : kSizes) {
    int64_t k = std::min(m, n);
    auto matrices = this->drawAny(m, n);
    auto qr = this->factor(shapeOf<TypeParam>(Kind::qr, m, n), {this->batchOf(matrices)});
    std::vector<TypeParam> factors(size_t(kCount * k));
    std::copy_n(qr[1].data(), qr[1].size(), reinterpret_cast<uint8_t *>(factors.data()));
    for (int64_t columns : {k, m}) { // of q
      std::vector<Matrix<TypeParam>> reflectors;
      for (int64_t i = 0; i < kCount; ++i) {
        auto packed = this->template matrix<TypeParam>(qr[0], m, n, i);
        Matrix<TypeParam> &own = reflectors.emplace_back(m, columns);
        for (int64_t row = 0; row < m; ++row)
          std::copy_n(&packed.values[size_t(row * n)], std::min(columns, n),
                      &own.values[size_t(row * columns)]);
      }
      auto shape = shapeOf<TypeParam>(Kind::orthogonal, m, columns);
      shape.reflectors = k;
      auto results = this->factor(shape, {this->batchOf(reflectors), factors});
      for (int64_t i = 0; i < kCount; ++i) {
        auto q = this->template matrix<TypeParam>(results[0], m, columns, i);
        auto packed = this->template matrix<TypeParam>(qr[0], m, n, i);
        Matrix<TypeParam> r(columns, n);
        for (int64_t row = 0; row < columns; ++row)
          for (int64_t column = row; column < n; ++column)
            r(row, column) = packed(row, column);
        expectOrthogonal(q);
        expectNear(q * r, matrices[size_t(i)], 10.0 * double(k));
      }
    }
  }
}

TYPED_TEST(Factorizations, EighReadsTheLowerTriangle) {
  for (int64_t n : {1, 2, 5, 17, 40}) {
    auto shape = shapeOf<TypeParam>(Kind::eigh, n, n);
    auto matrices = this->drawPositive(n);
    auto results = this->factor(shape, {this->batchOf(matrices)});
    auto expected = this->expect(shape, {this->batchOf(matrices)});
    for (int64_t i = 0; i < kCount; ++i) {
      auto v = this->template matrix<TypeParam>(results[0], n, n, i);
      auto w = this->template matrix<TypeParam>(results[1], 1, n, i);
      expectNear(w, Matrix<TypeParam>(1, n, expected.template get<TypeParam>(1, i).data()), 10.0 * double(n));
      expectOrthogonal(v);
      expectNear(v * Matrix<TypeParam>::diagonal(n, n, w.values) * v.transposed(),
                 symmetric(matrices[size_t(i)]), 10.0 * double(n));
    }
  }
}

TYPED_TEST(Factorizations, SingularValuesDescendAndVectorsAreOrthogonal) {
  for (auto [m, n] : kSizes)
    for (int vectors : {0, 1, 2}) { // none, as many as values, all
      int64_t k = std::min(m, n);
      auto shape = shapeOf<TypeParam>(Kind::svd, m, n);
      shape.vectors = vectors > 0, shape.full = vectors == 2;
      auto matrices = this->drawAny(m, n);
      auto results = this->factor(shape, {this->batchOf(matrices)});
      auto expected = this->expect(shape, {this->batchOf(matrices)});
      for (int64_t i = 0; i < kCount; ++i) {
        auto s = this->template matrix<TypeParam>(results[0], 1, k, i);
        expectNear(s, Matrix<TypeParam>(1, k, expected.template get<TypeParam>(0, i).data()), 10);
        if (vectors == 0)
          continue;
        int64_t left = leftVectorsOf(shape), right = rightVectorsOf(shape);
        auto u = this->template matrix<TypeParam>(results[1], m, left, i);
        auto vt = this->template matrix<TypeParam>(results[2], right, n, i);
        expectOrthogonal(u);
        expectOrthogonal(vt.transposed());
        expectNear(u * Matrix<TypeParam>::diagonal(left, right, s.values) * vt, matrices[size_t(i)],
                   10.0 * double(k));
      }
    }
}

/// In the upper triangle of what eigenvalues are found of nobody looks. The others of the batch have results.
TYPED_TEST(Factorizations, SpectraOfWhatIsNotFiniteAreNan) {
  for (TypeParam odd :
       {std::numeric_limits<TypeParam>::quiet_NaN(), std::numeric_limits<TypeParam>::infinity()})
    for (auto [m, n] : {std::pair<int64_t, int64_t>{6, 6}, {7, 4}, {4, 7}})
      for (Kind kind : {Kind::eigh, Kind::svd}) {
        if (kind == Kind::eigh && m != n)
          continue;
        auto shape = shapeOf<TypeParam>(kind, m, n);
        shape.vectors = kind == Kind::svd;
        auto matrices = kind == Kind::eigh ? this->drawPositive(n) : this->drawAny(m, n);
        matrices[1](3, 2) = odd;
        if (kind == Kind::eigh)
          matrices[2](2, 3) = odd;
        auto results = this->factor(shape, {this->batchOf(matrices)});
        for (const std::vector<uint8_t> &result : results) {
          auto size = int64_t(result.size() / sizeof(TypeParam)) / kCount;
          for (int64_t i = 0; i < kCount; ++i)
            for (TypeParam value : this->template matrix<TypeParam>(result, 1, size, i).values)
              EXPECT_EQ(std::isnan(value), i == 1);
        }
      }
}

TYPED_TEST(Factorizations, TriangularSystemsOfAllForms) {
  for (auto [m, n] : kSizes)
    for (int flags = 0; flags < 16; ++flags) {
      auto shape = shapeOf<TypeParam>(Kind::triangular_solve, m, n);
      shape.left = flags & 1, shape.lower = flags & 2, shape.transpose = flags & 4;
      shape.unit_diagonal = flags & 8;
      int64_t k = shape.left ? m : n;
      auto triangles = this->drawPositive(k);
      for (Matrix<TypeParam> &a : triangles)
        for (int64_t row = 0; row < k; ++row)
          for (int64_t column = 0; column < k; ++column) {
            bool isRead = shape.lower ? column <= row : column >= row;
            a(row, column) = !isRead         ? std::numeric_limits<TypeParam>::quiet_NaN()
                             : row == column ? (shape.unit_diagonal ? 1000 : TypeParam(2 + row % 3))
                                             : TypeParam((row * 7 + column * 3) % 5 - 2) / TypeParam(2 * k);
          }
      std::vector<std::vector<TypeParam>> operands = {this->batchOf(triangles),
                                                      this->batchOf(this->drawAny(m, n))};
      auto results = this->factor(shape, operands);
      auto expected = this->expect(shape, operands);
      for (int64_t i = 0; i < kCount; ++i)
        expectNear(this->template matrix<TypeParam>(results[0], m, n, i), expected.matrix(0, m, n, i), 10);
    }
}

} // namespace
} // namespace epl::runtime::cuda
