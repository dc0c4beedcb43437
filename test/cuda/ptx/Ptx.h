//===- Ptx.h - PTX as a machine runs it -------------------------*- C++ -*-===//
//
// A module of PTX text, parsed (Parser.h): its kernels as lists of instructions whose operands are numbers of
// registers, and its variables. It is the subset that LLVM's NVPTX back end emits for kernels without calls.
// Reference: NVIDIA, "Parallel Thread Execution ISA", version 9.0. Sections are named as there.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cuda_double {

/// Where an address points. A generic one may point to global, shared or local memory.
enum class Space : uint8_t { generic, global, shared, local, param, constant };

/// A fundamental type (5.2): `u32` is {unsignedInt, 4}, `bf16x2` is {bfloat, 2, 2}.
struct Type {
  enum Kind : uint8_t { none, predicate, bits, unsignedInt, signedInt, floating, bfloat } kind = none;
  uint8_t elementBytes = 0;
  uint8_t elements = 1;

  unsigned bytes() const { return elementBytes * elements; }
  bool isSigned() const { return kind == signedInt; }
  bool isFloat() const { return kind == floating || kind == bfloat; }
  bool isInteger() const { return kind == bits || kind == unsignedInt || kind == signedInt; }
  bool isPacked() const { return elements > 1; }
  /// The type of one element of a packed one.
  Type element() const { return {kind, elementBytes}; }
  bool operator==(const Type &) const = default;
};

/// The type that a mnemonic calls `name`, such as "f32"; nothing if there is none.
std::optional<Type> parseType(const std::string &name);

enum class Opcode : uint8_t {
#define OPCODE(name, mnemonic, ...) name,
#include "test/cuda/ptx/Opcodes.def"
};

enum class Comparison : uint8_t { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };
enum class Rounding : uint8_t { none, nearestEven, zero, down, up, nearestAway };
/// Which part of a product an integer multiplication gives.
enum class Half : uint8_t { none, low, high, wide };
enum class Combine : uint8_t { none, andOf, orOf, xorOf };
enum class Atomic : uint8_t {
  none,
  add,
  min,
  max,
  exchange,
  compareAndSwap,
  andOf,
  orOf,
  xorOf,
  increment,
  decrement
};
enum class Shuffle : uint8_t { none, up, down, butterfly, index };
enum class Vote : uint8_t { none, all, any, uniform, ballot };
enum class Test : uint8_t { none, finite, infinite, number, notANumber, normal, subnormal };

/// What the words behind the dots of a mnemonic say.
struct Modifiers {
  Comparison comparison = Comparison::eq;
  Combine combine = Combine::none; ///< setp, with a predicate
  Rounding rounding = Rounding::none;
  bool toInteger = false; ///< cvt.rni and the like: round to an integer value
  Half half = Half::none;
  Atomic atomic = Atomic::none;
  Shuffle shuffle = Shuffle::none;
  Vote vote = Vote::none;
  Test test = Test::none;
  bool carryOut = false; ///< .cc
  bool saturate = false; ///< .sat
  bool flush = false;    ///< .ftz: subnormal operands and results are zero
  bool keepNan = false;  ///< .NaN: min and max give NaN if one operand is
  bool wrap = false;     ///< shf.wrap: the amount modulo 32; else at most 32
  bool left = false;     ///< shf.l
  bool relu = false;     ///< .relu: what is negative becomes 0
  bool toSpace = false;  ///< cvta.to
  bool ofWarp = false;   ///< bar.warp
};

struct Operand {
  enum Kind : uint8_t { none, registerOf, immediate, special, address, vector, label, sink } kind = none;
  bool negated = false; ///< `!%p`
  int number = -1;      ///< of the register; of an address: of its base, or -1; of a special register
  int second = -1;      ///< the predicate of `%r|%p`, or -1
  uint64_t value = 0;   ///< of an immediate; what an address adds to its base; the instruction of a label
  std::vector<Operand> items = {}; ///< of a vector
};

/// Special registers (10), in this order.
enum class Special : uint8_t {
  threadX,
  threadY,
  threadZ,
  threadsX,
  threadsY,
  threadsZ,
  blockX,
  blockY,
  blockZ,
  blocksX,
  blocksY,
  blocksZ,
  lane,
  warp,
  warpSize,
  laneMaskLess,
  laneMaskLessEqual,
  laneMaskEqual,
  laneMaskGreaterEqual,
  laneMaskGreater
};

struct Instruction {
  Opcode opcode;
  std::string text;  ///< the mnemonic, for messages
  unsigned line = 0; ///< of the PTX, from 1
  Type type, source; ///< the first and the second type of the mnemonic
  Space space = Space::generic;
  unsigned vector = 1; ///< how many elements an access has
  Modifiers modifiers;
  int guard = -1; ///< the predicate that it is executed under, or -1
  bool guardNegated = false;
  std::vector<Operand> operands;
};

struct Parameter {
  std::string name;
  unsigned bytes, align, offset;
};

/// A kernel.
struct Entry {
  std::string name;
  std::vector<Parameter> parameters;
  unsigned parameterBytes = 0, sharedBytes = 0, localBytes = 0;
  /// .maxntid or .reqntid, as said; 0 where nothing is.
  unsigned maxThreads[3] = {0, 0, 0}, requiredThreads[3] = {0, 0, 0};
  std::vector<Instruction> code; ///< ends with `exit`
  std::vector<std::string> registers;
};

/// A variable of the module in global or constant memory.
struct Variable {
  std::vector<uint8_t> initial;
  unsigned align;
  bool isConstant;
  uint64_t address = 0; ///< where it is: an address of the host, of memory that lives as long as the module
};

struct Module {
  std::string version, target;
  std::map<std::string, Entry> entries;
  std::map<std::string, Variable> variables;
  std::vector<std::shared_ptr<void>> memory; ///< of the variables
};

} // namespace cuda_double
