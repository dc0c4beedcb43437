//===- Floats.h - Types of floats in kernels of the stand-ins ------*- C++ -*-===//
#pragma once

using Bits16 = unsigned short;
using Bits32 = unsigned int;

struct BFloat16 {
  Bits16 bits;
};
/// An f32 of which 10 bits of mantissa count, to the nearest.
struct Tf32 {
  Bits32 bits;
};
inline float widen(Tf32 value) { return __builtin_bit_cast(float, (value.bits + 0x1000) & ~Bits32(0x1fff)); }
inline float widen(BFloat16 value) { return __builtin_bit_cast(float, Bits32(value.bits) << 16); }
inline float widen(_Float16 value) { return float(value); }
inline float widen(float value) { return value; }
inline double widen(double value) { return value; }

inline void store(double &to, double value) { to = value; }
inline void store(float &to, float value) { to = value; }
inline void store(_Float16 &to, float value) { to = _Float16(value); }
/// To the nearest, ties to even; NaN stays NaN.
inline void store(BFloat16 &to, float value) {
  Bits32 bits = __builtin_bit_cast(Bits32, value);
  bool isNan = (bits & 0x7fffffff) > 0x7f800000;
  to.bits = Bits16(isNan ? (bits >> 16) | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline long threadNumber() {
  return long(__nvvm_read_ptx_sreg_ctaid_x()) * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x();
}
inline long threadCount() { return long(__nvvm_read_ptx_sreg_nctaid_x()) * __nvvm_read_ptx_sreg_ntid_x(); }
