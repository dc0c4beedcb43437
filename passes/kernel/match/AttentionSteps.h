//===- AttentionSteps.h - What stands beside the products of attention -*- C++ -*-===//
#pragma once

#include "passes/kernel/match/AttentionProducts.h"

namespace mlir::epl {

/// Whether a kernel gives each element of its input on in 16 bits, and does nothing else.
bool isRounding(KernelOp kernel);

/// For each dimension of the result of a kernel that only reorders its input: the steps along it in the
/// result and in the input, and its extent; nothing if the kernel does something else.
std::optional<SmallVector<std::array<int64_t, 3>>> matchReordering(KernelOp kernel);

/// How the result of a kernel lies that adds up, over the heads of a group, a tensor of keys that has one for
/// each head of q and lies as said; nothing if the kernel does something else.
std::optional<AttentionLayout> matchGroupSum(KernelOp kernel, const AttentionLayout &layout,
                                             const AttentionPairs &pairs, int64_t width);

} // namespace mlir::epl
