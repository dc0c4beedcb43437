// Words of tables and reports.
#ifndef EPL_TOOLS_EPL_PLAN_COLUMNS_H
#define EPL_TOOLS_EPL_PLAN_COLUMNS_H

#include <string>

namespace epl::runtime::tool {

/// Of a report's lines, but for long names.
inline constexpr size_t kLineWidth = 100;

std::string right(const std::string &text, size_t width);

/// Shortened to `width`, if it is longer.
std::string left(const std::string &text, size_t width);

/// `text` in lines of up to `width` characters, if its words are no longer; each behind `indent` spaces.
std::string wrapped(const std::string &text, size_t indent, size_t width);

/// a / b, and 0 where nothing is to be divided by.
double ratio(double a, double b);

} // namespace epl::runtime::tool

#endif // EPL_TOOLS_EPL_PLAN_COLUMNS_H
