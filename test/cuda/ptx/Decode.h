//===- Decode.h - What a mnemonic says --------------------------*- C++ -*-===//
#pragma once

#include "test/cuda/ptx/Ptx.h"

namespace cuda_double {

/// Fills all of an instruction but its operands from `instruction.text`. Throws PtxError for an instruction,
/// a word or a combination of types that the machine does not know: nothing is passed over.
void decode(Instruction &instruction);

/// Throws PtxError if the operands of a decoded instruction do not fit it.
void checkOperands(const Instruction &instruction);

} // namespace cuda_double
