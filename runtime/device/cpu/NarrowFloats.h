// Floats of 16 bits in f32, in which they are computed.
#ifndef EPL_RUNTIME_DEVICE_CPU_NARROWFLOATS_H
#define EPL_RUNTIME_DEVICE_CPU_NARROWFLOATS_H

#include <bit>
#include <cstdint>

namespace epl::runtime {

// For what is compiled for several CPUs: it becomes part of each caller, and uses its instructions.
#define EPL_INLINE [[gnu::always_inline]] inline

/// A bf16 is the upper half of an f32.
struct BFloat16 {
  uint16_t bits;
};

EPL_INLINE float widen(BFloat16 value) { return std::bit_cast<float>(uint32_t(value.bits) << 16); }
EPL_INLINE float widen(_Float16 value) { return float(value); }

/// Rounds to nearest even; a NaN stays one, made quiet.
EPL_INLINE void narrow(float value, BFloat16 &result) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  uint32_t quiet = (bits >> 16) | 0x40;
  result.bits = uint16_t((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
}
EPL_INLINE void narrow(float value, _Float16 &result) { result = _Float16(value); }

} // namespace epl::runtime

#endif // EPL_RUNTIME_DEVICE_CPU_NARROWFLOATS_H
