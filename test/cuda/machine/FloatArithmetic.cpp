//===- FloatArithmetic.cpp - Floating-point instructions ------------------===//

#include "test/cuda/machine/FloatArithmetic.h"

#include "test/cuda/machine/Arithmetic.h"

#include <cfenv>
#include <cmath>
#include <optional>

using namespace cuda_double;

namespace {
/// Rounds as an instruction says while it lives. What it computes with comes from `hide`, so that the
/// compiler cannot compute it beforehand.
class RoundingMode {
public:
  explicit RoundingMode(Rounding rounding) : before(std::fegetround()) {
    if (rounding == Rounding::none || rounding == Rounding::nearestEven)
      return;
    std::fesetround(rounding == Rounding::zero   ? FE_TOWARDZERO
                    : rounding == Rounding::down ? FE_DOWNWARD
                                                 : FE_UPWARD);
  }
  ~RoundingMode() { std::fesetround(before); }

private:
  int before;
};
} // namespace

template <typename Float> static Float hide(Float value) {
  volatile Float hidden = value;
  return hidden;
}

template <typename Float> static Float minimumOf(Float a, Float b, bool keepNan) {
  if (std::isnan(a) || std::isnan(b))
    return keepNan ? std::numeric_limits<Float>::quiet_NaN() : std::isnan(a) ? b : a;
  if (a == b)
    return std::signbit(a) ? a : b; // -0 is less than +0
  return a < b ? a : b;
}

template <typename Float> static Float maximumOf(Float a, Float b, bool keepNan) {
  if (std::isnan(a) || std::isnan(b))
    return keepNan ? std::numeric_limits<Float>::quiet_NaN() : std::isnan(a) ? b : a;
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

/// Of float and double, in the precision of the type.
template <typename Float> static Float computeAs(const Instruction &instruction, Float a, Float b, Float c) {
  const Modifiers &modifiers = instruction.modifiers;
  RoundingMode mode(modifiers.rounding);
  a = hide(a), b = hide(b), c = hide(c);
  switch (instruction.opcode) {
  case Opcode::add:
    return hide(a + b);
  case Opcode::subtract:
    return hide(a - b);
  case Opcode::multiply:
    return hide(a * b);
  case Opcode::fusedMultiplyAdd:
  case Opcode::multiplyAdd:
    return hide(std::fma(a, b, c));
  case Opcode::divide:
    return hide(a / b);
  case Opcode::negate:
    return -a;
  case Opcode::absolute:
    return std::fabs(a);
  case Opcode::minimum:
    return minimumOf(a, b, modifiers.keepNan);
  case Opcode::maximum:
    return maximumOf(a, b, modifiers.keepNan);
  case Opcode::reciprocal:
    return hide(1 / a);
  case Opcode::squareRoot:
    return hide(std::sqrt(a));
  case Opcode::reciprocalRoot:
    return hide(1 / std::sqrt(a));
  case Opcode::copySign:
    return std::copysign(b, a);
  default:
    throw Unsupported("is not known with this type");
  }
}

/// Functions that cards approximate, in single precision and some in half.
static std::optional<float> approximate(Opcode opcode, float a) {
  switch (opcode) {
  case Opcode::exponent2:
    return std::exp2(a);
  case Opcode::logarithm2:
    return std::log2(a);
  case Opcode::sine:
    return std::sin(a);
  case Opcode::cosine:
    return std::cos(a);
  case Opcode::hyperbolicTangent:
    return std::tanh(a);
  default:
    return std::nullopt;
  }
}

/// Of 16 bits: computed in double precision and rounded once, which gives the exact result's nearest.
static double computeHalf(const Instruction &instruction, double a, double b, double c) {
  if (instruction.opcode == Opcode::fusedMultiplyAdd)
    return multiplyAddToOdd(a, b, c);
  if (instruction.opcode == Opcode::multiplyAdd)
    throw Unsupported("is not known with this type");
  return computeAs(instruction, a, b, c);
}

static float flush(float value, bool flushes) {
  return flushes && std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0F, value) : value;
}

/// [0, 1], NaN to 0.
static double saturate(double value) { return value > 0 ? std::min(value, 1.0) : 0.0; }

uint64_t cuda_double::computeFloat(const Instruction &instruction, uint64_t a, uint64_t b, uint64_t c) {
  const Modifiers &modifiers = instruction.modifiers;
  Type type = instruction.type;
  auto at = [&](uint64_t bits) { return toDouble(bits, type); };
  auto read = [&](uint64_t bits) { return flush(static_cast<float>(at(bits)), modifiers.flush); };
  double result;
  if (std::optional<float> near =
          type.elementBytes <= 4 ? approximate(instruction.opcode, read(a)) : std::nullopt) {
    result = flush(*near, modifiers.flush);
  } else if (type.elementBytes == 4) {
    result = flush(computeAs(instruction, read(a), read(b), read(c)), modifiers.flush);
  } else if (type.elementBytes == 8) {
    result = computeAs(instruction, at(a), at(b), at(c));
  } else {
    result = computeHalf(instruction, at(a), at(b), at(c));
  }
  if (modifiers.saturate)
    result = saturate(result);
  if (modifiers.relu && result <= 0)
    result = 0;
  return fromDouble(result, type);
}

/// The nearest that an integer type has; of NaN 0, of 64 bits the least.
static uint64_t toInteger(double value, Type type) {
  unsigned bits = 8 * type.bytes();
  if (std::isnan(value))
    return bits == 64 ? uint64_t(1) << 63 : 0;
  if (type.isSigned()) {
    double limit = std::ldexp(1.0, static_cast<int>(bits) - 1);
    auto largest = static_cast<int64_t>((uint64_t(1) << (bits - 1)) - 1);
    int64_t nearest = value >= limit ? largest : value <= -limit ? -largest - 1 : static_cast<int64_t>(value);
    return truncate(static_cast<uint64_t>(nearest), type);
  }
  if (value >= std::ldexp(1.0, static_cast<int>(bits)))
    return truncate(~uint64_t(0), type);
  return value <= 0 ? 0 : static_cast<uint64_t>(value);
}

uint64_t cuda_double::convertFloat(const Instruction &instruction, uint64_t bits) {
  const Modifiers &modifiers = instruction.modifiers;
  Type to = instruction.type, from = instruction.source;
  double value = toDouble(bits, from);
  if (from.elementBytes == 4)
    value = flush(static_cast<float>(value), modifiers.flush);
  if (!to.isFloat())
    return toInteger(roundToInteger(value, modifiers.rounding), to);
  if (modifiers.toInteger)
    value = roundToInteger(value, modifiers.rounding);
  if (modifiers.saturate)
    value = saturate(value);
  if (modifiers.relu && value <= 0)
    value = 0;
  uint64_t made = fromDouble(value, to, modifiers.toInteger ? Rounding::nearestEven : modifiers.rounding);
  if (to.elementBytes != 4 || !modifiers.flush)
    return made;
  return fromDouble(flush(static_cast<float>(toDouble(made, to)), true), to);
}

/// Integers of 64 bits are rounded once, so not by way of double.
uint64_t cuda_double::convertInteger(const Instruction &instruction, uint64_t bits) {
  Type to = instruction.type, from = instruction.source;
  RoundingMode mode(instruction.modifiers.rounding);
  auto as = [&](auto value) -> uint64_t {
    if (to.elementBytes == 8)
      return std::bit_cast<uint64_t>(hide(static_cast<double>(hide(value))));
    if (to.elementBytes == 4)
      return std::bit_cast<uint32_t>(hide(static_cast<float>(hide(value))));
    return fromDouble(static_cast<double>(value), to, instruction.modifiers.rounding);
  };
  return from.isSigned() ? as(extendSign(bits, from)) : as(truncate(bits, from));
}

bool cuda_double::compareFloat(Comparison comparison, double a, double b) {
  bool isUnordered = std::isnan(a) || std::isnan(b);
  switch (comparison) {
  case Comparison::eq:
    return a == b;
  case Comparison::ne:
    return !isUnordered && a != b;
  case Comparison::lt:
    return a < b;
  case Comparison::le:
    return a <= b;
  case Comparison::gt:
    return a > b;
  case Comparison::ge:
    return a >= b;
  case Comparison::equ:
    return isUnordered || a == b;
  case Comparison::neu:
    return a != b;
  case Comparison::ltu:
    return isUnordered || a < b;
  case Comparison::leu:
    return isUnordered || a <= b;
  case Comparison::gtu:
    return isUnordered || a > b;
  case Comparison::geu:
    return isUnordered || a >= b;
  case Comparison::num:
    return !isUnordered;
  case Comparison::nan:
    return isUnordered;
  }
  return false;
}

bool cuda_double::testProperty(const Instruction &instruction, uint64_t bits) {
  double value = toDouble(bits, instruction.type);
  bool isSubnormal = instruction.type.elementBytes == 4
                         ? std::fpclassify(static_cast<float>(value)) == FP_SUBNORMAL
                         : std::fpclassify(value) == FP_SUBNORMAL;
  switch (instruction.modifiers.test) {
  case Test::finite:
    return std::isfinite(value);
  case Test::infinite:
    return std::isinf(value);
  case Test::number:
    return !std::isnan(value);
  case Test::notANumber:
    return std::isnan(value);
  case Test::normal:
    return std::isfinite(value) && value != 0 && !isSubnormal;
  case Test::subnormal:
    return isSubnormal;
  case Test::none:
    break;
  }
  throw Unsupported("says no property");
}
