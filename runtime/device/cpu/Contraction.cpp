#include "runtime/device/cpu/Contraction.h"

#include "runtime/Error.h"
#include "runtime/device/cpu/Blas.h"
#include "runtime/device/cpu/OneDnn.h"

#include <algorithm>
#include <limits>
#include <string>
#include <type_traits>

namespace epl::runtime {

static bool suitsOneDnn(const plan::ContractT &shape) {
  return shape.type == plan::ElementType::f32 && shape.k > 0 && OneDnn::isAhead(shape.m, shape.n, shape.k) &&
         OneDnn::get();
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
  if (shape.type == plan::ElementType::f32)
    runBatches(static_cast<const float *>(a), static_cast<const float *>(b), static_cast<float *>(c));
  else
    runBatches(static_cast<const double *>(a), static_cast<const double *>(b), static_cast<double *>(c));
}

template <typename Scalar>
void Contraction::runBatches(const Scalar *a, const Scalar *b, Scalar *c, size_t loop) const {
  if (loop == shape.batch.size())
    return multiply(a, b, c);
  const plan::BatchDim &dim = shape.batch[loop];
  for (int64_t i = 0; i < dim.extent(); ++i)
    runBatches(a + i * dim.stride_a(), b + i * dim.stride_b(), c + i * dim.stride_c(), loop + 1);
}

/// A sum of no products.
template <typename Scalar> static void multiplyEmpty(const plan::ContractT &shape, Scalar *c) {
  for (int64_t row = 0; row < shape.m && !shape.accumulate; ++row)
    std::fill_n(c + row * shape.ldc, shape.n, Scalar(0));
}

template <typename Scalar> void Contraction::multiply(const Scalar *a, const Scalar *b, Scalar *c) const {
  if (shape.k == 0)
    return multiplyEmpty(shape, c);
  Product<Scalar> product{shape.transpose_a,
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
  if constexpr (std::is_same_v<Scalar, float>)
    if (usesOneDnn)
      return OneDnn::get()->multiply(product);
  Blas::get().multiply(product);
}

} // namespace epl::runtime
