// CPUs that multiply pairs of bf16 do so at twice the speed of f32, and oneDNN uses it: 400 GF/s where f32
// has 200. What such a product cannot do is round its sums to bf16. For f16, and on other CPUs, operands are
// widened to f32 first. Either way a product goes block by block, large enough that what is converted, or
// packed by the library, serves many multiplications, and small enough for a cache.
#include "runtime/device/cpu/NarrowProduct.h"

#include "runtime/device/cpu/Features.h"
#include "runtime/device/cpu/OneDnn.h"

#include <algorithm>
#include <type_traits>
#include <vector>

namespace epl::runtime {

bool multipliesBFloat16() {
  static const bool result = cpuSupports("avx512bf16") && OneDnn::get() && OneDnn::get()->hasBFloat16();
  return result;
}

namespace {

/// Rows, columns and summands of a block.
constexpr int64_t kBlock = 1024;

/// Rows of a matrix, `leading` elements apart.
template <typename Element> struct Rows {
  Element *first;
  int64_t count, length, leading;
};

template <typename Element> EPL_INLINE void widenEach(Rows<const Element> from, Rows<float> to) {
  for (int64_t row = 0; row < from.count; ++row)
    for (int64_t i = 0; i < from.length; ++i)
      to.first[row * to.leading + i] = widen(from.first[row * from.leading + i]);
}

template <typename Element> EPL_INLINE void narrowEach(Rows<const float> from, Rows<Element> to) {
  for (int64_t row = 0; row < from.count; ++row)
    for (int64_t i = 0; i < from.length; ++i)
      narrow(from.first[row * from.leading + i], to.first[row * to.leading + i]);
}

// Each conversion is compiled twice, as the combinations of collectives are.
#define EPL_FOR_AVX2 [[gnu::target("avx2,f16c")]]
template <typename Element> EPL_FOR_AVX2 void widenAvx2(Rows<const Element> from, Rows<float> to) {
  widenEach(from, to);
}
template <typename Element> EPL_FOR_AVX2 void narrowAvx2(Rows<const float> from, Rows<Element> to) {
  narrowEach(from, to);
}

bool hasAvx2() {
  static const bool result = cpuSupports("avx2") && cpuSupports("f16c");
  return result;
}

template <typename Element> void widenRows(Rows<const Element> from, Rows<float> to) {
  hasAvx2() ? widenAvx2(from, to) : widenEach(from, to);
}
template <typename Element> void narrowRows(Rows<const float> from, Rows<Element> to) {
  hasAvx2() ? narrowAvx2(from, to) : narrowEach(from, to);
}

/// Memory for at least `size` elements, whose contents may be anything.
float *reserve(std::vector<float> &memory, int64_t size) {
  if (int64_t(memory.size()) < size)
    memory.resize(size);
  return memory.data();
}

/// A part of op(matrix), from `row` and `column` on, in f32.
template <typename Element>
Rows<float> widenPart(const Element *matrix, int64_t leading, bool transposed, int64_t row, int64_t rows,
                      int64_t column, int64_t columns, std::vector<float> &memory) {
  if (transposed) {
    std::swap(row, column);
    std::swap(rows, columns);
  }
  Rows<float> part{reserve(memory, rows * columns), rows, columns, columns};
  widenRows<Element>({matrix + row * leading + column, rows, columns, leading}, part);
  return part;
}

/// c = op(a) op(b) (+ c) by products of f32.
template <typename Element> void multiplyWidened(const Product<Element, float> &p) {
  thread_local std::vector<float> memoryA, memoryB;
  for (int64_t k = 0; k < p.k; k += kBlock) {
    int64_t size = std::min(kBlock, p.k - k);
    Rows<float> a = widenPart(p.a, p.lda, p.transposeA, 0, p.m, k, size, memoryA);
    Rows<float> b = widenPart(p.b, p.ldb, p.transposeB, k, size, 0, p.n, memoryB);
    multiply({p.transposeA, p.transposeB, p.accumulate || k > 0, p.m, p.n, size, a.first, a.leading, b.first,
              b.leading, p.c, p.ldc});
  }
}

/// c = op(a) op(b) (+ c), of `size` summands from `first` on.
template <typename Element>
Product<Element, float> takeSummands(Product<Element, float> p, int64_t first, int64_t size) {
  p.a += p.transposeA ? first * p.lda : first;
  p.b += p.transposeB ? first : first * p.ldb;
  p.k = size;
  p.accumulate |= first > 0;
  return p;
}

/// Whole pairs of summands by oneDNN. To the last one of an odd number it adds another number times 0, which
/// is NaN if that is infinite: that summand is widened.
void multiplyPairs(const Product<BFloat16, float> &product) {
  int64_t odd = product.k % 2, inPairs = product.k - odd;
  if (inPairs > 0)
    OneDnn::get()->multiply(takeSummands(product, 0, inPairs));
  if (odd)
    multiplyWidened(takeSummands(product, inPairs, 1));
}

template <typename Element> void multiplyToSingle(const Product<Element, float> &product) {
  if constexpr (std::is_same_v<Element, BFloat16>)
    if (multipliesBFloat16())
      return multiplyPairs(product);
  multiplyWidened(product);
}

/// c = op(a) op(b) (+ c) by way of sums in f32.
template <typename Element> void multiplyRounded(const Product<Element> &p) {
  thread_local std::vector<float> memory;
  Rows<float> sums{reserve(memory, p.m * p.n), p.m, p.n, p.n};
  Rows<Element> c{p.c, p.m, p.n, p.ldc};
  if (p.accumulate)
    widenRows<Element>({c.first, c.count, c.length, c.leading}, sums);
  multiplyToSingle<Element>({p.transposeA, p.transposeB, p.accumulate, p.m, p.n, p.k, p.a, p.lda, p.b, p.ldb,
                             sums.first, sums.leading});
  narrowRows<Element>({sums.first, sums.count, sums.length, sums.leading}, c);
}

} // namespace

template <typename Element, typename Result> void multiply(const Product<Element, Result> &product) {
  for (int64_t row = 0; row < product.m; row += kBlock)
    for (int64_t column = 0; column < product.n; column += kBlock) {
      Product<Element, Result> block = product;
      block.m = std::min(kBlock, product.m - row);
      block.n = std::min(kBlock, product.n - column);
      block.a += product.transposeA ? row : row * product.lda;
      block.b += product.transposeB ? column * product.ldb : column;
      block.c += row * product.ldc + column;
      if constexpr (std::is_same_v<Result, float>)
        multiplyToSingle(block);
      else
        multiplyRounded(block);
    }
}

template void multiply(const Product<BFloat16> &);
template void multiply(const Product<BFloat16, float> &);
template void multiply(const Product<_Float16> &);
template void multiply(const Product<_Float16, float> &);

} // namespace epl::runtime
