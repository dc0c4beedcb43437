// How devices are written: the one parser for the tools, the runtime and Python.

#ifndef EPL_RUNTIME_PLAN_MODEL_DEVICES_H
#define EPL_RUNTIME_PLAN_MODEL_DEVICES_H

#include <cstdint>
#include <string>

namespace epl::runtime {

/// As many devices as a plan may be for.
inline constexpr uint32_t maxDevices = 1024;

/// What a device string such as "cpu:4" or "cpu:2x4" names. Devices are numbered node after node.
struct Devices {
  std::string kind;
  uint32_t count;
  uint32_t nodes = 1; ///< each has count / nodes devices

  /// Takes "cpu:N", "cpu:WxG" (W nodes of G devices each), and both without "cpu:"; also in capital letters,
  /// and with spaces round the kind and the count. Throws Error for all else, and unless there are from 1 to
  /// maxDevices devices.
  static Devices parse(const std::string &text);

  /// The full form: "cpu:N", or "cpu:WxG" for several nodes.
  std::string str() const;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_DEVICES_H
