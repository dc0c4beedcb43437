//===- Epilogues.h - What a library does behind a product -----------*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"

namespace mlir::epl {

/// A kernel's result is activation(product + bias): `product` and `bias` are the numbers of its inputs, the
/// bias is optional.
///
/// | activation | of x |
/// |------------|------|
/// | none       | x |
/// | relu       | max(x, 0) |
/// | gelu       | x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), as `jax.nn.gelu` has it |
///
/// The library does not say whether its ReLU keeps NaN. XLA uses it for the same maximum.
struct Epilogue {
  unsigned product;
  std::optional<unsigned> bias;
  Activation activation;
  int64_t columns; ///< elements of the bias, which are for the last ones of each row; 1 without one
};

/// What a kernel of kind fusion is, if it is nothing but an epilogue.
std::optional<Epilogue> matchEpilogue(KernelOp kernel);

/// Whether the library has the epilogue for a product: it starts from zero, is of f32, bf16 or f16 and as its
/// operands, and elements of a column have the same of the bias.
bool suits(const Epilogue &epilogue, KernelOp product);

} // namespace mlir::epl
