#include "runtime/device/cpu/Features.h"

#include "runtime/Error.h"

#include <algorithm>
#include <cpuid.h>
#include <cstdlib>
#include <optional>
#include <span>

namespace epl::runtime {

namespace {

struct Feature {
  std::string_view name;
  bool (*isSupported)();
};

// The compiler's builtin takes literals only. It also asks whether the system saves the registers.
// clang-format off
#define EPL_FEATURE(name) {name, [] { return bool(__builtin_cpu_supports(name)); }}
constexpr Feature kFeatures[] = {
    EPL_FEATURE("adx"), EPL_FEATURE("aes"), EPL_FEATURE("amx-bf16"), EPL_FEATURE("amx-int8"),
    EPL_FEATURE("amx-tile"), EPL_FEATURE("avx"), EPL_FEATURE("avx2"), EPL_FEATURE("avx512bf16"),
    EPL_FEATURE("avx512bitalg"), EPL_FEATURE("avx512bw"), EPL_FEATURE("avx512cd"),
    EPL_FEATURE("avx512dq"), EPL_FEATURE("avx512f"), EPL_FEATURE("avx512fp16"), EPL_FEATURE("avx512ifma"),
    EPL_FEATURE("avx512vbmi"), EPL_FEATURE("avx512vbmi2"), EPL_FEATURE("avx512vl"),
    EPL_FEATURE("avx512vnni"), EPL_FEATURE("avx512vp2intersect"), EPL_FEATURE("avx512vpopcntdq"),
    EPL_FEATURE("avxvnni"), EPL_FEATURE("bmi"), EPL_FEATURE("bmi2"), EPL_FEATURE("cldemote"),
    EPL_FEATURE("clflushopt"), EPL_FEATURE("clwb"), EPL_FEATURE("clzero"), EPL_FEATURE("cmov"),
    EPL_FEATURE("f16c"), EPL_FEATURE("fma"), EPL_FEATURE("fma4"), EPL_FEATURE("fsgsbase"),
    EPL_FEATURE("gfni"), EPL_FEATURE("lwp"), EPL_FEATURE("lzcnt"), EPL_FEATURE("mmx"),
    EPL_FEATURE("movbe"), EPL_FEATURE("movdir64b"), EPL_FEATURE("movdiri"), EPL_FEATURE("mwaitx"),
    EPL_FEATURE("pclmul"), EPL_FEATURE("pku"), EPL_FEATURE("popcnt"), EPL_FEATURE("prfchw"),
    EPL_FEATURE("ptwrite"), EPL_FEATURE("rdpid"), EPL_FEATURE("rdrnd"), EPL_FEATURE("rdseed"),
    EPL_FEATURE("rtm"), EPL_FEATURE("serialize"), EPL_FEATURE("sha"), EPL_FEATURE("shstk"),
    EPL_FEATURE("sse"), EPL_FEATURE("sse2"), EPL_FEATURE("sse3"), EPL_FEATURE("sse4.1"),
    EPL_FEATURE("sse4.2"), EPL_FEATURE("sse4a"), EPL_FEATURE("ssse3"), EPL_FEATURE("tbm"),
    EPL_FEATURE("vaes"), EPL_FEATURE("vpclmulqdq"), EPL_FEATURE("waitpkg"), EPL_FEATURE("wbnoinvd"),
    EPL_FEATURE("xop"), EPL_FEATURE("xsave"), EPL_FEATURE("xsavec"), EPL_FEATURE("xsaveopt"),
    EPL_FEATURE("xsaves")};
#undef EPL_FEATURE
// clang-format on

/// Part of every x86-64 CPU that has run this far.
constexpr std::string_view kBaseline[] = {"64bit", "cx8", "fxsr", "x87", "sahf"};

/// The levels of the psABI and what each adds to the one before.
constexpr std::string_view kLevel1[] = {"cmov", "mmx", "sse", "sse2"};
constexpr std::string_view kLevel2[] = {"cx16", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"};
constexpr std::string_view kLevel3[] = {"avx", "avx2",  "bmi",   "bmi2", "f16c",
                                        "fma", "lzcnt", "movbe", "xsave"};
constexpr std::string_view kLevel4[] = {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"};
struct Level {
  std::string_view name;
  std::span<const std::string_view> adds;
};
constexpr Level kLevels[] = {
    {"x86-64", kLevel1}, {"x86-64-v2", kLevel2}, {"x86-64-v3", kLevel3}, {"x86-64-v4", kLevel4}};

bool isLevel(std::string_view name) {
  return std::ranges::find(kLevels, name, &Level::name) != std::end(kLevels);
}

/// The level that is set: at first what the environment names, which is read once.
std::optional<std::string> &limit() {
  static std::optional<std::string> level = []() -> std::optional<std::string> {
    const char *value = std::getenv("EPL_CPU");
    if (!value || *value == '\0' || std::string_view(value) == "host")
      return std::nullopt;
    if (!isLevel(value))
      throw Error("the environment variable EPL_CPU is \"" + std::string(value) +
                  "\", expected host, x86-64, x86-64-v2, x86-64-v3 or x86-64-v4");
    return value;
  }();
  return level;
}

std::string describeLimit() { return limit() ? "EPL_CPU=" + *limit() : "this CPU"; }

bool isHidden(std::string_view feature) {
  if (!limit())
    return false;
  for (const Level &level : kLevels) {
    if (std::ranges::find(level.adds, feature) != level.adds.end())
      return false;
    if (level.name == *limit())
      break;
  }
  return true;
}

} // namespace

bool cpuSupports(std::string_view feature) {
  if (feature == "crc32") // came with it
    feature = "sse4.2";
  if (std::ranges::find(kBaseline, feature) != std::end(kBaseline))
    return true;
  if (isHidden(feature))
    return false;
  if (feature == "cx16") {
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_CMPXCHG16B);
  }
  for (const Feature &known : kFeatures)
    if (known.name == feature)
      return known.isSupported();
  return false;
}

void limitCpu(const std::string &level) {
  if (!isLevel(level) || level > describeLevel())
    throw Error("\"" + level + "\" is no level of the CPU, which has " + describeLevel());
  limit() = level;
}

void checkCpuFeatures(const std::vector<std::string> &features) {
  std::string missing;
  for (const std::string &feature : features)
    if (!cpuSupports(feature))
      missing += (missing.empty() ? "\"" : ", \"") + feature + "\"";
  if (!missing.empty())
    throw Error("the plan's kernels need the CPU feature(s) " + missing + ", which " + describeLimit() +
                " lacks");
}

std::string describeCpu() {
  unsigned signature = 0, ebx, ecx, edx;
  __get_cpuid(1, &signature, &ebx, &ecx, &edx); // family, model, stepping
  std::string text = limit().value_or(std::to_string(signature));
  for (const Feature &feature : kFeatures)
    if (cpuSupports(feature.name))
      text += " " + std::string(feature.name);
  return text;
}

std::string describeLevel() {
  std::string level;
  for (const Level &next : kLevels) {
    if (!std::ranges::all_of(next.adds, cpuSupports))
      break;
    level = next.name;
  }
  return level;
}

} // namespace epl::runtime
