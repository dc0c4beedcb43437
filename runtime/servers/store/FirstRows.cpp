#include "runtime/servers/store/FirstRows.h"

#include "runtime/device/cpu/NarrowFloats.h"

#include <Random123/philox.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numbers>

namespace epl::runtime::servers {
namespace {

constexpr double kUnit = 0x1p-53;
constexpr size_t kWords = 4; // of one counter
using Numbers = std::array<double, kWords>;

/// u of the elements from 4 * `block` on.
Numbers numbersOf(uint64_t seed, int64_t id, uint64_t block) {
  r123::Philox4x64::ctr_type counter = {{block + 1, uint64_t(id), 0, 0}};
  r123::Philox4x64::key_type key = {{seed, 0}};
  r123::Philox4x64::ctr_type words = r123::Philox4x64()(counter, key);
  Numbers result{};
  for (size_t i = 0; i < kWords; ++i)
    result[i] = double(words[i] >> 11) * kUnit;
  return result;
}

Numbers normal(const Numbers &u) {
  Numbers result{};
  for (size_t i = 0; i < kWords; i += 2) {
    double radius = std::sqrt(-2 * std::log(u[i] + kUnit)), angle = 2 * std::numbers::pi * u[i + 1];
    result[i] = radius * std::cos(angle), result[i + 1] = radius * std::sin(angle);
  }
  return result;
}

Numbers uniform(const Numbers &u) {
  Numbers result{};
  std::ranges::transform(u, result.begin(), [](double number) { return 2 * number - 1; });
  return result;
}

template <typename Float> void round(double number, Float &target) { target = Float(number); }
void round(double number, BFloat16 &target) { narrow(float(number), target); }

} // namespace

template <typename Float> void FirstRows::writeAs(int64_t id, Float *value) const {
  if (table.init == manifest::InitKind::zeros || table.init == manifest::InitKind::constant) {
    Float first{};
    round(table.init == manifest::InitKind::zeros ? 0 : table.scale, first);
    std::fill_n(value, table.dim, first);
    return;
  }
  for (uint64_t begin = 0; begin < table.dim; begin += kWords) {
    Numbers u = numbersOf(table.seed, id, begin / kWords);
    Numbers drawn = table.init == manifest::InitKind::normal ? normal(u) : uniform(u);
    for (uint64_t i = 0; i < std::min<uint64_t>(kWords, table.dim - begin); ++i)
      round(table.scale * drawn[i], value[begin + i]);
  }
}

void FirstRows::write(int64_t id, std::byte *value) const {
  switch (table.type) {
  case plan::ElementType::f16:
    return writeAs(id, reinterpret_cast<_Float16 *>(value));
  case plan::ElementType::bf16:
    return writeAs(id, reinterpret_cast<BFloat16 *>(value));
  case plan::ElementType::f32:
    return writeAs(id, reinterpret_cast<float *>(value));
  default:
    assert(table.type == plan::ElementType::f64 && "rows are floats");
    return writeAs(id, reinterpret_cast<double *>(value));
  }
}

} // namespace epl::runtime::servers
