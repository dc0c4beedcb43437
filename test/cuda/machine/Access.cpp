//===- Access.cpp - Instructions on memory --------------------------------===//

#include "test/cuda/machine/Block.h"

#include <algorithm>
#include <cstring>
#include <utility>

using namespace cuda_double;

/// Where shared and local memory are among generic addresses.
static constexpr uint64_t kSharedWindow = uint64_t(0x7e) << 40, kLocalWindow = uint64_t(0x7d) << 40;
static constexpr uint64_t kWindowSize = uint64_t(1) << 32;

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

uint64_t BlockRunner::addressOf(Warp &warp, const Operand &operand, unsigned lane) {
  return operand.value + (operand.number >= 0 ? warp.get(operand.number, lane) : 0);
}

void BlockRunner::executeConvertAddress(Warp &warp, const Instruction &instruction, Lanes active) {
  uint64_t window = instruction.space == Space::shared  ? kSharedWindow
                    : instruction.space == Space::local ? kLocalWindow
                                                        : 0;
  if (instruction.space == Space::param)
    fail(instruction, "generic addresses of parameters are not known");
  forEachLane(active, [&](unsigned lane) {
    uint64_t address = read(warp, instruction.operands[1], lane);
    write(warp, instruction.operands[0], lane,
          instruction.modifiers.toSpace ? address - window : address + window);
  });
}

static bool isIn(uint64_t address, uint64_t window) {
  return address >= window && address < window + kWindowSize;
}

/// Says of a generic address where it is.
static void resolveGeneric(Space &space, uint64_t &address) {
  if (space != Space::generic)
    return;
  space = isIn(address, kSharedWindow)  ? Space::shared
          : isIn(address, kLocalWindow) ? Space::local
                                        : Space::global;
  if (space != Space::global)
    address -= space == Space::shared ? kSharedWindow : kLocalWindow;
}

static const char *nameOf(AccessKind kind) {
  return kind == AccessKind::read ? "a read" : kind == AccessKind::write ? "a write" : "an atomic operation";
}

/// The memory of an access that is allowed; all others fail.
uint8_t *BlockRunner::find(Warp &warp, const Instruction &instruction, unsigned lane, const Access &access) {
  if (access.address % access.size != 0)
    fail(instruction, std::string(nameOf(access.kind)) + " of " + std::to_string(access.size) +
                          " bytes at address " + std::to_string(access.address) +
                          ", which is no multiple of it");
  switch (access.space) {
  case Space::shared:
    return findShared(warp, instruction, lane, access);
  case Space::local:
    return findLocal(warp, instruction, lane, access);
  case Space::param:
    return findParameter(instruction, access);
  case Space::constant:
    return findVariable(instruction, access);
  default:
    return findGlobal(warp, instruction, lane, access);
  }
}

void BlockRunner::checkRace(Warp &warp, const Instruction &instruction, unsigned lane, Shadow &shadow,
                            uint64_t bytes, uint64_t offset, const Access &access, const uint8_t *memoryNow,
                            Epoch epoch) {
  bool same = access.kind == AccessKind::write && std::memcmp(memoryNow, access.stored, access.size) == 0;
  Race race = shadow.access(bytes, offset, access.size, access.kind, now(warp, lane), epoch, same);
  if (race.who.thread != 0)
    report(Finding::race, instruction,
           std::string(nameOf(access.kind)) + " of " + describeThread(now(warp, lane)) + " and " +
               nameOf(race.before) + " of " + describeThread(race.who) + " are in no order");
}

uint8_t *BlockRunner::findGlobal(Warp &warp, const Instruction &instruction, unsigned lane,
                                 const Access &access) {
  Allocation *allocation = memory.find(access.address, access.size);
  if (!allocation)
    return findVariable(instruction, access);
  auto *host = reinterpret_cast<uint8_t *>(access.address);
  uint64_t offset = access.address - allocation->base;
  checkRace(warp, instruction, lane, allocation->shadow, allocation->size, offset, access, host, grid);
  // An atomic operation reads, too.
  bool isRead = access.kind != AccessKind::write;
  if (isRead && !memory.use(*allocation, access.address, access.size, false))
    report(Finding::unwritten, instruction,
           "reads bytes from " + std::to_string(offset) + " on of an allocation, which nobody has written");
  if (access.kind != AccessKind::read)
    memory.use(*allocation, access.address, access.size, true);
  for (uint64_t sector = offset / 32; sector <= (offset + access.size - 1) / 32; ++sector) {
    allocation->sectors[sector] = 1;
    if (isRead && std::exchange(allocation->loadedBy[sector], block + 1) != block + 1)
      ++counters.sectorsFetched;
  }
  return host;
}

uint8_t *BlockRunner::findVariable(const Instruction &instruction, const Access &access) {
  for (const auto &[name, variable] : launch.module->variables)
    if (access.address >= variable.address &&
        access.address + access.size <= variable.address + variable.initial.size()) {
      if (access.kind != AccessKind::read)
        fail(instruction, "writes \"" + name + "\", a variable of the module");
      return reinterpret_cast<uint8_t *>(access.address);
    }
  fail(instruction, std::string(nameOf(access.kind)) + " of " + std::to_string(access.size) + " bytes, " +
                        memory.describeMiss(access.address, access.size));
}

uint8_t *BlockRunner::findShared(Warp &warp, const Instruction &instruction, unsigned lane,
                                 const Access &access) {
  if (access.address + access.size > shared.size())
    fail(instruction, std::string(nameOf(access.kind)) + " at byte " + std::to_string(access.address) +
                          " of shared memory, of which the block has " + std::to_string(shared.size()));
  uint8_t *host = &shared[access.address];
  checkRace(warp, instruction, lane, sharedShadow, shared.size(), access.address, access, host,
            Epoch{1, threads});
  auto begin = sharedWritten.begin() + static_cast<ptrdiff_t>(access.address), end = begin + access.size;
  if (access.kind != AccessKind::write && std::find(begin, end, false) != end)
    report(Finding::unwritten, instruction,
           "reads byte " + std::to_string(access.address) + " of shared memory, which nobody has written");
  if (access.kind != AccessKind::read)
    std::fill(begin, end, true);
  return host;
}

uint8_t *BlockRunner::findLocal(Warp &warp, const Instruction &instruction, unsigned lane,
                                const Access &access) {
  if (access.address + access.size > entry.localBytes)
    fail(instruction, std::string(nameOf(access.kind)) + " at byte " + std::to_string(access.address) +
                          " of local memory, of which a thread has " + std::to_string(entry.localBytes));
  uint64_t at = uint64_t(warp.number * 32 + lane) * entry.localBytes + access.address;
  auto begin = localWritten.begin() + static_cast<ptrdiff_t>(at), end = begin + access.size;
  if (access.kind != AccessKind::write && std::find(begin, end, false) != end)
    report(Finding::unwritten, instruction,
           "reads byte " + std::to_string(access.address) +
               " of local memory, which the thread has not written");
  if (access.kind != AccessKind::read)
    std::fill(begin, end, true);
  return &local[at];
}

uint8_t *BlockRunner::findParameter(const Instruction &instruction, const Access &access) {
  if (access.kind != AccessKind::read || access.address + access.size > launch.parameters.size())
    fail(instruction, std::string(nameOf(access.kind)) + " at byte " + std::to_string(access.address) +
                          " of the parameters, which are " + std::to_string(launch.parameters.size()));
  return const_cast<uint8_t *>(&launch.parameters[access.address]);
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

void BlockRunner::executeAccess(Warp &warp, const Instruction &instruction, Lanes active) {
  bool isWrite = instruction.opcode == Opcode::store;
  const Operand &place = instruction.operands[isWrite ? 0 : 1], &data = instruction.operands[isWrite ? 1 : 0];
  unsigned elementBytes = instruction.type.bytes(), size = elementBytes * instruction.vector;
  auto element = [&](unsigned i) -> const Operand & {
    return data.kind == Operand::vector ? data.items[i] : data;
  };
  std::array<uint64_t, 32> addresses{};
  forEachLane(active, [&](unsigned lane) {
    std::array<uint8_t, 64> bytes{};
    for (unsigned i = 0; isWrite && i < instruction.vector; ++i) {
      uint64_t value = read(warp, element(i), lane);
      std::memcpy(&bytes[i * elementBytes], &value, elementBytes);
    }
    addresses[lane] = addressOf(warp, place, lane);
    Access access{instruction.space, addresses[lane], size, isWrite ? AccessKind::write : AccessKind::read,
                  bytes.data()};
    resolveGeneric(access.space, access.address);
    uint8_t *host = find(warp, instruction, lane, access);
    if (isWrite)
      std::memcpy(host, bytes.data(), size);
    for (unsigned i = 0; !isWrite && i < instruction.vector; ++i) {
      uint64_t value = 0;
      std::memcpy(&value, host + i * elementBytes, elementBytes);
      write(warp, element(i), lane, extend(value, instruction.type));
    }
  });
  count(instruction, active, addresses, size);
}

void BlockRunner::executeAtomic(Warp &warp, const Instruction &instruction, Lanes active) {
  bool returns = instruction.opcode == Opcode::atom;
  const Operand &place = instruction.operands[returns ? 1 : 0];
  size_t first = returns ? 2 : 1;
  unsigned size = instruction.type.bytes();
  forEachLane(active, [&](unsigned lane) {
    auto operand = [&](size_t i) {
      return i < instruction.operands.size() ? read(warp, instruction.operands[i], lane) : 0;
    };
    Access access{instruction.space, addressOf(warp, place, lane), size, AccessKind::atomic, nullptr};
    resolveGeneric(access.space, access.address);
    uint8_t *host = find(warp, instruction, lane, access);
    uint64_t old = 0;
    std::memcpy(&old, host, size);
    uint64_t made = computeAtomic(instruction, old, operand(first), operand(first + 1));
    std::memcpy(host, &made, size);
    if (returns)
      write(warp, instruction.operands[0], lane, extend(old, instruction.type));
  });
}

//===----------------------------------------------------------------------===//
// Counters
//===----------------------------------------------------------------------===//

static void sortOut(std::vector<uint64_t> &values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

void BlockRunner::count(const Instruction &instruction, Lanes active,
                        const std::array<uint64_t, 32> &addresses, unsigned size) {
  Space space = instruction.space;
  uint64_t first = addresses[std::countr_zero(active)];
  resolveGeneric(space, first);
  if (space == Space::shared)
    return countShared(active, addresses, size);
  if (space != Space::global)
    return;
  // Addresses are multiples of the size, at most 32 bytes: different ones have no byte in common, and each is
  // in one sector.
  std::vector<uint64_t> places, sectors;
  forEachLane(active, [&](unsigned lane) { places.push_back(addresses[lane]); });
  sortOut(places);
  for (uint64_t place : places)
    sectors.push_back(place / 32);
  sortOut(sectors);
  Counters::Traffic &traffic = instruction.opcode == Opcode::store ? counters.stores : counters.loads;
  ++traffic.requests;
  traffic.sectors += sectors.size();
  traffic.bytes += places.size() * size;
}

/// Shared memory has 32 banks of 4 bytes, each of which gives one word in a cycle. Lanes that access 8 or 16
/// bytes come in halves or quarters of the warp.
void BlockRunner::countShared(Lanes active, const std::array<uint64_t, 32> &addresses, unsigned size) {
  unsigned together = size <= 4 ? 32 : 128 / size;
  for (unsigned begin = 0; begin < 32; begin += together) {
    std::vector<uint64_t> words;
    for (unsigned lane = begin; lane < begin + together; ++lane)
      for (unsigned at = 0; (active >> lane & 1) != 0 && at < size; at += 4)
        words.push_back((addresses[lane] + at) / 4);
    if (words.empty())
      continue;
    sortOut(words);
    std::array<uint64_t, 32> banks{};
    for (uint64_t word : words)
      ++banks[word % 32];
    ++counters.sharedRequests;
    counters.sharedCycles += *std::max_element(banks.begin(), banks.end());
  }
}
