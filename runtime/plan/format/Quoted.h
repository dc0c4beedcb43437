// Text of users in messages.

#ifndef EPL_RUNTIME_PLAN_FORMAT_QUOTED_H
#define EPL_RUNTIME_PLAN_FORMAT_QUOTED_H

#include <string>

namespace epl::runtime {

/// `"text"`, with quotes, backslashes and control characters escaped.
std::string quoted(const std::string &text);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_FORMAT_QUOTED_H
