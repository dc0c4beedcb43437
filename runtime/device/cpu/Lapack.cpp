#include "runtime/device/cpu/Lapack.h"

#include "runtime/device/cpu/Blas.h"

#include <string>

namespace epl::runtime {

/// Binds the routines whose names begin with `type`: s or d.
template <typename Scalar> static Lapack<Scalar> bindRoutines(char type) {
  Lapack<Scalar> lapack;
  auto bind = [type](const char *name, auto &routine) {
    Blas::get().bind((type + std::string(name) + "_").c_str(), routine);
  };
  bind("potrf", lapack.potrf);
  bind("getrf", lapack.getrf);
  bind("gelqf", lapack.gelqf);
  bind("orglq", lapack.orglq);
  bind("syevd", lapack.syevd);
  bind("gesdd", lapack.gesdd);
  bind("trsm", lapack.trsm);
  return lapack;
}

template <> const Lapack<float> &Lapack<float>::get() {
  static const Lapack lapack = bindRoutines<float>('s');
  return lapack;
}

template <> const Lapack<double> &Lapack<double>::get() {
  static const Lapack lapack = bindRoutines<double>('d');
  return lapack;
}

} // namespace epl::runtime
