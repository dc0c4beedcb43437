#include "runtime/device/cpu/Features.h"

#include "runtime/Error.h"

#include <algorithm>
#include <cpuid.h>
#include <sched.h>
#include <thread>

namespace epl::runtime {

bool cpuSupports(std::string_view feature) {
  // The compiler's builtin takes literals only. It also asks whether the system saves the registers.
#define EPL_CHECK(name)                                                                                      \
  if (feature == name)                                                                                       \
    return __builtin_cpu_supports(name);
  EPL_CHECK("adx")
  EPL_CHECK("aes")
  EPL_CHECK("amx-bf16")
  EPL_CHECK("amx-int8")
  EPL_CHECK("amx-tile") EPL_CHECK("avx") EPL_CHECK("avx2") EPL_CHECK("avx512bf16") EPL_CHECK("avx512bitalg")
      EPL_CHECK("avx512bw") EPL_CHECK("avx512cd") EPL_CHECK("avx512dq") EPL_CHECK("avx512f") EPL_CHECK(
          "avx512fp16") EPL_CHECK("avx512ifma") EPL_CHECK("avx512vbmi") EPL_CHECK("avx512vbmi2")
          EPL_CHECK("avx512vl") EPL_CHECK("avx512vnni") EPL_CHECK("avx512vp2intersect") EPL_CHECK(
              "avx512vpopcntdq") EPL_CHECK("avxvnni") EPL_CHECK("bmi") EPL_CHECK("bmi2") EPL_CHECK("cldemote")
              EPL_CHECK("clflushopt") EPL_CHECK("clwb") EPL_CHECK("clzero") EPL_CHECK("cmov") EPL_CHECK(
                  "f16c") EPL_CHECK("fma") EPL_CHECK("fma4") EPL_CHECK("fsgsbase") EPL_CHECK("gfni")
                  EPL_CHECK("lwp") EPL_CHECK("lzcnt") EPL_CHECK("mmx") EPL_CHECK("movbe") EPL_CHECK(
                      "movdir64b") EPL_CHECK("movdiri") EPL_CHECK("mwaitx") EPL_CHECK("pclmul")
                      EPL_CHECK("pku") EPL_CHECK("popcnt") EPL_CHECK("prfchw") EPL_CHECK("ptwrite")
                          EPL_CHECK("rdpid") EPL_CHECK("rdrnd") EPL_CHECK("rdseed") EPL_CHECK("rtm")
                              EPL_CHECK("serialize") EPL_CHECK("sha") EPL_CHECK("shstk") EPL_CHECK("sse")
                                  EPL_CHECK("sse2") EPL_CHECK("sse3") EPL_CHECK("sse4.1") EPL_CHECK("sse4.2")
                                      EPL_CHECK("sse4a") EPL_CHECK("ssse3") EPL_CHECK("tbm") EPL_CHECK("vaes")
                                          EPL_CHECK("vpclmulqdq") EPL_CHECK("waitpkg") EPL_CHECK("wbnoinvd")
                                              EPL_CHECK("xop") EPL_CHECK("xsave") EPL_CHECK("xsavec")
                                                  EPL_CHECK("xsaveopt") EPL_CHECK("xsaves")
#undef EPL_CHECK
                                                      if (feature ==
                                                          "crc32") return __builtin_cpu_supports("sse4.2");
  if (feature == "cx16") {
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_CMPXCHG16B);
  }
  // Part of every x86-64 CPU that has run this far.
  return feature == "64bit" || feature == "cx8" || feature == "fxsr" || feature == "x87" || feature == "sahf";
}

void checkCpuFeatures(const std::vector<std::string> &features) {
  std::string missing;
  for (const std::string &feature : features)
    if (!cpuSupports(feature))
      missing += (missing.empty() ? "\"" : ", \"") + feature + "\"";
  if (!missing.empty())
    throw Error("the plan's kernels need the CPU feature(s) " + missing + ", which this CPU lacks");
}

unsigned availableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

} // namespace epl::runtime
