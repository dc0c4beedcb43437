//===- FloatArithmetic.h - Floating-point instructions ----------*- C++ -*-===//
//
// What Arithmetic.cpp calls for floating-point types.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/cuda/machine/Value.h"

namespace cuda_double {

uint64_t computeFloat(const Instruction &instruction, uint64_t a, uint64_t b, uint64_t c);

/// From a floating-point type to any.
uint64_t convertFloat(const Instruction &instruction, uint64_t bits);

/// From an integer type to a floating-point one.
uint64_t convertInteger(const Instruction &instruction, uint64_t bits);

bool compareFloat(Comparison comparison, double a, double b);

} // namespace cuda_double
