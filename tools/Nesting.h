//===- Nesting.h - Text that nests too deep for the parser ------*- C++ -*-===//
#pragma once

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace mlir::epl {

/// How deep brackets may nest, and how many words and operators one element of a bracketed list may have.
inline constexpr size_t kMaxNesting = 1000, kMaxWords = 10000;

/// How many words an alias may stand for once the aliases that it names are written out, and how many of
/// those may lie within each other.
inline constexpr size_t kMaxAliasWords = 100000, kMaxAliasDepth = 4000;

/// MLIR's parser calls itself for every bracket that opens and for every operator of an affine expression;
/// hostile text would overflow the stack. Walks over locations and types visit what aliases stand for: a few
/// that each name the one before twice would keep them for ever. Gives what exceeds the limits and where, as
/// an error for people: `name:line:column: error: ...`; nothing for text that can be parsed.
std::optional<std::string> findDeepNesting(llvm::StringRef text, llvm::StringRef name);

} // namespace mlir::epl
