//===- Arithmetic.cpp - What instructions compute -------------------------===//

#include "test/cuda/machine/Arithmetic.h"

#include "test/cuda/machine/FloatArithmetic.h"

#include <algorithm>

using namespace cuda_double;

using Wide = unsigned __int128;
using SignedWide = __int128;

static uint64_t multiply(const Instruction &instruction, uint64_t a, uint64_t b, uint64_t c) {
  Type type = instruction.type;
  unsigned bits = 8 * type.bytes();
  Wide product = type.isSigned()
                     ? static_cast<Wide>(static_cast<SignedWide>(extendSign(a, type)) * extendSign(b, type))
                     : static_cast<Wide>(truncate(a, type)) * truncate(b, type);
  uint64_t addend = instruction.opcode == Opcode::multiplyAdd ? c : 0;
  switch (instruction.modifiers.half) {
  case Half::wide:
    return truncate(static_cast<uint64_t>(product) + addend,
                    Type{Type::bits, static_cast<uint8_t>(2 * type.bytes())});
  case Half::high:
    return truncate(static_cast<uint64_t>(product >> bits) + addend, type);
  case Half::low:
    return truncate(static_cast<uint64_t>(product) + addend, type);
  case Half::none:
    break;
  }
  throw Unsupported("says no part of the product");
}

/// Division by zero gives all ones, as on the card; PTX says nothing of it.
static uint64_t divide(Type type, uint64_t a, uint64_t b) {
  if (truncate(b, type) == 0)
    return truncate(~uint64_t(0), type);
  if (!type.isSigned())
    return truncate(a, type) / truncate(b, type);
  int64_t divisor = extendSign(b, type);
  return truncate(divisor == -1 ? -a : static_cast<uint64_t>(extendSign(a, type) / divisor), type);
}

static uint64_t remainderOf(Type type, uint64_t a, uint64_t b) {
  if (truncate(b, type) == 0)
    return truncate(a, type);
  if (!type.isSigned())
    return truncate(a, type) % truncate(b, type);
  int64_t divisor = extendSign(b, type);
  return truncate(divisor == -1 ? 0 : static_cast<uint64_t>(extendSign(a, type) % divisor), type);
}

/// Amounts beyond the width give what shifting one by one would.
static uint64_t shiftRight(Type type, uint64_t bits, uint64_t by) {
  unsigned width = 8 * type.bytes(), amount = std::min<uint64_t>(truncate(by, {Type::bits, 4}), width);
  if (type.isSigned())
    return truncate(static_cast<uint64_t>(extendSign(bits, type) >> std::min(amount, 63U)), type);
  return amount >= width ? 0 : truncate(bits, type) >> amount;
}

static uint64_t shiftLeft(Type type, uint64_t bits, uint64_t by) {
  uint64_t amount = truncate(by, {Type::bits, 4});
  return amount >= 8 * type.bytes() ? 0 : truncate(bits << amount, type);
}

/// b and a, one behind the other, are shifted; of a left shift the upper half, of a right one the lower.
static uint64_t funnelShift(const Modifiers &modifiers, uint64_t a, uint64_t b, uint64_t by) {
  auto amount = static_cast<uint32_t>(by);
  amount = modifiers.wrap ? amount % 32 : std::min(amount, 32U);
  uint64_t both = b << 32 | static_cast<uint32_t>(a);
  return static_cast<uint32_t>(modifiers.left ? both << amount >> 32 : both >> amount);
}

/// Bits [position, position + length); what lies beyond the type has its sign.
static uint64_t extractBits(Type type, uint64_t bits, uint64_t position, uint64_t length) {
  unsigned width = 8 * type.bytes();
  unsigned begin = position & 255, size = length & 255;
  auto bitAt = [&](unsigned at) { return truncate(bits, type) >> std::min(at, width - 1) & 1; };
  unsigned last = std::min(begin + size - 1, width - 1);
  uint64_t sign = type.isSigned() && size != 0 ? bitAt(last) : 0;
  uint64_t result = 0;
  for (unsigned i = 0; i < width; ++i)
    result |= (i < size && begin + i < width ? bitAt(begin + i) : sign) << i;
  return result;
}

/// Each byte of the result is one of eight, or its sign.
static uint64_t permuteBytes(uint64_t a, uint64_t b, uint64_t selectors) {
  uint64_t bytes = b << 32 | static_cast<uint32_t>(a), result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    unsigned selector = selectors >> (4 * i) & 15;
    uint64_t byte = bytes >> (8 * (selector & 7)) & 255;
    if ((selector & 8) != 0)
      byte = (byte & 128) != 0 ? 255 : 0;
    result |= byte << (8 * i);
  }
  return result;
}

static uint64_t reverseBits(Type type, uint64_t bits) {
  unsigned width = 8 * type.bytes();
  uint64_t result = 0;
  for (unsigned i = 0; i < width; ++i)
    result |= (bits >> i & 1) << (width - 1 - i);
  return result;
}

static uint64_t saturatedSum(Type type, int64_t sum) {
  int64_t largest = (int64_t(1) << (8 * type.bytes() - 1)) - 1;
  return truncate(static_cast<uint64_t>(std::clamp(sum, -largest - 1, largest)), type);
}

static uint64_t computeInteger(const Instruction &instruction, uint64_t a, uint64_t b, uint64_t c) {
  Type type = instruction.type;
  bool isSigned = type.isSigned();
  bool less = isSigned ? extendSign(a, type) < extendSign(b, type) : truncate(a, type) < truncate(b, type);
  switch (instruction.opcode) {
  case Opcode::add:
    if (instruction.modifiers.saturate)
      return saturatedSum(type, extendSign(a, type) + extendSign(b, type));
    return truncate(a + b, type);
  case Opcode::subtract:
    if (instruction.modifiers.saturate)
      return saturatedSum(type, extendSign(a, type) - extendSign(b, type));
    return truncate(a - b, type);
  case Opcode::multiply:
  case Opcode::multiplyAdd:
    return multiply(instruction, a, b, c);
  case Opcode::divide:
    return divide(type, a, b);
  case Opcode::remainder:
    return remainderOf(type, a, b);
  case Opcode::negate:
    return truncate(-a, type);
  case Opcode::absolute:
    return truncate(extendSign(a, type) < 0 ? -a : a, type);
  case Opcode::minimum:
    return truncate(less ? a : b, type);
  case Opcode::maximum:
    return truncate(less ? b : a, type);
  case Opcode::shiftLeft:
    return shiftLeft(type, a, b);
  case Opcode::shiftRight:
    return shiftRight(type, a, b);
  default:
    throw Unsupported("is not known with this type");
  }
}

/// Of types that are bits, whatever they are called.
static uint64_t computeBits(const Instruction &instruction, uint64_t a, uint64_t b, uint64_t c) {
  Type type = instruction.type;
  switch (instruction.opcode) {
  case Opcode::andOf:
    return truncate(a & b, type);
  case Opcode::orOf:
    return truncate(a | b, type);
  case Opcode::xorOf:
    return truncate(a ^ b, type);
  case Opcode::notOf:
    return type.kind == Type::predicate ? ~a & 1 : truncate(~a, type);
  case Opcode::funnelShift:
    return funnelShift(instruction.modifiers, a, b, c);
  case Opcode::extractBits:
    return extractBits(type, a, b, c);
  case Opcode::permuteBytes:
    return permuteBytes(a, b, c);
  case Opcode::leadingZeros:
    return std::countl_zero(truncate(a, type)) - (64 - 8 * type.bytes());
  case Opcode::populationCount:
    return std::popcount(truncate(a, type));
  case Opcode::reverseBits:
    return reverseBits(type, a);
  default:
    return computeInteger(instruction, a, b, c);
  }
}

uint64_t cuda_double::compute(const Instruction &instruction, uint64_t a, uint64_t b, uint64_t c) {
  return instruction.type.isFloat() ? computeFloat(instruction, a, b, c) : computeBits(instruction, a, b, c);
}

uint64_t cuda_double::computePacked(const Instruction &instruction, uint64_t a, uint64_t b, uint64_t c) {
  Instruction single = instruction;
  single.type = instruction.type.element();
  unsigned bits = 8 * single.type.bytes();
  uint64_t result = 0;
  for (unsigned i = 0; i < instruction.type.elements; ++i)
    result |= compute(single, truncate(a >> (bits * i), single.type), truncate(b >> (bits * i), single.type),
                      truncate(c >> (bits * i), single.type))
              << (bits * i);
  return result;
}

uint64_t cuda_double::computeWithCarry(const Instruction &instruction, uint64_t a, uint64_t b, uint64_t c,
                                       bool &carry) {
  Type type = instruction.type;
  unsigned bits = 8 * type.bytes();
  Opcode opcode = instruction.opcode;
  bool takes =
      opcode == Opcode::addCarry || opcode == Opcode::subtractCarry || opcode == Opcode::multiplyAddCarry;
  Wide left = truncate(a, type), right = truncate(b, type), in = takes && carry ? 1 : 0, result;
  if (opcode == Opcode::subtract || opcode == Opcode::subtractCarry) {
    result = left - right - in; // a borrow is the carry
  } else if (opcode == Opcode::multiplyAdd || opcode == Opcode::multiplyAddCarry) {
    Wide product = left * right;
    if (type.isSigned())
      product = static_cast<Wide>(static_cast<SignedWide>(extendSign(a, type)) * extendSign(b, type));
    Wide part = instruction.modifiers.half == Half::high ? product >> bits : product;
    result = static_cast<Wide>(truncate(static_cast<uint64_t>(part), type)) + truncate(c, type) + in;
  } else {
    result = left + right + in;
  }
  if (instruction.modifiers.carryOut)
    carry = (result >> bits & 1) != 0;
  return truncate(static_cast<uint64_t>(result), type);
}

// A register that is wider than an integer gets its sign, too.
uint64_t cuda_double::convert(const Instruction &instruction, uint64_t bits) {
  Type to = instruction.type, from = instruction.source;
  if (from.isFloat())
    return to.isFloat() ? convertFloat(instruction, bits) : extend(convertFloat(instruction, bits), to);
  if (to.isFloat())
    return convertInteger(instruction, bits);
  uint64_t value = extend(bits, from);
  if (instruction.modifiers.saturate && from.isSigned() && to.isSigned())
    return extend(saturatedSum(to, static_cast<int64_t>(value)), to);
  if (instruction.modifiers.saturate)
    throw Unsupported("is not known with these types");
  return extend(value, to);
}

uint64_t cuda_double::convertPair(const Instruction &instruction, uint64_t high, uint64_t low) {
  Instruction single = instruction;
  single.type = instruction.type.element();
  return convert(single, high) << (8 * single.type.bytes()) | convert(single, low);
}

bool cuda_double::compare(const Instruction &instruction, uint64_t a, uint64_t b) {
  Type type = instruction.type;
  Comparison comparison = instruction.modifiers.comparison;
  if (type.isFloat()) {
    // Subnormal operands are zero where the instruction says so.
    auto read = [&](uint64_t bits) {
      double value = toDouble(bits, type);
      bool isSubnormal = type.elementBytes == 4 && (bits & 0x7f800000) == 0;
      return instruction.modifiers.flush && isSubnormal ? 0.0 : value;
    };
    return compareFloat(comparison, read(a), read(b));
  }
  auto holds = [&](auto left, auto right) {
    switch (comparison) {
    case Comparison::eq:
      return left == right;
    case Comparison::ne:
      return left != right;
    case Comparison::lt:
      return left < right;
    case Comparison::le:
      return left <= right;
    case Comparison::gt:
      return left > right;
    case Comparison::ge:
      return left >= right;
    default:
      throw Unsupported("is not known with this type");
    }
  };
  return type.isSigned() ? holds(extendSign(a, type), extendSign(b, type))
                         : holds(truncate(a, type), truncate(b, type));
}

uint64_t cuda_double::computeAtomic(const Instruction &instruction, uint64_t old, uint64_t b, uint64_t c) {
  Type type = instruction.type;
  auto with = [&](Opcode opcode) {
    Instruction plain = instruction;
    plain.opcode = opcode;
    return type.isPacked() ? computePacked(plain, old, b, 0) : compute(plain, old, b, 0);
  };
  switch (instruction.modifiers.atomic) {
  case Atomic::add:
    return with(Opcode::add);
  case Atomic::min:
    return with(Opcode::minimum);
  case Atomic::max:
    return with(Opcode::maximum);
  case Atomic::andOf:
    return with(Opcode::andOf);
  case Atomic::orOf:
    return with(Opcode::orOf);
  case Atomic::xorOf:
    return with(Opcode::xorOf);
  case Atomic::exchange:
    return truncate(b, type);
  case Atomic::compareAndSwap:
    return truncate(old, type) == truncate(b, type) ? truncate(c, type) : old;
  case Atomic::increment:
    return truncate(old, type) >= truncate(b, type) ? 0 : old + 1;
  case Atomic::decrement:
    return old == 0 || truncate(old, type) > truncate(b, type) ? truncate(b, type) : old - 1;
  case Atomic::none:
    break;
  }
  throw Unsupported("says no operation");
}
