// The LAPACK in OpenBLAS, bound when the first plan needs it.
#ifndef EPL_RUNTIME_DEVICE_CPU_LAPACK_H
#define EPL_RUNTIME_DEVICE_CPU_LAPACK_H

#include <cstddef>

namespace epl::runtime {

/// Routines for one element type, float or double, by their Fortran interface: everything by address,
/// matrices in columns, the lengths of strings last. What they compute: LAPACK Users' Guide, and
/// netlib.org/lapack by their names. Safe to call from several threads.
template <typename Scalar> struct Lapack {
  using Int = const int *;
  using Option = const char *;

  /// Bound at the first call. Throws Error if there is no OpenBLAS, or one without LAPACK.
  static const Lapack &get();

  void (*potrf)(Option triangle, Int n, Scalar *a, Int lda, int *info, size_t);
  void (*getrf)(Int m, Int n, Scalar *a, Int lda, int *pivots, int *info);
  void (*gelqf)(Int m, Int n, Scalar *a, Int lda, Scalar *tau, Scalar *work, Int lwork, int *info);
  void (*orglq)(Int m, Int n, Int k, Scalar *a, Int lda, const Scalar *tau, Scalar *work, Int lwork,
                int *info);
  void (*syevd)(Option job, Option triangle, Int n, Scalar *a, Int lda, Scalar *w, Scalar *work, Int lwork,
                int *iwork, Int liwork, int *info, size_t, size_t);
  void (*gesdd)(Option job, Int m, Int n, Scalar *a, Int lda, Scalar *s, Scalar *u, Int ldu, Scalar *vt,
                Int ldvt, Scalar *work, Int lwork, int *iwork, int *info, size_t);
  void (*trsm)(Option side, Option triangle, Option transpose, Option diagonal, Int m, Int n,
               const Scalar *alpha, const Scalar *a, Int lda, Scalar *b, Int ldb, size_t, size_t, size_t,
               size_t);
};

template <> const Lapack<float> &Lapack<float>::get();
template <> const Lapack<double> &Lapack<double>::get();

} // namespace epl::runtime

#endif // EPL_RUNTIME_DEVICE_CPU_LAPACK_H
