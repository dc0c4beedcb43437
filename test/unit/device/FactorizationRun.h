// Factorizations of small matrices in a test, and the sums that define what they are.
#ifndef EPL_TEST_UNIT_DEVICE_FACTORIZATIONRUN_H
#define EPL_TEST_UNIT_DEVICE_FACTORIZATIONRUN_H

#include "runtime/device/cpu/Factorization.h"
#include "runtime/plan/model/Factorizations.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace epl::runtime {

using Kind = plan::FactorizationKind;

template <typename Scalar> inline constexpr plan::ElementType kType = plan::ElementType::f32;
template <> inline constexpr plan::ElementType kType<double> = plan::ElementType::f64;

/// How far results may be off, relative to what they are made of.
template <typename Scalar> inline constexpr double kTolerance = 2e-5;
template <> inline constexpr double kTolerance<double> = 1e-13;

/// Rows of numbers, with the sums that define what is tested.
template <typename Scalar> struct Matrix {
  int64_t rows, columns;
  std::vector<Scalar> values;

  Matrix(int64_t rows, int64_t columns) : rows(rows), columns(columns), values(size_t(rows * columns)) {}
  Matrix(int64_t rows, int64_t columns, const Scalar *from) : Matrix(rows, columns) {
    std::copy_n(from, values.size(), values.begin());
  }
  Scalar &operator()(int64_t row, int64_t column) { return values[size_t(row * columns + column)]; }
  Scalar operator()(int64_t row, int64_t column) const { return values[size_t(row * columns + column)]; }

  Matrix operator*(const Matrix &other) const {
    Matrix product(rows, other.columns);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < other.columns; ++j) {
        double sum = 0;
        for (int64_t l = 0; l < columns; ++l)
          sum += double((*this)(i, l)) * double(other(l, j));
        product(i, j) = Scalar(sum);
      }
    return product;
  }
  Matrix transposed() const {
    Matrix result(columns, rows);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        result(j, i) = (*this)(i, j);
    return result;
  }
  template <typename Keep> Matrix where(Keep keep) const {
    Matrix result = *this;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        result(i, j) = keep(i, j) ? (*this)(i, j) : Scalar(0);
    return result;
  }
  Matrix rowsOf(const std::vector<int> &order) const {
    Matrix result(int64_t(order.size()), columns);
    for (size_t i = 0; i < order.size(); ++i)
      for (int64_t j = 0; j < columns; ++j)
        result(int64_t(i), j) = (*this)(order[i], j);
    return result;
  }
  static Matrix diagonal(int64_t rows, int64_t columns, const std::vector<Scalar> &values) {
    Matrix result(rows, columns);
    for (size_t i = 0; i < values.size(); ++i)
      result(int64_t(i), int64_t(i)) = values[i];
    return result;
  }
  static Matrix identity(int64_t n) { return diagonal(n, n, std::vector<Scalar>(size_t(n), Scalar(1))); }
};

template <typename Scalar>
void expectNear(const Matrix<Scalar> &found, const Matrix<Scalar> &expected, double scale = 1) {
  ASSERT_EQ(found.values.size(), expected.values.size());
  for (size_t i = 0; i < found.values.size(); ++i)
    ASSERT_NEAR(found.values[i], expected.values[i], kTolerance<Scalar> * scale) << "element " << i;
}

template <typename Scalar> Matrix<Scalar> randomMatrix(int64_t rows, int64_t columns, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  Matrix<Scalar> result(rows, columns);
  for (Scalar &value : result.values)
    value = Scalar(normal(generator));
  return result;
}

/// A positive definite one whose upper triangle is noise that nobody may read.
template <typename Scalar> Matrix<Scalar> randomPositive(int64_t n, unsigned seed) {
  Matrix<Scalar> factor = randomMatrix<Scalar>(n, n, seed), a = factor * factor.transposed();
  for (int64_t i = 0; i < n; ++i) {
    a(i, i) += Scalar(n);
    for (int64_t j = i + 1; j < n; ++j)
      a(i, j) = Scalar(1e6);
  }
  return a;
}

template <typename Scalar> Matrix<Scalar> symmetric(Matrix<Scalar> a) {
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = i + 1; j < a.rows; ++j)
      a(i, j) = a(j, i);
  return a;
}

/// Results and a workspace of exactly the sizes that the plan gives; what is behind them must stay.
template <typename Scalar> struct Run {
  static constexpr uint8_t kGuard = 0xA5;
  static constexpr size_t kGuards = 64;
  std::vector<std::vector<uint8_t>> memory;
  int64_t count;
  size_t inputs;
  FactorizationMemory sizes;

  Run(const plan::FactorizationT &shape, const std::vector<std::vector<Scalar>> &operands, int64_t count = 1)
      : count(count), inputs(operands.size()), sizes(memoryOf(shape)) {
    EXPECT_EQ(faultOf(shape), "");
    EXPECT_EQ(sizes.inputs.size(), operands.size());
    for (size_t i = 0; i < operands.size(); ++i) {
      EXPECT_EQ(operands[i].size() * sizeof(Scalar), sizes.inputs[i] * uint64_t(count));
      add(operands[i].size() * sizeof(Scalar));
      std::copy_n(reinterpret_cast<const uint8_t *>(operands[i].data()), operands[i].size() * sizeof(Scalar),
                  memory.back().begin());
    }
    for (uint64_t bytes : sizes.outputs)
      add(bytes * uint64_t(count));
    add(sizes.workspace);
    auto before = memory;
    std::vector<void *> buffers;
    for (std::vector<uint8_t> &bytes : memory)
      buffers.push_back(bytes.data());
    Factorization(shape).run(buffers.data(), 0, count);
    for (size_t i = 0; i < memory.size(); ++i)
      EXPECT_TRUE(std::all_of(memory[i].end() - kGuards, memory[i].end(),
                              [](uint8_t byte) { return byte == kGuard; }))
          << "wrote behind operand " << i;
    for (size_t i = 0; i < inputs; ++i)
      EXPECT_EQ(memory[i], before[i]) << "wrote input " << i;
  }

  void add(uint64_t bytes) { memory.emplace_back(size_t(bytes) + kGuards, kGuard); }

  /// Result `output` of matrix `index`.
  template <typename Element> std::vector<Element> get(size_t output, int64_t index = 0) const {
    std::vector<Element> result(size_t(sizes.outputs[output]) / sizeof(Element));
    std::copy_n(memory[inputs + output].data() + uint64_t(index) * sizes.outputs[output],
                sizes.outputs[output], reinterpret_cast<uint8_t *>(result.data()));
    return result;
  }
  Matrix<Scalar> matrix(size_t output, int64_t rows, int64_t columns, int64_t index = 0) const {
    return Matrix<Scalar>(rows, columns, get<Scalar>(output, index).data());
  }
};

template <typename Scalar> plan::FactorizationT shapeOf(Kind kind, int64_t rows, int64_t columns) {
  plan::FactorizationT shape;
  shape.kind = kind;
  shape.type = kType<Scalar>;
  shape.rows = rows;
  shape.columns = columns;
  return shape;
}

} // namespace epl::runtime

#endif // EPL_TEST_UNIT_DEVICE_FACTORIZATIONRUN_H
