// What a library of matrix products is asked for.
#ifndef EPL_RUNTIME_DEVICE_CPU_PRODUCT_H
#define EPL_RUNTIME_DEVICE_CPU_PRODUCT_H

#include <cstdint>

namespace epl::runtime {

/// c = op(a) op(b), or c += op(a) op(b): op(a) is m x k, op(b) k x n, c m x n. Matrices lie in rows, `ld*`
/// elements apart. No extent is 0, none is beyond 32 bits.
template <typename Element, typename Result = Element> struct Product {
  bool transposeA, transposeB, accumulate;
  int64_t m, n, k;
  const Element *a;
  int64_t lda;
  const Element *b;
  int64_t ldb;
  Result *c;
  int64_t ldc;
};

/// Runs a product on the library that is ahead for it. Safe to call from several threads. Throws Error if
/// there is no library, or if it fails.
void multiply(const Product<float> &product);
void multiply(const Product<double> &product);

} // namespace epl::runtime

#endif // EPL_RUNTIME_DEVICE_CPU_PRODUCT_H
