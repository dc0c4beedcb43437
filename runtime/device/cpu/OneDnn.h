// Matrix products by oneDNN, where the system has it.
#ifndef EPL_RUNTIME_DEVICE_CPU_ONEDNN_H
#define EPL_RUNTIME_DEVICE_CPU_ONEDNN_H

#include "runtime/device/cpu/Library.h"
#include "runtime/device/cpu/Product.h"

namespace epl::runtime {

/// The oneDNN of the system, loaded privately. Its threads are OpenMP's: it gets none but the caller's, since
/// our lanes have the parallelism.
class OneDnn {
public:
  /// The library, loaded at the first call: from $EPL_ONEDNN (a path; empty for none) or from where Debian
  /// installs libdnnl2. Null if there is none. Throws Error if EPL_ONEDNN names one that cannot be loaded.
  static const OneDnn *get();

  /// Whether a product is big enough that oneDNN is ahead of OpenBLAS, whose calls start faster.
  static bool isAhead(int64_t m, int64_t n, int64_t k);

  /// Safe to call from several threads. Throws Error if the library gives up, for want of memory.
  void multiply(const Product<float> &product) const;

private:
  explicit OneDnn(const Library &library);

  int (*sgemm)(char transA, char transB, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
               int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
  int (*getNumThreads)();
  void (*setNumThreads)(int);
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_DEVICE_CPU_ONEDNN_H
