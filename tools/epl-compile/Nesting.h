//===- Nesting.h - Text that nests too deep for the parser ------*- C++ -*-===//
#pragma once

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace mlir::epl {

/// How deep brackets may nest, and how many words and operators one element of a bracketed list may have.
inline constexpr size_t kMaxNesting = 1000, kMaxWords = 10000;

/// MLIR's parser calls itself for every bracket that opens and for every operator of an affine expression;
/// hostile text would overflow the stack. Gives what exceeds the limits and where, as an error for people:
/// `name:line:column: error: ...`; nothing for text that can be parsed.
std::optional<std::string> findDeepNesting(llvm::StringRef text, llvm::StringRef name);

} // namespace mlir::epl
