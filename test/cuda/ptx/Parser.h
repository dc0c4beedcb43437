//===- Parser.h - PTX text as a module --------------------------*- C++ -*-===//
#pragma once

#include "test/cuda/ptx/Lexer.h"
#include "test/cuda/ptx/Ptx.h"

namespace cuda_double {

/// Throws PtxError, which names the line, for whatever the machine would not run: a directive, an
/// instruction, a word of a mnemonic or a name that it does not know, functions and calls among them.
Module parse(const std::string &ptx);

} // namespace cuda_double
