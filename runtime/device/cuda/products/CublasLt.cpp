#include "runtime/device/cuda/products/CublasLt.h"

#include "runtime/device/cuda/NvidiaLibrary.h"

namespace epl::runtime::cuda::blas {

const CublasLt *CublasLt::get() {
  return openNvidia<CublasLt>("cublasLt", "EPL_CUBLASLT", "libcublasLt.so.13",
                              [](const Library &library, CublasLt &functions) {
#define EPL_FIND(name) library.bind(#name, functions.name);
                                EPL_CUBLASLT_FUNCTIONS(EPL_FIND)
#undef EPL_FIND
                              });
}

} // namespace epl::runtime::cuda::blas
