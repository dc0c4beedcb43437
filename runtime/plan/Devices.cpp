#include "runtime/plan/Devices.h"

#include "runtime/Error.h"

#include <algorithm>

namespace epl::runtime {

static bool isNumber(const std::string &text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return '0' <= c && c <= '9'; });
}

/// The number in `text`, or maxDevices + 1 if it is more than that.
static uint32_t saturate(const std::string &text) {
  uint32_t count = 0;
  for (char digit : text)
    count = std::min(10 * count + uint32_t(digit - '0'), maxDevices + 1);
  return count;
}

Devices Devices::parse(const std::string &text) {
  size_t colon = text.find(':');
  std::string kind = colon == std::string::npos ? "cpu" : text.substr(0, colon);
  std::string count = text.substr(colon + 1); // npos + 1 is 0: a count alone
  for (const char *later : {"cuda", "gpu", "tpu"})
    if (kind == later || text == later)
      throw Error("devices must be \"cpu:N\" or a count, found \"" + text + "\", which is not supported yet");
  bool isNegative = count.starts_with('-');
  if (kind != "cpu" || !isNumber(count.substr(isNegative)))
    throw Error("devices must be \"cpu:N\" or a count, found \"" + text + "\"");
  Devices devices{kind, saturate(count.substr(isNegative))};
  if (isNegative || devices.count == 0)
    throw Error("at least one device is needed, found \"" + text + "\"");
  if (devices.count > maxDevices)
    throw Error("at most " + std::to_string(maxDevices) + " devices are supported, found \"" + text + "\"");
  return devices;
}

} // namespace epl::runtime
