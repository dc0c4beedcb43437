#include "runtime/plan/model/Devices.h"

#include "runtime/Error.h"

#include <algorithm>

namespace epl::runtime {

static bool isNumber(const std::string &text) {
  size_t first = text.starts_with('-');
  return text.size() > first && std::all_of(text.begin() + ptrdiff_t(first), text.end(),
                                            [](char c) { return '0' <= c && c <= '9'; });
}

/// The number in `text`, 0 if it is negative, maxDevices + 1 if it is more than that.
static uint32_t saturate(const std::string &text) {
  if (text.starts_with('-'))
    return 0;
  uint32_t count = 0;
  for (char digit : text)
    count = std::min(10 * count + uint32_t(digit - '0'), maxDevices + 1);
  return count;
}

/// Without spaces at the ends, in lower-case letters.
static std::string trim(const std::string &text) {
  constexpr const char *spaces = " \t\n\r";
  size_t first = text.find_first_not_of(spaces);
  if (first == std::string::npos)
    return "";
  std::string trimmed = text.substr(first, text.find_last_not_of(spaces) - first + 1);
  std::transform(trimmed.begin(), trimmed.end(), trimmed.begin(),
                 [](char c) { return 'A' <= c && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  return trimmed;
}

Devices Devices::parse(const std::string &text) {
  size_t colon = text.find(':');
  std::string kind = colon == std::string::npos ? "cpu" : trim(text.substr(0, colon));
  std::string count = trim(text.substr(colon + 1)); // npos + 1 is 0: a count alone
  for (const char *later : {"cuda", "gpu", "tpu"})
    if (kind == later || count == later)
      throw Error("devices must be \"cpu:N\" or a count, found \"" + text + "\", which is not supported yet");
  size_t times = count.find('x');
  std::string nodes = times == std::string::npos ? "1" : count.substr(0, times);
  std::string each = times == std::string::npos ? count : count.substr(times + 1);
  if (kind != "cpu" || !isNumber(nodes) || !isNumber(each))
    throw Error("devices must be \"cpu:N\" or a count, found \"" + text + "\"");
  Devices devices{kind, saturate(nodes) * saturate(each), saturate(nodes)};
  if (devices.count == 0)
    throw Error("at least one device is needed, found \"" + text + "\"");
  if (devices.count > maxDevices)
    throw Error("at most " + std::to_string(maxDevices) + " devices are supported, found \"" + text + "\"");
  return devices;
}

std::string Devices::str() const {
  std::string each = std::to_string(count / nodes);
  return kind + ":" + (nodes > 1 ? std::to_string(nodes) + "x" : "") + each;
}

} // namespace epl::runtime
