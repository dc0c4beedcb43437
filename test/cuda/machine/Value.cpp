//===- Value.cpp - Bits of registers as numbers ---------------------------===//

#include "test/cuda/machine/Value.h"

#include <cmath>
#include <limits>

using namespace cuda_double;

/// How many bits of a significand and which least exponent a format has; its numbers are multiples of
/// 2^(exponent - digits + 1), or of the least one.
struct Format {
  int digits, leastExponent;
  double largest;
};

static Format getFormat(Type type) {
  if (type.kind == Type::bfloat)
    return {8, -126, std::ldexp(255.0, 120)};
  if (type.elementBytes == 2)
    return {11, -14, 65504};
  return {24, -126, std::numeric_limits<float>::max()};
}

static uint64_t encode(double value, Type type) {
  if (type.elementBytes == 8)
    return std::bit_cast<uint64_t>(value);
  if (type.kind == Type::bfloat)
    return std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16;
  if (type.elementBytes == 2)
    return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
  return std::bit_cast<uint32_t>(static_cast<float>(value));
}

double cuda_double::toDouble(uint64_t bits, Type type) {
  if (type.elementBytes == 8)
    return std::bit_cast<double>(bits);
  if (type.kind == Type::bfloat)
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  if (type.elementBytes == 2)
    return static_cast<double>(std::bit_cast<_Float16>(static_cast<uint16_t>(bits)));
  return std::bit_cast<float>(static_cast<uint32_t>(bits));
}

double cuda_double::roundToInteger(double value, Rounding rounding) {
  switch (rounding) {
  case Rounding::zero:
    return std::trunc(value);
  case Rounding::down:
    return std::floor(value);
  case Rounding::up:
    return std::ceil(value);
  case Rounding::nearestAway:
    return std::round(value);
  default:
    return std::nearbyint(value);
  }
}

uint64_t cuda_double::fromDouble(double value, Type type, Rounding rounding) {
  if (std::isnan(value)) // the one that instructions give
    return type.elementBytes == 2 ? 0x7fff : type.elementBytes == 4 ? 0x7fffffff : 0x7ff8000000000000;
  if (type.elementBytes == 8 || !std::isfinite(value) || value == 0)
    return encode(value, type);
  auto [digits, leastExponent, largest] = getFormat(type);
  int unit = std::max(std::ilogb(value), leastExponent) - digits + 1;
  double rounded = std::ldexp(roundToInteger(std::ldexp(value, -unit), rounding), unit);
  if (std::fabs(rounded) > largest) {
    bool staysFinite = rounding == Rounding::zero || (rounding == Rounding::down && value > 0) ||
                       (rounding == Rounding::up && value < 0);
    rounded = std::copysign(staysFinite ? largest : HUGE_VAL, value);
  }
  return encode(std::copysign(rounded, value), type);
}

double cuda_double::multiplyAddToOdd(double x, double y, double z) {
  double product = x * y, sum = product + z;
  if (!std::isfinite(sum))
    return sum;
  double other = sum - product;
  double lost = (product - (sum - other)) + (z - other);
  // A lost part makes the last bit odd, so that what is halfway looks no longer so.
  if (lost == 0 || (std::bit_cast<uint64_t>(sum) & 1) != 0)
    return sum;
  return std::nextafter(sum, lost > 0 ? HUGE_VAL : -HUGE_VAL);
}
