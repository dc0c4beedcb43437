// Matrix products by oneDNN, where the system has it.
#ifndef EPL_RUNTIME_DEVICE_CPU_ONEDNN_H
#define EPL_RUNTIME_DEVICE_CPU_ONEDNN_H

#include "runtime/device/cpu/Library.h"
#include "runtime/device/cpu/NarrowFloats.h"
#include "runtime/device/cpu/Product.h"

namespace epl::runtime {

/// The oneDNN of the system, loaded privately. Its threads are OpenMP's: it gets none but the caller's, since
/// our lanes have the parallelism.
class OneDnn {
public:
  /// The library, loaded at the first call: from $EPL_ONEDNN (a path; empty for none) or from where Debian
  /// installs libdnnl2. Null if there is none. Throws Error if EPL_ONEDNN names one that cannot be loaded.
  static const OneDnn *get();

  /// The library if there is one and a product of f32 is big enough that it is ahead of OpenBLAS, whose calls
  /// start faster; else null.
  static const OneDnn *getIfAhead(int64_t m, int64_t n, int64_t k);

  /// Whether it has products of bf16. They are fast on CPUs with instructions for them, and slow on others.
  bool hasBFloat16() const { return gemmBFloat16; }

  /// For reports: "/usr/lib/x86_64-linux-gnu/libdnnl.so.2 (oneDNN 2.6.3)".
  std::string describe() const;

  /// Safe to call from several threads. Throws Error if the library gives up, for want of memory.
  void multiply(const Product<float> &product) const;
  void multiply(const Product<BFloat16, float> &product) const;

private:
  template <typename Element>
  using Gemm = int (*)(char transA, char transB, int64_t m, int64_t n, int64_t k, float alpha,
                       const Element *a, int64_t lda, const Element *b, int64_t ldb, float beta, float *c,
                       int64_t ldc);

  explicit OneDnn(const Library &library);
  template <typename Element>
  void multiplyBy(Gemm<Element> gemm, const Product<Element, float> &product) const;

  std::string description;
  Gemm<float> sgemm;
  Gemm<BFloat16> gemmBFloat16;
  int (*getNumThreads)();
  void (*setNumThreads)(int);
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_DEVICE_CPU_ONEDNN_H
