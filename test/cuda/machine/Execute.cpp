//===- Execute.cpp - What instructions do to registers --------------------===//

#include "test/cuda/machine/Block.h"

#include <set>

using namespace cuda_double;

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

uint64_t BlockRunner::readSpecial(const Warp &warp, Special special, unsigned lane) const {
  unsigned thread = warp.number * 32 + lane;
  Lanes below = (Lanes(1) << lane) - 1, own = Lanes(1) << lane;
  switch (special) {
  case Special::threadX:
    return thread % launch.block[0];
  case Special::threadY:
    return thread / launch.block[0] % launch.block[1];
  case Special::threadZ:
    return thread / launch.block[0] / launch.block[1];
  case Special::threadsX:
  case Special::threadsY:
  case Special::threadsZ:
    return launch.block[static_cast<int>(special) - static_cast<int>(Special::threadsX)];
  case Special::blockX:
  case Special::blockY:
  case Special::blockZ:
    return blockAt[static_cast<int>(special) - static_cast<int>(Special::blockX)];
  case Special::blocksX:
  case Special::blocksY:
  case Special::blocksZ:
    return launch.grid[static_cast<int>(special) - static_cast<int>(Special::blocksX)];
  case Special::lane:
    return lane;
  case Special::warp:
    return warp.number;
  case Special::warpSize:
    return 32;
  case Special::laneMaskLess:
    return below;
  case Special::laneMaskLessEqual:
    return below | own;
  case Special::laneMaskEqual:
    return own;
  case Special::laneMaskGreaterEqual:
    return ~below;
  case Special::laneMaskGreater:
    return ~below & ~own;
  }
  return 0;
}

uint64_t BlockRunner::read(Warp &warp, const Operand &operand, unsigned lane) {
  switch (operand.kind) {
  case Operand::registerOf: {
    uint64_t value = warp.get(operand.number, lane);
    return operand.negated ? ~value & 1 : value;
  }
  case Operand::special:
    return readSpecial(warp, static_cast<Special>(operand.number), lane);
  default:
    return operand.value;
  }
}

void BlockRunner::write(Warp &warp, const Operand &operand, unsigned lane, uint64_t value) {
  if (operand.kind == Operand::registerOf)
    warp.get(operand.number, lane) = value;
}

/// The lanes that a shuffle, a vote or a barrier of the warp names.
Lanes BlockRunner::maskOf(Warp &warp, const Instruction &instruction, unsigned lane) {
  return static_cast<Lanes>(read(warp, instruction.operands.back(), lane));
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// Two or four registers become one of more bits, or the other way round.
void BlockRunner::executeMove(Warp &warp, const Instruction &instruction, Lanes active) {
  const Operand &to = instruction.operands[0], &from = instruction.operands[1];
  const Operand &parts = to.kind == Operand::vector ? to : from;
  if (parts.kind != Operand::vector)
    return forEachLane(active, [&](unsigned lane) {
      write(warp, to, lane, truncate(read(warp, from, lane), instruction.type));
    });
  unsigned bits = 8 * instruction.type.bytes() / static_cast<unsigned>(parts.items.size());
  uint64_t mask = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  forEachLane(active, [&](unsigned lane) {
    uint64_t whole = 0;
    for (size_t i = 0; i < parts.items.size(); ++i)
      if (&parts == &to)
        write(warp, parts.items[i], lane, read(warp, from, lane) >> (bits * i) & mask);
      else
        whole |= (read(warp, parts.items[i], lane) & mask) << (bits * i);
    if (&parts == &from)
      write(warp, to, lane, whole);
  });
}

void BlockRunner::executeConvert(Warp &warp, const Instruction &instruction, Lanes active) {
  const std::vector<Operand> &operands = instruction.operands;
  forEachLane(active, [&](unsigned lane) {
    uint64_t first = read(warp, operands[1], lane);
    bool isPair = instruction.type.isPacked();
    if (isPair && operands.size() < 3)
      fail(instruction, "a packed type is made of two operands");
    write(warp, operands[0], lane,
          isPair ? convertPair(instruction, first, read(warp, operands[2], lane))
                 : convert(instruction, first));
  });
}

void BlockRunner::executeSetPredicate(Warp &warp, const Instruction &instruction, Lanes active) {
  const std::vector<Operand> &operands = instruction.operands;
  forEachLane(active, [&](unsigned lane) {
    bool holds = compare(instruction, read(warp, operands[1], lane), read(warp, operands[2], lane));
    bool other = operands.size() > 3 && (read(warp, operands[3], lane) & 1) != 0;
    auto combine = [&](bool value) {
      switch (instruction.modifiers.combine) {
      case Combine::andOf:
        return value && other;
      case Combine::orOf:
        return value || other;
      case Combine::xorOf:
        return value != other;
      case Combine::none:
        break;
      }
      return value;
    };
    write(warp, operands[0], lane, combine(holds) ? 1 : 0);
    if (operands[0].second >= 0)
      warp.get(operands[0].second, lane) = combine(!holds) ? 1 : 0;
  });
}

/// `shfl d|p, a, b, c, mask`: the value of a lane that b chooses in a segment that c says.
void BlockRunner::executeShuffle(Warp &warp, const Instruction &instruction, Lanes active) {
  const std::vector<Operand> &operands = instruction.operands;
  std::array<uint64_t, 32> values{};
  forEachLane(active, [&](unsigned lane) { values[lane] = read(warp, operands[1], lane); });
  forEachLane(active, [&](unsigned lane) {
    int own = static_cast<int>(lane), by = static_cast<int>(read(warp, operands[2], lane) & 31), from = own;
    auto limits = static_cast<int>(read(warp, operands[3], lane));
    int clamp = limits & 31, segment = limits >> 8 & 31;
    int last = (own & segment) | (clamp & ~segment), first = own & segment;
    bool isInside = true;
    switch (instruction.modifiers.shuffle) {
    case Shuffle::up:
      from = own - by;
      isInside = from >= last;
      break;
    case Shuffle::down:
      from = own + by;
      isInside = from <= last;
      break;
    case Shuffle::butterfly:
      from = own ^ by;
      isInside = from <= last;
      break;
    default:
      from = first | (by & ~segment);
      isInside = from <= last;
    }
    from = isInside ? from : own;
    if ((active >> from & 1) == 0)
      report(Finding::barrier, instruction,
             "lane " + std::to_string(from) + ", which it reads, takes no part");
    write(warp, operands[0], lane, truncate(values[from], instruction.type));
    if (operands[0].second >= 0)
      warp.get(operands[0].second, lane) = isInside ? 1 : 0;
  });
}

void BlockRunner::executeVote(Warp &warp, const Instruction &instruction, Lanes active) {
  Lanes holds = 0;
  forEachLane(active,
              [&](unsigned lane) { holds |= Lanes(read(warp, instruction.operands[1], lane) & 1) << lane; });
  uint64_t result = holds;
  switch (instruction.modifiers.vote) {
  case Vote::all:
    result = holds == active ? 1 : 0;
    break;
  case Vote::any:
    result = holds != 0 ? 1 : 0;
    break;
  case Vote::uniform:
    result = holds == active || holds == 0 ? 1 : 0;
    break;
  default:
    break;
  }
  forEachLane(active, [&](unsigned lane) { write(warp, instruction.operands[0], lane, result); });
}

/// `bfi d, a, b, position, length`: bits of a take the place of some of b.
void BlockRunner::executeInsertBits(Warp &warp, const Instruction &instruction, Lanes active) {
  unsigned width = 8 * instruction.type.bytes();
  forEachLane(active, [&](unsigned lane) {
    auto operand = [&](size_t i) { return read(warp, instruction.operands[i], lane); };
    uint64_t position = operand(3) & 255, length = operand(4) & 255;
    uint64_t mask = length >= 64 ? ~uint64_t(0) : (uint64_t(1) << length) - 1;
    uint64_t inserted = position >= width ? 0 : operand(1) << position;
    mask = position >= width ? 0 : mask << position;
    write(warp, instruction.operands[0], lane,
          truncate((operand(2) & ~mask) | (inserted & mask), instruction.type));
  });
}

/// `lop3 d, a, b, c, table`: each bit is what the table says of three bits.
void BlockRunner::executeLogic(Warp &warp, const Instruction &instruction, Lanes active) {
  forEachLane(active, [&](unsigned lane) {
    auto bit = [&](size_t i, unsigned at) { return read(warp, instruction.operands[i], lane) >> at & 1; };
    uint64_t table = read(warp, instruction.operands[4], lane), result = 0;
    for (unsigned i = 0; i < 32; ++i)
      result |= (table >> (bit(1, i) << 2 | bit(2, i) << 1 | bit(3, i)) & 1) << i;
    write(warp, instruction.operands[0], lane, result);
  });
}

static bool hasCarry(const Instruction &instruction) {
  return instruction.modifiers.carryOut || instruction.opcode == Opcode::addCarry ||
         instruction.opcode == Opcode::subtractCarry || instruction.opcode == Opcode::multiplyAddCarry;
}

static bool isSpecialFunction(const Instruction &instruction) {
  static const std::set<Opcode> functions = {
      Opcode::exponent2,         Opcode::logarithm2, Opcode::sine,           Opcode::cosine,
      Opcode::hyperbolicTangent, Opcode::reciprocal, Opcode::reciprocalRoot, Opcode::divide,
      Opcode::squareRoot};
  return instruction.type.isFloat() && functions.contains(instruction.opcode);
}

void BlockRunner::executeCompute(Warp &warp, const Instruction &instruction, Lanes active) {
  const std::vector<Operand> &operands = instruction.operands;
  if (isSpecialFunction(instruction))
    counters.specialFunctions += std::popcount(active);
  if (instruction.type.isFloat() &&
      (instruction.opcode == Opcode::fusedMultiplyAdd || instruction.opcode == Opcode::multiplyAdd))
    counters.multiplyAdds += std::popcount(active);
  forEachLane(active, [&](unsigned lane) {
    auto operand = [&](size_t i) { return i < operands.size() ? read(warp, operands[i], lane) : 0; };
    uint64_t a = operand(1), b = operand(2), c = operand(3), result;
    if (hasCarry(instruction)) {
      bool carry = (warp.carry >> lane & 1) != 0;
      result = computeWithCarry(instruction, a, b, c, carry);
      warp.carry = (warp.carry & ~(Lanes(1) << lane)) | Lanes(carry) << lane;
    } else {
      result =
          instruction.type.isPacked() ? computePacked(instruction, a, b, c) : compute(instruction, a, b, c);
    }
    write(warp, operands[0], lane, result);
  });
}

void BlockRunner::execute(Warp &warp, const Instruction &instruction, Lanes active) {
  if (active == 0)
    return;
  const std::vector<Operand> &operands = instruction.operands;
  switch (instruction.opcode) {
  case Opcode::load:
  case Opcode::store:
    return executeAccess(warp, instruction, active);
  case Opcode::atom:
  case Opcode::reduce:
    return executeAtomic(warp, instruction, active);
  case Opcode::move:
    return executeMove(warp, instruction, active);
  case Opcode::convertAddress:
    return executeConvertAddress(warp, instruction, active);
  case Opcode::convert:
    return executeConvert(warp, instruction, active);
  case Opcode::setPredicate:
    return executeSetPredicate(warp, instruction, active);
  case Opcode::selectOf:
    return forEachLane(active, [&](unsigned lane) {
      bool isFirst = (read(warp, operands[3], lane) & 1) != 0;
      write(warp, operands[0], lane, truncate(read(warp, operands[isFirst ? 1 : 2], lane), instruction.type));
    });
  case Opcode::testProperty:
    return forEachLane(active, [&](unsigned lane) {
      write(warp, operands[0], lane, testProperty(instruction, read(warp, operands[1], lane)) ? 1 : 0);
    });
  case Opcode::threeInputLogic:
    return executeLogic(warp, instruction, active);
  case Opcode::insertBits:
    return executeInsertBits(warp, instruction, active);
  case Opcode::activeMask:
    return forEachLane(active, [&](unsigned lane) { write(warp, operands[0], lane, active); });
  case Opcode::shuffle:
    return executeShuffle(warp, instruction, active);
  case Opcode::vote:
    return executeVote(warp, instruction, active);
  case Opcode::trap:
    fail(instruction, "a trap");
  case Opcode::memoryBarrier:
  case Opcode::fence:
  case Opcode::prefetch:
    return; // memory of this machine is in order
  default:
    return executeCompute(warp, instruction, active);
  }
}
