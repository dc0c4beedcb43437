// What a device can do at best, as two numbers.
#ifndef EPL_TOOLS_EPL_PLAN_MACHINE_H
#define EPL_TOOLS_EPL_PLAN_MACHINE_H

#include "runtime/plan/model/Cost.h"

#include <string>

namespace epl::runtime::tool {

/// A roofline: a command takes the longer of its arithmetic at the peak and its bytes at the bandwidth.
/// Reference: S. Williams, A. Waterman, D. Patterson, Roofline, 2009.
struct Machine {
  double gflops; // 10^9 operations a second, of one device
  double gbps;   // 10^9 bytes a second, read or written, of one device

  double computeNanoseconds(const Cost &cost) const { return double(cost.flops) / gflops; }
  double memoryNanoseconds(const Cost &cost) const { return double(cost.bytes) / gbps; }
  double nanoseconds(const Cost &cost) const {
    return std::max(computeNanoseconds(cost), memoryNanoseconds(cost));
  }
  bool isComputeBound(const Cost &cost) const { return computeNanoseconds(cost) >= memoryNanoseconds(cost); }
};

/// GF/s of this machine's library of contractions on one core (512x512x512 elements of `type`, a float, the
/// best of several).
double measureGflops(plan::ElementType type = plan::ElementType::f32);

/// GB/s at which one core copies memory that no cache holds, the best of several.
double measureGbps();

/// Nanoseconds that one core waits for memory that no cache holds, the best of several.
double measureLatencyNanoseconds();

} // namespace epl::runtime::tool

#endif // EPL_TOOLS_EPL_PLAN_MACHINE_H
