#include "runtime/plan/format/Quoted.h"

namespace epl::runtime {

std::string quoted(const std::string &text) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string result = "\"";
  for (char c : text) {
    unsigned char byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      result += {'\\', 'x', digits[byte / 16], digits[byte % 16]};
      continue;
    }
    if (c == '"' || c == '\\')
      result += '\\';
    result += c;
  }
  return result + '"';
}

} // namespace epl::runtime
