// The contractions of a plan, bound to a library.
#ifndef EPL_RUNTIME_DEVICE_CPU_CONTRACTION_H
#define EPL_RUNTIME_DEVICE_CPU_CONTRACTION_H

#include "runtime/plan/plan_generated.h"

namespace epl::runtime {

/// A contraction: batch loops around products of matrices. Products run on oneDNN where it is installed and
/// ahead (f32, not small), else on OpenBLAS.
class Contraction {
public:
  /// Chooses the library and loads it. `shape` must outlive the contraction. Throws Error if there is no
  /// library, or if an extent is beyond the 32 bits of its interface.
  explicit Contraction(const plan::ContractT &shape);

  /// c = op(a) op(b) (+ c), over all batches. Pointers are to elements of `shape.type`. Safe to call from
  /// several threads. Throws Error if the library fails.
  void run(const void *a, const void *b, void *c) const;

  /// The library's name.
  const char *library() const { return usesOneDnn ? "oneDNN" : "OpenBLAS"; }

private:
  template <typename Scalar>
  void runBatches(const Scalar *a, const Scalar *b, Scalar *c, size_t loop = 0) const;
  template <typename Scalar> void multiply(const Scalar *a, const Scalar *b, Scalar *c) const;

  const plan::ContractT &shape;
  bool usesOneDnn;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_DEVICE_CPU_CONTRACTION_H
