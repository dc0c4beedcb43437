// Quantities as people read them: three digits and a unit.
#ifndef EPL_TOOLS_EPL_PLAN_UNITS_H
#define EPL_TOOLS_EPL_PLAN_UNITS_H

#include <string>

namespace epl::runtime::tool {

std::string numberText(double value);     // 31.9
std::string bytesText(double bytes);      // 512 B, 1.05 MB (10^6 bytes)
std::string flopsText(double flops);      // 33.6 MF
std::string timeText(double nanoseconds); // 113 us
std::string percentText(double share);    // 27.1 % of 0.271

} // namespace epl::runtime::tool

#endif // EPL_TOOLS_EPL_PLAN_UNITS_H
