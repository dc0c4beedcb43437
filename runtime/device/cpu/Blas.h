// OpenBLAS, loaded when the first plan needs it, and its matrix products. Lapack.h has its factorizations.
#ifndef EPL_RUNTIME_DEVICE_CPU_BLAS_H
#define EPL_RUNTIME_DEVICE_CPU_BLAS_H

#include "runtime/device/cpu/Library.h"
#include "runtime/device/cpu/Product.h"

#include <string>

namespace epl::runtime {

/// The OpenBLAS of the system, a build that is safe to call from several threads, with one thread of its own:
/// our lanes have the parallelism. It is loaded privately, so that a NumPy with an OpenBLAS of its own does
/// not meet it.
class Blas {
public:
  /// The library, loaded at the first call: from $EPL_OPENBLAS (a path), the one that is installed
  /// with the runtime or from where Debian installs libopenblas0-pthread. Throws Error if there is none.
  static const Blas &get();

  /// The kernels that OpenBLAS runs on this CPU, in its own words: SkylakeX, Haswell, ...
  std::string coreName() const { return coreNameFunction(); }

  /// For reports: "/usr/lib/libopenblas.so.0 (OpenBLAS 0.3.21 ..., SkylakeX)".
  std::string describe() const;

  /// Safe to call from several threads.
  void multiply(const Product<float> &product) const;
  void multiply(const Product<double> &product) const;

  /// Sets `function` to the library's function `symbol`. Throws Error if it has none.
  template <typename Function> void bind(const char *symbol, Function &function) const {
    library.bind(symbol, function);
  }

private:
  template <typename Scalar>
  using Gemm = void (*)(int order, int transA, int transB, int m, int n, int k, Scalar alpha, const Scalar *a,
                        int lda, const Scalar *b, int ldb, Scalar beta, Scalar *c, int ldc);

  Blas();

  Library library;
  char *(*coreNameFunction)();
  char *(*configFunction)();
  Gemm<float> sgemm;
  Gemm<double> dgemm;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_DEVICE_CPU_BLAS_H
