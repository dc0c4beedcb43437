#include "Columns.h"

#include <algorithm>
#include <sstream>

namespace epl::runtime::tool {

std::string right(const std::string &text, size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

std::string left(const std::string &text, size_t width) {
  return text.size() > width ? text.substr(0, width - 2) + ".."
                             : text + std::string(width - text.size(), ' ');
}

std::string wrapped(const std::string &text, size_t indent, size_t width) {
  std::string result, line;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!line.empty() && indent + line.size() + 1 + word.size() > width) {
      result += std::string(indent, ' ') + line + '\n';
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return result + std::string(indent, ' ') + line + '\n';
}

double ratio(double a, double b) { return b > 0 ? a / b : 0; }

} // namespace epl::runtime::tool
