// How devices are written: the one parser for the tools, the runtime and Python.

#ifndef EPL_RUNTIME_PLAN_DEVICES_H
#define EPL_RUNTIME_PLAN_DEVICES_H

#include <cstdint>
#include <string>

namespace epl::runtime {

/// As many devices as a plan may be for.
inline constexpr uint32_t maxDevices = 1024;

/// What a device string such as "cpu:4" names.
struct Devices {
  std::string kind;
  uint32_t count;

  /// Takes "cpu:N" and a count N. Throws Error for all else, and unless N is from 1 to maxDevices.
  static Devices parse(const std::string &text);

  /// The full form, "cpu:N".
  std::string str() const { return kind + ":" + std::to_string(count); }
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_DEVICES_H
