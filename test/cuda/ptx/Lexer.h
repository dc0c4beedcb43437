//===- Lexer.h - The words of PTX text --------------------------*- C++ -*-===//
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace cuda_double {

/// PTX that cannot be run: what is wrong with it, and in which line.
struct PtxError : std::runtime_error {
  PtxError(unsigned line, const std::string &what)
      : std::runtime_error("line " + std::to_string(line) + " of the PTX: " + what), line(line) {}
  unsigned line;
};

struct Token {
  std::string text;
  unsigned line;
};

/// Names with their dots (`ld.global.b32`, `%tid.x`), numbers, strings, and other characters one by one.
/// Comments are left out. The last one is empty: the end.
std::vector<Token> lex(const std::string &ptx);

} // namespace cuda_double
