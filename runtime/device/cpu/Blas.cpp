// OpenBLAS reads two settings while it loads. It chooses its kernels by a CPU table of its own, which halves
// the speed on CPUs newer than the table: we ask CPUID and tell it the answer. And it makes a thread for
// every core: our scheduler has the parallelism, so it gets one. The variables are put back afterwards:
// another OpenBLAS in this process, or a child process, must not see them.
//
// It must be a build for threads all the same. Debian's serial build shares its work buffers without a lock:
// calls from two threads now and then compute with each other's operands.
#include "runtime/device/cpu/Blas.h"

#include "runtime/Error.h"
#include "runtime/device/cpu/Features.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <limits>
#include <optional>

namespace epl::runtime {

namespace {

constexpr std::array kLibraryPaths = {
    "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0",
    "/usr/lib64/libopenblasp.so.0",
};

/// An environment variable that has another value while the object lives.
class ScopedVariable {
public:
  ScopedVariable(const char *name, const char *value) : name(name) {
    if (const char *current = std::getenv(name))
      before = current;
    setenv(name, value, 1);
  }
  ScopedVariable(const ScopedVariable &) = delete;
  ~ScopedVariable() {
    if (before)
      setenv(name, before->c_str(), 1);
    else
      unsetenv(name);
  }

private:
  const char *name;
  std::optional<std::string> before;
};

/// OpenBLAS's name of the kernels that suit this CPU; null leaves the choice to it.
const char *chooseCoreType() {
  return cpuSupports("avx512f") ? "SKYLAKEX" : cpuSupports("avx2") ? "HASWELL" : nullptr;
}

void *openLibrary() {
  ScopedVariable threads("OPENBLAS_NUM_THREADS", "1");
  std::optional<ScopedVariable> coreType;
  if (const char *name = chooseCoreType())
    coreType.emplace("OPENBLAS_CORETYPE", name);
  if (const char *path = std::getenv("EPL_OPENBLAS")) {
    if (void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL))
      return library;
    throw Error(std::string("cannot load the library that EPL_OPENBLAS names: ") + dlerror());
  }
  for (const char *path : kLibraryPaths)
    if (void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL))
      return library;
  throw Error("the plan's contractions need OpenBLAS: install Debian's package \"libopenblas0-pthread\", or "
              "name a libopenblas.so.0 in the environment variable EPL_OPENBLAS");
}

template <typename Function> void bind(void *library, const char *name, Function &function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function)
    throw Error(std::string("the OpenBLAS that was loaded has no function \"") + name + "\"");
}

// CBLAS's enumerators.
constexpr int kRowMajor = 101, kNoTranspose = 111, kTranspose = 112;

/// The matrices of one contraction; `run` walks its batch loops.
template <typename Scalar, typename Gemm> struct Contraction {
  const plan::ContractT &shape;
  Gemm gemm;

  void run(const Scalar *a, const Scalar *b, Scalar *c, size_t loop = 0) const {
    if (loop == shape.batch.size())
      return multiply(a, b, c);
    const plan::BatchDim &dim = shape.batch[loop];
    for (int64_t i = 0; i < dim.extent(); ++i)
      run(a + i * dim.stride_a(), b + i * dim.stride_b(), c + i * dim.stride_c(), loop + 1);
  }

  void multiply(const Scalar *a, const Scalar *b, Scalar *c) const {
    if (shape.k == 0)
      return multiplyEmpty(c);
    gemm(kRowMajor, shape.transpose_a ? kTranspose : kNoTranspose,
         shape.transpose_b ? kTranspose : kNoTranspose, int(shape.m), int(shape.n), int(shape.k), Scalar(1),
         a, int(shape.lda), b, int(shape.ldb), Scalar(shape.accumulate ? 1 : 0), c, int(shape.ldc));
  }

  /// A sum of no products.
  void multiplyEmpty(Scalar *c) const {
    for (int64_t row = 0; row < shape.m && !shape.accumulate; ++row)
      std::fill_n(c + row * shape.ldc, shape.n, Scalar(0));
  }
};

} // namespace

Blas::Blas() {
  void *library = openLibrary();
  int (*getParallel)() = nullptr;
  bind(library, "openblas_get_parallel", getParallel);
  if (getParallel() == 0)
    throw Error("the OpenBLAS that was loaded is built for one thread only and is not safe to call from "
                "several, expected a build for threads such as Debian's \"libopenblas0-pthread\"");
  bind(library, "openblas_get_corename", coreNameFunction);
  bind(library, "cblas_sgemm", sgemm);
  bind(library, "cblas_dgemm", dgemm);
}

const Blas &Blas::get() {
  static const Blas blas;
  return blas;
}

void Blas::check(const plan::ContractT &contract) {
  int64_t largest = std::max({contract.m, contract.n, contract.k, contract.lda, contract.ldb, contract.ldc});
  if (largest > std::numeric_limits<int>::max())
    throw Error("a contraction of the plan has an extent of " + std::to_string(largest) +
                " elements, more than the library's 32-bit indices reach");
}

void Blas::run(const plan::ContractT &contract, const void *a, const void *b, void *c) const {
  if (contract.m == 0 || contract.n == 0)
    return;
  if (contract.type == plan::ElementType::f32)
    Contraction<float, Gemm<float>>{contract, sgemm}.run(
        static_cast<const float *>(a), static_cast<const float *>(b), static_cast<float *>(c));
  else
    Contraction<double, Gemm<double>>{contract, dgemm}.run(
        static_cast<const double *>(a), static_cast<const double *>(b), static_cast<double *>(c));
}

} // namespace epl::runtime
