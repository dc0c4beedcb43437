// How fast the devices of one process exchange values.
#ifndef EPL_TOOLS_EPL_PLAN_LINK_H
#define EPL_TOOLS_EPL_PLAN_LINK_H

#include <cstdint>

namespace epl::runtime::tool {

struct Link {
  double latencyNanoseconds; // that a collective of no bytes takes
  double gbps;               // 10^9 bytes a second that a device gets from the others
};

/// Runs all-reduces one after another on `devices` CPU devices (2 or more) of this process: of one element,
/// and of 4 MiB on each, which move twice that.
Link measureLink(uint32_t devices);

} // namespace epl::runtime::tool

#endif // EPL_TOOLS_EPL_PLAN_LINK_H
