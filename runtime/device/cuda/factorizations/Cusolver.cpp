#include "runtime/device/cuda/factorizations/Cusolver.h"

#include "runtime/device/cpu/Library.h"

#include <optional>

namespace epl::runtime::cuda::solver {

#define EPL_FIND(name) library->bind(#name, functions.name);

// Where the loader finds them; where CUDA's toolkit puts them.
static std::optional<Cusolver> openCusolver() {
  static const char *const kPaths[] = {"libcusolver.so.12", "/usr/local/cuda/lib64/libcusolver.so.12"};
  std::optional<Library> library = Library::find("cuSOLVER", "EPL_CUSOLVER", "libcusolver.so.12", kPaths);
  if (!library)
    return std::nullopt;
  Cusolver functions;
  EPL_CUSOLVER_FUNCTIONS(EPL_FIND)
  return functions;
}

static std::optional<Cublas> openCublas() {
  static const char *const kPaths[] = {"libcublas.so.13", "/usr/local/cuda/lib64/libcublas.so.13"};
  std::optional<Library> library = Library::find("cuBLAS", "EPL_CUBLAS", "libcublas.so.13", kPaths);
  if (!library)
    return std::nullopt;
  Cublas functions;
  EPL_CUBLAS_FUNCTIONS(EPL_FIND)
  return functions;
}

#undef EPL_FIND

const Cusolver *Cusolver::get() {
  static const std::optional<Cusolver> library = openCusolver();
  return library ? &*library : nullptr;
}

const Cublas *Cublas::get() {
  static const std::optional<Cublas> library = openCublas();
  return library ? &*library : nullptr;
}

} // namespace epl::runtime::cuda::solver
