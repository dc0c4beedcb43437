// The contractions of a plan, bound to a library.
#ifndef EPL_RUNTIME_DEVICE_CPU_CONTRACTION_H
#define EPL_RUNTIME_DEVICE_CPU_CONTRACTION_H

#include "runtime/plan/format/plan_generated.h"

namespace epl::runtime {

/// A contraction: batch loops around products of matrices. Products run on oneDNN where it is installed and
/// ahead (f32, not small; bf16 if the CPU multiplies that), else on OpenBLAS. 16-bit floats without a product
/// of their own are widened to f32.
class Contraction {
public:
  /// Chooses the library and loads it. `shape` must outlive the contraction. Throws Error if there is no
  /// library, or if an extent is beyond the 32 bits of its interface.
  explicit Contraction(const plan::ContractT &shape);

  /// c = op(a) op(b) (+ c), over all batches. Pointers are to elements of the types that `shape` names. Safe
  /// to call from several threads. Throws Error if the library fails.
  void run(const void *a, const void *b, void *c) const;

  /// The library's name.
  const char *library() const { return usesOneDnn ? "oneDNN" : "OpenBLAS"; }

private:
  template <typename Element, typename Result> void runBatches(const void *a, const void *b, void *c) const;
  template <typename Element, typename Result>
  void runLoop(const Element *a, const Element *b, Result *c, size_t loop) const;
  template <typename Element, typename Result>
  void multiply(const Element *a, const Element *b, Result *c) const;

  const plan::ContractT &shape;
  bool usesOneDnn;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_DEVICE_CPU_CONTRACTION_H
