#include "runtime/device/cuda/factorizations/Cusolver.h"

#include "runtime/device/cuda/NvidiaLibrary.h"

namespace epl::runtime::cuda::solver {

#define EPL_FIND(name) library.bind(#name, functions.name);

const Cusolver *Cusolver::get() {
  return openNvidia<Cusolver>(
      "cuSOLVER", "EPL_CUSOLVER", "libcusolver.so.12",
      [](const Library &library, Cusolver &functions) { EPL_CUSOLVER_FUNCTIONS(EPL_FIND) });
}

const Cublas *Cublas::get() {
  return openNvidia<Cublas>("cuBLAS", "EPL_CUBLAS", "libcublas.so.13",
                            [](const Library &library, Cublas &functions) { EPL_CUBLAS_FUNCTIONS(EPL_FIND) });
}

#undef EPL_FIND

} // namespace epl::runtime::cuda::solver
