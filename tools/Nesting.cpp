//===- Nesting.cpp - Text that nests too deep for the parser --------------===//
//
// Problem: MLIR's parser is recursive without a limit.
// Method: one pass over the text with a stack of open brackets; strings and comments hold none. `<` and `>`
// are brackets as well as parts of `->` and `>=`: a closing bracket that matches no open one is ignored, and
// closes the `<` between itself and the one that it matches. An alias names only aliases before it, so its
// size is known at its end: where a word stands outside of brackets that no `=`, `:` or `->` asks for.
//
//===----------------------------------------------------------------------===//

#include "tools/Nesting.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

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

  /// What an alias stands for, written out.
  struct Alias {
    size_t words = 0, depth = 0;
  };

  void open(char bracket);
  void close(char bracket);
  /// Counts a word or an operator. Lists in braces are ops or attributes, each parsed on its own.
  void countWord();
  /// Adds a word or a bracket to the alias that is defined; a word may begin or end a definition too.
  void visitAlias(StringRef word);
  void visit(StringRef token);
  /// The end of the string, comment, word, arrow or other character that begins at `position`.
  size_t findEnd() const;
  std::string describe(const llvm::Twine &problem, size_t at) const;

  StringRef text, name;
  size_t position = 0;
  std::vector<Bracket> brackets;
  size_t deepest = 0, longest = 0, tooDeepAt = StringRef::npos, tooLongAt = StringRef::npos;
  llvm::StringMap<Alias> aliases;
  Alias *alias = nullptr; // that is being defined
  bool asksForValue = false;
  size_t tooLargeAt = StringRef::npos;
  Alias tooLarge;
};

} // namespace

static bool isWord(char c) { return llvm::isAlnum(c) || StringRef("_.$%#@!").contains(c); }

static char getOpener(char closer) {
  return closer == ')' ? '(' : closer == ']' ? '[' : closer == '}' ? '{' : '<';
}

size_t Scanner::findEnd() const {
  if (text.substr(position).starts_with("//"))
    return std::min(text.find('\n', position), text.size());
  if (text.substr(position).starts_with("->"))
    return position + 2;
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

void Scanner::visitAlias(StringRef word) {
  bool isAlias = word.starts_with("#") || word.starts_with("!");
  if (brackets.empty() && !asksForValue) {
    bool isDefined = isAlias && text.substr(position + word.size()).ltrim().starts_with("=");
    alias = isDefined ? &aliases[word] : nullptr;
    return;
  }
  asksForValue = false;
  if (!alias)
    return;
  auto named = isAlias ? aliases.find(word) : aliases.end();
  bool isKnown = named != aliases.end() && &named->second != alias;
  alias->words = llvm::SaturatingAdd(alias->words, isKnown ? named->second.words : size_t(1));
  alias->depth = std::max(alias->depth, brackets.size() + (isKnown ? named->second.depth : 0));
  if ((alias->words > kMaxAliasWords || alias->depth > kMaxAliasDepth) && tooLargeAt == StringRef::npos) {
    tooLargeAt = position;
    tooLarge = *alias;
  }
}

std::string Scanner::describe(const llvm::Twine &problem, size_t at) const {
  StringRef before = text.take_front(at);
  size_t column = at - (before.rfind('\n') + 1) + 1; // npos + 1 is 0: the first line
  return (name + ":" + llvm::Twine(before.count('\n') + 1) + ":" + llvm::Twine(column) +
          ": error: " + problem)
      .str();
}

void Scanner::visit(StringRef token) {
  char c = token.front();
  if (StringRef("([{<").contains(c))
    open(c);
  else if (StringRef(")]}>").contains(c))
    close(c);
  else if (c == ',' && !brackets.empty())
    brackets.back().words = 0;
  else if (token != "->" && (isWord(c) || StringRef("+-*").contains(c)))
    countWord();

  if (isWord(c) || StringRef("\"([{<").contains(c))
    visitAlias(token);
  else if (brackets.empty() && (token == "->" || token == "=" || token == ":"))
    asksForValue = alias != nullptr;
}

std::optional<std::string> Scanner::run() {
  for (size_t end; position < text.size(); position = end) {
    end = findEnd();
    visit(text.slice(position, end));
  }
  if (tooDeepAt != StringRef::npos)
    return describe("brackets nest " + llvm::Twine(deepest) + " deep, expected at most " +
                        llvm::Twine(kMaxNesting),
                    tooDeepAt);
  if (tooLongAt != StringRef::npos)
    return describe("an element of a list has " + llvm::Twine(longest) +
                        " words and operators, expected at most " + llvm::Twine(kMaxWords),
                    tooLongAt);
  if (tooLargeAt != StringRef::npos)
    return describe("an alias stands for " + llvm::Twine(tooLarge.words) + " words, " +
                        llvm::Twine(tooLarge.depth) + " deep, expected at most " +
                        llvm::Twine(kMaxAliasWords) + " and " + llvm::Twine(kMaxAliasDepth),
                    tooLargeAt);
  return std::nullopt;
}

std::optional<std::string> mlir::epl::findDeepNesting(StringRef text, StringRef name) {
  return Scanner(text, name).run();
}
