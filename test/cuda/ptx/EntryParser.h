//===- EntryParser.h - One kernel of a PTX module ---------------*- C++ -*-===//
#pragma once

#include "test/cuda/ptx/Lexer.h"
#include "test/cuda/ptx/Ptx.h"

namespace cuda_double {

/// What a variable or a parameter is declared as.
struct Declaration {
  std::string name;
  Type type{Type::bits, 1};
  unsigned bytes = 0, align = 1, line = 0;
  bool isOpen = false; ///< `name[]`: as much as a launch says
};

/// The words of a module, one after another. All that fails throws PtxError.
class Tokens {
public:
  explicit Tokens(std::vector<Token> tokens) : tokens(std::move(tokens)) {}

  bool isEnd() const { return at + 1 >= tokens.size(); }
  const std::string &current() const { return tokens[at].text; }
  const std::string &following() const { return tokens[std::min(at + 1, tokens.size() - 1)].text; }
  unsigned line() const { return tokens[at].line; }

  std::string next();
  bool take(const char *text);
  void expect(const char *text);
  /// Leaves out the rest of the line of the last word.
  void skipLine();
  /// Leaves out all to the next `;`.
  void skipStatement();
  /// A number, of a floating-point one its bits.
  uint64_t number();
  /// Of a variable or a parameter, from its first `.` on.
  Declaration declaration();

private:
  std::vector<Token> tokens;
  size_t at = 0;
};

/// Variables of the module in shared memory: a kernel has those that it names.
using SharedVariables = std::map<std::string, Declaration>;

/// A kernel, from behind `.entry` on.
Entry parseEntry(Tokens &tokens, const Module &module, const SharedVariables &shared);

} // namespace cuda_double
