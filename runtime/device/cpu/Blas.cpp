// OpenBLAS reads two settings while it loads. It chooses its kernels by a CPU table of its own, which halves
// the speed on CPUs newer than the table: we ask CPUID and tell it the answer. And it makes a thread for
// every core: our scheduler has the parallelism, so it gets one.
//
// It must be a build for threads all the same. Debian's serial build shares its work buffers without a lock:
// calls from two threads now and then compute with each other's operands.
#include "runtime/device/cpu/Blas.h"

#include "runtime/Error.h"
#include "runtime/device/cpu/Features.h"
#include "runtime/device/cpu/Library.h"

#include <array>

namespace epl::runtime {

namespace {

constexpr std::array kLibraryPaths = {
    "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0",
    "/usr/lib64/libopenblasp.so.0",
};

/// OpenBLAS's name of the kernels that suit this CPU.
const char *chooseCoreType() {
  if (cpuSupports("avx512f") && cpuSupports("avx512vl"))
    return "SKYLAKEX";
  if (cpuSupports("avx2") && cpuSupports("fma"))
    return "HASWELL";
  return cpuSupports("avx") ? "SANDYBRIDGE" : cpuSupports("sse4.2") ? "NEHALEM" : "PRESCOTT";
}

Library openLibrary() {
  ScopedVariable threads("OPENBLAS_NUM_THREADS", "1");
  ScopedVariable coreType("OPENBLAS_CORETYPE", chooseCoreType());
  if (std::optional<Library> library =
          Library::find("OpenBLAS", "EPL_OPENBLAS", "libepl_openblas.so", kLibraryPaths))
    return *library;
  throw Error(
      "the plan's products or factorizations need OpenBLAS: install the whole wheel of epl, which has "
      "one, or Debian's package \"libopenblas0-pthread\", or name a libopenblas.so.0 in the environment "
      "variable EPL_OPENBLAS");
}

// CBLAS's enumerators.
constexpr int kRowMajor = 101, kNoTranspose = 111, kTranspose = 112;

template <typename Scalar, typename Gemm> void multiplyWith(Gemm gemm, const Product<Scalar> &p) {
  gemm(kRowMajor, p.transposeA ? kTranspose : kNoTranspose, p.transposeB ? kTranspose : kNoTranspose,
       int(p.m), int(p.n), int(p.k), Scalar(1), p.a, int(p.lda), p.b, int(p.ldb),
       Scalar(p.accumulate ? 1 : 0), p.c, int(p.ldc));
}

} // namespace

Blas::Blas() : library(openLibrary()) {
  int (*getParallel)() = nullptr;
  library.bind("openblas_get_parallel", getParallel);
  if (getParallel() == 0)
    throw Error("the OpenBLAS that was loaded is built for one thread only and is not safe to call from "
                "several, expected a build for threads such as Debian's \"libopenblas0-pthread\"");
  library.bind("openblas_get_corename", coreNameFunction);
  library.bind("openblas_get_config", configFunction);
  library.bind("cblas_sgemm", sgemm);
  library.bind("cblas_dgemm", dgemm);
}

const Blas &Blas::get() {
  static const Blas blas;
  return blas;
}

std::string Blas::describe() const {
  return library.path() + " (" + configFunction() + ", " + coreName() + ")";
}

void Blas::multiply(const Product<float> &product) const { multiplyWith(sgemm, product); }
void Blas::multiply(const Product<double> &product) const { multiplyWith(dgemm, product); }

} // namespace epl::runtime
