//===- StepFile.h - The text of a step --------------------------*- C++ -*-===//
#pragma once

#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>

namespace mlir::epl {

/// Reads a step, text or bytecode, from a file or, for "-", from standard input. Null, with an error on
/// standard error, if it cannot be read or nests too deep for the parser.
std::unique_ptr<llvm::MemoryBuffer> readStep(const std::string &name);

} // namespace mlir::epl
