#include "runtime/device/cuda/products/CublasLt.h"

#include "runtime/device/cpu/Library.h"

#include <optional>

namespace epl::runtime::cuda::blas {

static std::optional<CublasLt> open() {
  // Where the loader finds it; where CUDA's toolkit puts it.
  static const char *const kPaths[] = {"libcublasLt.so.13", "/usr/local/cuda/lib64/libcublasLt.so.13"};
  std::optional<Library> library = Library::find("cublasLt", "EPL_CUBLASLT", "libcublasLt.so.13", kPaths);
  if (!library)
    return std::nullopt;
  CublasLt functions;
#define EPL_FIND(name) library->bind(#name, functions.name);
  EPL_CUBLASLT_FUNCTIONS(EPL_FIND)
#undef EPL_FIND
  return functions;
}

const CublasLt *CublasLt::get() {
  static const std::optional<CublasLt> library = open();
  return library ? &*library : nullptr;
}

} // namespace epl::runtime::cuda::blas
