// Products of matrices of 16-bit floats.
#ifndef EPL_RUNTIME_DEVICE_CPU_NARROWPRODUCT_H
#define EPL_RUNTIME_DEVICE_CPU_NARROWPRODUCT_H

#include "runtime/device/cpu/NarrowFloats.h"
#include "runtime/device/cpu/Product.h"

namespace epl::runtime {

/// Whether this CPU multiplies bf16 and a library here knows how to.
bool multipliesBFloat16();

/// Runs a product whose elements are summed in f32 and rounded once. `Element` is BFloat16 or _Float16,
/// `Result` the same or float. Safe to call from several threads: each has memory of its own for blocks in
/// f32, 12 MiB at most. Throws Error if there is no library, or if it fails.
template <typename Element, typename Result> void multiply(const Product<Element, Result> &product);

} // namespace epl::runtime

#endif // EPL_RUNTIME_DEVICE_CPU_NARROWPRODUCT_H
