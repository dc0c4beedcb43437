//===- Arithmetic.h - What instructions compute -----------------*- C++ -*-===//
#pragma once

#include "test/cuda/machine/Value.h"

#include <stdexcept>

namespace cuda_double {

/// What an instruction is not known to do: "is not known with this type".
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The result of an instruction that computes one value of up to three others, carries and packed types
/// aside. Throws Unsupported, as all here do, for a type that is not known with the instruction.
uint64_t compute(const Instruction &instruction, uint64_t a, uint64_t b, uint64_t c);

/// The same of packed types, element by element.
uint64_t computePacked(const Instruction &instruction, uint64_t a, uint64_t b, uint64_t c);

/// A sum or a product and a sum with a carry, of 32 or 64 bits. `carry` is taken by those that take one and
/// written by those that say `.cc`.
uint64_t computeWithCarry(const Instruction &instruction, uint64_t a, uint64_t b, uint64_t c, bool &carry);

/// `cvt` of one value. Two that become a packed one: `convertPair`.
uint64_t convert(const Instruction &instruction, uint64_t bits);
uint64_t convertPair(const Instruction &instruction, uint64_t high, uint64_t low);

/// `setp` without what it is combined with.
bool compare(const Instruction &instruction, uint64_t a, uint64_t b);

/// `testp`.
bool testProperty(const Instruction &instruction, uint64_t bits);

/// What an atomic operation leaves in memory.
uint64_t computeAtomic(const Instruction &instruction, uint64_t old, uint64_t b, uint64_t c);

} // namespace cuda_double
