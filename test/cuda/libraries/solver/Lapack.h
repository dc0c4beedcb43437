//===- Lapack.h - What the stand-ins compute with ---------------*- C++ -*-===//
//
// LAPACK of the host, by its Fortran interface: beside what runtime/device/cpu/Lapack.h has, the routines
// that cuSOLVER has and CPU devices do not need.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cpu/Blas.h"
#include "runtime/device/cpu/Lapack.h"

#include <string>

namespace solver_double {

template <typename Scalar> struct MoreLapack {
  using Int = const int *;

  void (*geqrf)(Int m, Int n, Scalar *a, Int lda, Scalar *tau, Scalar *work, Int lwork, int *info);
  void (*orgqr)(Int m, Int n, Int k, Scalar *a, Int lda, const Scalar *tau, Scalar *work, Int lwork,
                int *info);
  void (*gesvd)(const char *jobU, const char *jobVt, Int m, Int n, Scalar *a, Int lda, Scalar *s, Scalar *u,
                Int ldu, Scalar *vt, Int ldvt, Scalar *work, Int lwork, int *info, size_t, size_t);

  static const MoreLapack &get() {
    static const MoreLapack bound = [] {
      MoreLapack made;
      auto bind = [](const char *name, auto &routine) {
        char type = sizeof(Scalar) == sizeof(double) ? 'd' : 's';
        epl::runtime::Blas::get().bind((type + std::string(name) + "_").c_str(), routine);
      };
      bind("geqrf", made.geqrf);
      bind("orgqr", made.orgqr);
      bind("gesvd", made.gesvd);
      return made;
    }();
    return bound;
  }
};

} // namespace solver_double
