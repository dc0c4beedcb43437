//===- Nesting.cpp - Text that nests too deep for the parser --------------===//
//
// Problem: MLIR's parser is recursive without a limit.
// Method: one pass over the text with a stack of open brackets; strings and comments hold none. `<` and `>`
// are brackets as well as parts of `->` and `>=`: a closing bracket that matches no open one is ignored, and
// closes the `<` between itself and the one that it matches.
//
//===----------------------------------------------------------------------===//

#include "Nesting.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir::epl;
using llvm::StringRef;

namespace {

class Scanner {
public:
  Scanner(StringRef text, StringRef name) : text(text), name(name) {}

  std::optional<std::string> run();

private:
  /// An open bracket, and what its current element holds so far.
  struct Bracket {
    char opener;
    size_t words;
  };

  void open(char bracket);
  void close(char bracket);
  /// Counts a word or an operator. Lists in braces are ops or attributes, each parsed on its own.
  void countWord();
  /// The rest of a string, a comment or a word that begins at `position`.
  size_t findEnd() const;
  std::string describe(const llvm::Twine &problem, size_t at) const;

  StringRef text, name;
  size_t position = 0;
  std::vector<Bracket> brackets;
  size_t deepest = 0, longest = 0, tooDeepAt = StringRef::npos, tooLongAt = StringRef::npos;
};

} // namespace

static bool isWord(char c) { return llvm::isAlnum(c) || StringRef("_.$%#@!").contains(c); }

static char getOpener(char closer) {
  return closer == ')' ? '(' : closer == ']' ? '[' : closer == '}' ? '{' : '<';
}

size_t Scanner::findEnd() const {
  if (text.substr(position).starts_with("//"))
    return std::min(text.find('\n', position), text.size());
  if (isWord(text[position])) {
    StringRef word = text.substr(position).take_while(isWord);
    return position + word.size();
  }
  size_t end = position + 1;
  if (text[position] == '"')
    for (; end < text.size() && text[end] != '"' && text[end] != '\n'; ++end)
      end += text[end] == '\\';
  return text[position] == '"' ? std::min(end + 1, text.size()) : end;
}

void Scanner::open(char bracket) {
  brackets.push_back({bracket, 0});
  deepest = std::max(deepest, brackets.size());
  if (brackets.size() > kMaxNesting && tooDeepAt == StringRef::npos)
    tooDeepAt = position;
}

void Scanner::close(char bracket) {
  char opener = getOpener(bracket);
  size_t open = brackets.size();
  while (open > 0 && brackets[open - 1].opener == '<' && opener != '<')
    --open;
  if (open > 0 && brackets[open - 1].opener == opener)
    brackets.resize(open - 1);
}

void Scanner::countWord() {
  if (brackets.empty() || brackets.back().opener == '{')
    return;
  longest = std::max(longest, ++brackets.back().words);
  if (longest > kMaxWords && tooLongAt == StringRef::npos)
    tooLongAt = position;
}

std::string Scanner::describe(const llvm::Twine &problem, size_t at) const {
  StringRef before = text.take_front(at);
  size_t column = at - (before.rfind('\n') + 1) + 1; // npos + 1 is 0: the first line
  return (name + ":" + llvm::Twine(before.count('\n') + 1) + ":" + llvm::Twine(column) +
          ": error: " + problem)
      .str();
}

std::optional<std::string> Scanner::run() {
  for (size_t end; position < text.size(); position = end) {
    end = findEnd();
    char c = text[position];
    bool isArrow = c == '-' && text.substr(position).starts_with("->");
    if (StringRef("([{<").contains(c))
      open(c);
    else if (StringRef(")]}>").contains(c))
      close(c);
    else if (c == ',' && !brackets.empty())
      brackets.back().words = 0;
    else if (isArrow)
      ++end;
    else if (isWord(c) || StringRef("+-*").contains(c))
      countWord();
  }
  if (tooDeepAt != StringRef::npos)
    return describe("brackets nest " + llvm::Twine(deepest) + " deep, expected at most " +
                        llvm::Twine(kMaxNesting),
                    tooDeepAt);
  if (tooLongAt != StringRef::npos)
    return describe("an element of a list has " + llvm::Twine(longest) +
                        " words and operators, expected at most " + llvm::Twine(kMaxWords),
                    tooLongAt);
  return std::nullopt;
}

std::optional<std::string> mlir::epl::findDeepNesting(StringRef text, StringRef name) {
  return Scanner(text, name).run();
}
