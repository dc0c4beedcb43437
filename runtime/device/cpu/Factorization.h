// The factorizations of a plan, bound to LAPACK.
#ifndef EPL_RUNTIME_DEVICE_CPU_FACTORIZATION_H
#define EPL_RUNTIME_DEVICE_CPU_FACTORIZATION_H

#include "runtime/plan/format/plan_generated.h"

#include <cstdint>
#include <vector>

namespace epl::runtime {

/// A factorization of matrices that lie in rows, one behind the other. Results are those of JAX on a CPU,
/// signs of vectors included: NaN where LAPACK finds no result, and of the eigenvalues and singular values of
/// a matrix with an element that is not finite, of which LAPACK may never come to an end.
class Factorization {
public:
  /// Binds LAPACK. `shape`, which the verifier accepted, must outlive the factorization. Throws Error if
  /// there is no LAPACK.
  explicit Factorization(const plan::FactorizationT &shape);

  /// Factors matrices [begin, end). `buffers` are the inputs, the results and the workspace, if any, of
  /// runtime/plan/model/Factorizations.h. Safe to call from several threads with a workspace of each.
  void run(void *const *buffers, int64_t begin, int64_t end) const;

private:
  const plan::FactorizationT &shape;
  std::vector<uint64_t> sizes; // bytes of each operand and result of one matrix
  bool hasWorkspace;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_DEVICE_CPU_FACTORIZATION_H
