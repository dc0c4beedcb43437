#include "Xml.h"

#include <algorithm>

namespace epl::runtime::tool {

/// The length of the well-formed UTF-8 sequence at the beginning of `text`, of a character that XML takes; 0
/// if there is none.
static size_t characterLength(std::string_view text) {
  auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  unsigned first = byte(0);
  if (first < 0x80)
    return first >= 0x20 && first != 0x7f;
  size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  unsigned code = first & (0xffU >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  static constexpr unsigned smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  bool surrogate = code >= 0xd800 && code < 0xe000, none = code == 0xfffe || code == 0xffff;
  return first < 0xc2 || code < smallest[length] || code > 0x10ffff || surrogate || none ? 0 : length;
}

std::string xml(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    size_t length = characterLength(text);
    std::string_view character = text.substr(0, std::max<size_t>(length, 1));
    if (character == "&" || character == "<" || character == ">")
      result += character == "&" ? "&amp;" : character == "<" ? "&lt;" : "&gt;";
    else if (character == "\n" || length > 0)
      result += character;
    else
      result += '?';
    text.remove_prefix(character.size());
  }
  return result;
}

} // namespace epl::runtime::tool
