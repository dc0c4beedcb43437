#include "runtime/device/cpu/Contraction.h"

#include "runtime/Error.h"
#include "runtime/device/cpu/Blas.h"
#include "runtime/device/cpu/NarrowProduct.h"
#include "runtime/device/cpu/OneDnn.h"

#include <algorithm>
#include <limits>
#include <string>

namespace epl::runtime {

/// Whether oneDNN falls behind OpenBLAS (2 to 21 % on 12 of 14 shapes) while it packs the columns of a: their
/// elements are whole pages apart and fall into the same lines of the first cache. Gradients of weights with
/// more rows than columns are such products; no other transpose shows it, nor fewer columns.
static bool packsCollidingColumns(const plan::ContractT &shape) {
  constexpr int64_t kPage = 1024, kFewestColumns = 256;
  return shape.transpose_a && shape.lda % kPage == 0 && shape.n >= kFewestColumns && shape.n < shape.m;
}

static bool suitsOneDnn(const plan::ContractT &shape) {
  if (shape.type == plan::ElementType::bf16)
    return multipliesBFloat16();
  return shape.type == plan::ElementType::f32 && !packsCollidingColumns(shape) &&
         OneDnn::getIfAhead(shape.m, shape.n, shape.k);
}

static void checkExtents(const plan::ContractT &shape) {
  int64_t largest = std::max({shape.m, shape.n, shape.k, shape.lda, shape.ldb, shape.ldc});
  if (largest > std::numeric_limits<int>::max())
    throw Error("a contraction of the plan has an extent of " + std::to_string(largest) +
                " elements, more than the library's 32-bit indices reach");
}

Contraction::Contraction(const plan::ContractT &shape) : shape(shape) {
  checkExtents(shape);
  usesOneDnn = suitsOneDnn(shape);
  if (!usesOneDnn)
    Blas::get();
}

/// Whether c has no elements. The other extents may then be any: they are not for loops.
static bool writesNothing(const plan::ContractT &shape) {
  return shape.m == 0 || shape.n == 0 ||
         std::ranges::any_of(shape.batch, [](const plan::BatchDim &dim) { return dim.extent() == 0; });
}

void Contraction::run(const void *a, const void *b, void *c) const {
  if (writesNothing(shape))
    return;
  switch (shape.type) {
  case plan::ElementType::f64:
    return runBatches<double, double>(a, b, c);
  case plan::ElementType::bf16:
    return shape.widens ? runBatches<BFloat16, float>(a, b, c) : runBatches<BFloat16, BFloat16>(a, b, c);
  case plan::ElementType::f16:
    return shape.widens ? runBatches<_Float16, float>(a, b, c) : runBatches<_Float16, _Float16>(a, b, c);
  default: // the verifier lets nothing else pass
    return runBatches<float, float>(a, b, c);
  }
}

template <typename Element, typename Result>
void Contraction::runBatches(const void *a, const void *b, void *c) const {
  runLoop(static_cast<const Element *>(a), static_cast<const Element *>(b), static_cast<Result *>(c), 0);
}

template <typename Element, typename Result>
void Contraction::runLoop(const Element *a, const Element *b, Result *c, size_t loop) const {
  if (loop == shape.batch.size())
    return multiply(a, b, c);
  const plan::BatchDim &dim = shape.batch[loop];
  for (int64_t i = 0; i < dim.extent(); ++i)
    runLoop(a + i * dim.stride_a(), b + i * dim.stride_b(), c + i * dim.stride_c(), loop + 1);
}

/// A sum of no products.
template <typename Result> static void multiplyEmpty(const plan::ContractT &shape, Result *c) {
  for (int64_t row = 0; row < shape.m && !shape.accumulate; ++row)
    std::fill_n(c + row * shape.ldc, shape.n, Result());
}

template <typename Element, typename Result>
void Contraction::multiply(const Element *a, const Element *b, Result *c) const {
  if (shape.k == 0)
    return multiplyEmpty(shape, c);
  Product<Element, Result> product{shape.transpose_a,
                                   shape.transpose_b,
                                   shape.accumulate,
                                   shape.m,
                                   shape.n,
                                   shape.k,
                                   a,
                                   shape.lda,
                                   b,
                                   shape.ldb,
                                   c,
                                   shape.ldc};
  runtime::multiply(product);
}

} // namespace epl::runtime
