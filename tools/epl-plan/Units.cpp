#include "Units.h"

#include <cstdio>
#include <span>

namespace epl::runtime::tool {

std::string numberText(double value) {
  char text[32];
  int decimals = value >= 99.95 || value == 0 ? 0 : value >= 9.995 ? 1 : 2;
  (void)std::snprintf(text, sizeof(text), "%.*f", decimals, value);
  return text;
}

/// `value` in the largest of the units, each 1000 times the one before it, in which it is at least 1.
static std::string scaled(double value, std::span<const char *const> units) {
  size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < units.size(); ++unit)
    value /= 1000;
  return numberText(value) + " " + units[unit];
}

/// The same of what is counted: below a thousand there are no fractions.
static std::string countText(double count, std::span<const char *const> units) {
  return count < 999.5 ? std::to_string(int(count)) + " " + units[0] : scaled(count, units);
}

std::string bytesText(double bytes) {
  static constexpr const char *units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  return countText(bytes, units);
}

std::string flopsText(double flops) {
  static constexpr const char *units[] = {"F", "kF", "MF", "GF", "TF", "PF"};
  return countText(flops, units);
}

std::string timeText(double nanoseconds) {
  static constexpr const char *units[] = {"ns", "us", "ms", "s"};
  return scaled(nanoseconds, units);
}

std::string percentText(double share) { return numberText(100 * share) + " %"; }

} // namespace epl::runtime::tool
