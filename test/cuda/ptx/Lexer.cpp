//===- Lexer.cpp - The words of PTX text ----------------------------------===//

#include "test/cuda/ptx/Lexer.h"

#include <algorithm>
#include <cctype>

using namespace cuda_double;

namespace {
class Lexer {
public:
  explicit Lexer(const std::string &text) : text(text) {}

  std::vector<Token> run() {
    while (skipBlanks(), at < text.size())
      take();
    tokens.push_back({"", line});
    return std::move(tokens);
  }

private:
  bool startsWith(const char *prefix) const { return text.compare(at, 2, prefix) == 0; }

  void skipTo(size_t end) {
    end = std::min(end, text.size());
    line += std::count(text.begin() + at, text.begin() + end, '\n');
    at = end;
  }

  void skipBlanks() {
    for (;;) {
      size_t begin = at;
      if (startsWith("//"))
        skipTo(text.find('\n', at));
      else if (startsWith("/*"))
        skipTo(std::min(text.find("*/", at), text.size() - 2) + 2);
      else if (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
        skipTo(at + 1);
      if (at == begin)
        return;
    }
  }

  /// `::` is part of a name: `shared::cta`.
  bool isInName() const {
    auto c = static_cast<unsigned char>(text[at]);
    return std::isalnum(c) || c == '_' || c == '$' || c == '%' || c == '.' || startsWith("::");
  }

  void take() {
    size_t begin = at;
    if (text[at] == '"') {
      size_t end = text.find('"', at + 1);
      if (end == std::string::npos)
        throw PtxError(line, "a string that does not end");
      at = end + 1;
    } else if (isInName()) {
      while (at < text.size() && isInName())
        at += startsWith("::") ? 2 : 1;
    } else {
      ++at;
    }
    tokens.push_back({text.substr(begin, at - begin), line});
  }

  const std::string &text;
  size_t at = 0;
  unsigned line = 1;
  std::vector<Token> tokens;
};
} // namespace

std::vector<Token> cuda_double::lex(const std::string &ptx) { return Lexer(ptx).run(); }
