//===- Value.h - Bits of registers as numbers -------------------*- C++ -*-===//
//
// A register of any type is 64 bits here, of which its type uses the lowest.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/cuda/ptx/Ptx.h"

#include <bit>

namespace cuda_double {

/// The bits that a type has.
inline uint64_t truncate(uint64_t bits, Type type) {
  return type.bytes() >= 8 ? bits : bits & ((uint64_t(1) << (8 * type.bytes())) - 1);
}

inline int64_t extendSign(uint64_t bits, Type type) {
  unsigned unused = type.bytes() >= 8 ? 0 : 64 - 8 * type.bytes();
  return static_cast<int64_t>(bits << unused) >> unused;
}

/// What a register has after a load or a conversion to the type: signed integers are extended.
inline uint64_t extend(uint64_t bits, Type type) {
  return type.isSigned() ? static_cast<uint64_t>(extendSign(bits, type)) : truncate(bits, type);
}

/// A floating-point number; those of 16 and 32 bits are exact.
double toDouble(uint64_t bits, Type type);

/// The integer that a number is rounded to; nearest, ties to even, where nothing else is said.
double roundToInteger(double value, Rounding rounding);

/// The nearest number of the type, ties to even; with another rounding that one.
uint64_t fromDouble(double value, Type type, Rounding rounding = Rounding::nearestEven);

/// A number that rounds to what the exact sum x * y + z rounds to, to 16 bits: of x and y of 16 bits.
double multiplyAddToOdd(double x, double y, double z);

} // namespace cuda_double
