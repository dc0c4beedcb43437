// Texts of several parts, for messages.

#ifndef EPL_RUNTIME_SERVERS_LOGIC_TEXT_H
#define EPL_RUNTIME_SERVERS_LOGIC_TEXT_H

#include <sstream>
#include <string>

namespace epl::runtime::servers {

template <typename... Parts> std::string textOf(const Parts &...parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_LOGIC_TEXT_H
