// On an AVX-512 core of 2024 oneDNN 2.6 reaches 97 to 118 % of OpenBLAS 0.3.21 on the products of a
// perceptron with batches of 128 to 1024, and 1.2 to 7 times it where one extent is below 16; OpenBLAS is
// ahead on 64 x 64 x 64 and below.
#include "runtime/device/cpu/OneDnn.h"

#include "runtime/Error.h"
#include "runtime/device/cpu/Features.h"

#include <array>
#include <string>

namespace epl::runtime {

static constexpr std::array kLibraryPaths = {
    "/usr/lib/x86_64-linux-gnu/libdnnl.so.2",
    "/usr/lib64/libdnnl.so.2",
};

/// OpenMP's library, which comes along, would bind the loading thread to a core if the environment says so:
/// our workers would inherit that one core.
static std::optional<Library> openLibrary() {
  if (!cpuSupports("sse4.1")) // it has nothing for less
    return std::nullopt;
  ScopedVariable bind("OMP_PROC_BIND", "false"); // goes before GOMP_CPU_AFFINITY
  return Library::find("oneDNN", "EPL_ONEDNN", "libepl_dnnl.so", kLibraryPaths);
}

/// oneDNN's number of the instructions that it may use; it looks itself at what the CPU has.
static int chooseInstructions() {
  constexpr int kAll = 0, kSse41 = 0x1, kAvx = 0x3, kAvx2 = 0x7;
  if (cpuSupports("avx512f") && cpuSupports("avx512vl"))
    return kAll;
  return cpuSupports("avx2") ? kAvx2 : cpuSupports("avx") ? kAvx : kSse41;
}

static std::string describeLibrary(const Library &library) {
  struct Version {
    int major, minor, patch; // and more that is not ours
  };
  const Version *(*getVersion)() = nullptr;
  library.bind("dnnl_version", getVersion);
  const Version &version = *getVersion();
  return library.path() + " (oneDNN " + std::to_string(version.major) + "." + std::to_string(version.minor) +
         "." + std::to_string(version.patch) + ")";
}

OneDnn::OneDnn(const Library &library) : description(describeLibrary(library)) {
  int (*setMaxInstructions)(int) = nullptr;
  library.bind("dnnl_set_max_cpu_isa", setMaxInstructions);
  setMaxInstructions(chooseInstructions());
  library.bind("dnnl_sgemm", sgemm);
  library.bindIfThere("dnnl_gemm_bf16bf16f32", gemmBFloat16); // exported, in no header
  library.bind("omp_get_max_threads", getNumThreads);
  library.bind("omp_set_num_threads", setNumThreads);
}

const OneDnn *OneDnn::get() {
  static const std::optional<Library> library = openLibrary();
  static const std::optional<OneDnn> oneDnn = library ? std::optional(OneDnn(*library)) : std::nullopt;
  return oneDnn ? &*oneDnn : nullptr;
}

std::string OneDnn::describe() const { return description; }

const OneDnn *OneDnn::getIfAhead(int64_t m, int64_t n, int64_t k) {
  constexpr int64_t kFewestProducts = int64_t(1) << 19;
  return k > 0 && m * n >= kFewestProducts / k ? get() : nullptr;
}

template <typename Element>
void OneDnn::multiplyBy(Gemm<Element> gemm, const Product<Element, float> &p) const {
  int before = getNumThreads(); // a setting of the calling thread, which may be the user's
  setNumThreads(1);
  int status = gemm(p.transposeA ? 'T' : 'N', p.transposeB ? 'T' : 'N', p.m, p.n, p.k, 1, p.a, p.lda, p.b,
                    p.ldb, p.accumulate ? 1 : 0, p.c, p.ldc);
  setNumThreads(before);
  if (status != 0)
    throw Error("oneDNN could not multiply matrices of " + std::to_string(p.m) + " x " + std::to_string(p.k) +
                " and " + std::to_string(p.k) + " x " + std::to_string(p.n) + " (its status " +
                std::to_string(status) + ")");
}

void OneDnn::multiply(const Product<float> &product) const { multiplyBy(sgemm, product); }
void OneDnn::multiply(const Product<BFloat16, float> &product) const { multiplyBy(gemmBFloat16, product); }

} // namespace epl::runtime
