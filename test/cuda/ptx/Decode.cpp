//===- Decode.cpp - What a mnemonic says ----------------------------------===//

#include "test/cuda/ptx/Decode.h"

#include "test/cuda/ptx/Lexer.h"

#include <cstring>
#include <functional>
#include <set>

using namespace cuda_double;

namespace {
struct OpcodeInfo {
  Opcode opcode;
  size_t operands;
  const char *words; ///< which kinds may follow, as Opcodes.def says
};

/// Says that a word is there.
using Setter = std::function<void(Instruction &)>;

struct Word {
  char kind; ///< as in Opcodes.def
  Setter set;
};
} // namespace

static const std::map<std::string, OpcodeInfo> &opcodes() {
  static const std::map<std::string, OpcodeInfo> table = {
#define OPCODE(name, mnemonic, operands, words) {mnemonic, {Opcode::name, operands, words}},
#include "test/cuda/ptx/Opcodes.def"
  };
  return table;
}

std::optional<Type> cuda_double::parseType(const std::string &name) {
  static const std::map<std::string, Type> table = {
      {"pred", {Type::predicate, 1}},  {"b8", {Type::bits, 1}},         {"b16", {Type::bits, 2}},
      {"b32", {Type::bits, 4}},        {"b64", {Type::bits, 8}},        {"u8", {Type::unsignedInt, 1}},
      {"u16", {Type::unsignedInt, 2}}, {"u32", {Type::unsignedInt, 4}}, {"u64", {Type::unsignedInt, 8}},
      {"s8", {Type::signedInt, 1}},    {"s16", {Type::signedInt, 2}},   {"s32", {Type::signedInt, 4}},
      {"s64", {Type::signedInt, 8}},   {"f16", {Type::floating, 2}},    {"f32", {Type::floating, 4}},
      {"f64", {Type::floating, 8}},    {"bf16", {Type::bfloat, 2}},     {"f16x2", {Type::floating, 2, 2}},
      {"bf16x2", {Type::bfloat, 2, 2}}};
  auto found = table.find(name);
  return found == table.end() ? std::nullopt : std::optional<Type>(found->second);
}

/// A word that sets a field of the modifiers to a value.
template <typename Field, typename Value> static Setter setTo(Field Modifiers::*field, Value value) {
  return [field, value](Instruction &instruction) { instruction.modifiers.*field = value; };
}
static Setter setSpace(Space space) {
  return [space](Instruction &instruction) { instruction.space = space; };
}
static Setter setVector(unsigned size) {
  return [size](Instruction &instruction) { instruction.vector = size; };
}
static Setter roundToInteger(Rounding rounding) {
  return [rounding](Instruction &instruction) {
    instruction.modifiers.rounding = rounding;
    instruction.modifiers.toInteger = true;
  };
}
static void ignore(Instruction &) {}

static void addWordsOfMemory(std::multimap<std::string, Word> &words) {
  words.insert({{"global", {'a', setSpace(Space::global)}},
                {"shared", {'a', setSpace(Space::shared)}},
                {"shared::cta", {'a', setSpace(Space::shared)}},
                {"local", {'a', setSpace(Space::local)}},
                {"param", {'a', setSpace(Space::param)}},
                {"const", {'a', setSpace(Space::constant)}},
                {"v2", {'v', setVector(2)}},
                {"v4", {'v', setVector(4)}},
                {"v8", {'v', setVector(8)}},
                {"add", {'A', setTo(&Modifiers::atomic, Atomic::add)}},
                {"min", {'A', setTo(&Modifiers::atomic, Atomic::min)}},
                {"max", {'A', setTo(&Modifiers::atomic, Atomic::max)}},
                {"exch", {'A', setTo(&Modifiers::atomic, Atomic::exchange)}},
                {"cas", {'A', setTo(&Modifiers::atomic, Atomic::compareAndSwap)}},
                {"and", {'A', setTo(&Modifiers::atomic, Atomic::andOf)}},
                {"or", {'A', setTo(&Modifiers::atomic, Atomic::orOf)}},
                {"xor", {'A', setTo(&Modifiers::atomic, Atomic::xorOf)}},
                {"inc", {'A', setTo(&Modifiers::atomic, Atomic::increment)}},
                {"dec", {'A', setTo(&Modifiers::atomic, Atomic::decrement)}},
                {"to", {'t', setTo(&Modifiers::toSpace, true)}}});
  // All memory of this machine is coherent, and what is ordered by more than barriers it reports as a race.
  for (const char *hint : {"relaxed",
                           "volatile",
                           "nc",
                           "weak",
                           "cta",
                           "gpu",
                           "sys",
                           "cg",
                           "ca",
                           "cs",
                           "lu",
                           "cv",
                           "wb",
                           "wt",
                           "noftz",
                           "L1",
                           "L2",
                           "L1::no_allocate",
                           "L1::evict_first",
                           "L1::evict_last",
                           "L2::64B",
                           "L2::128B",
                           "L2::256B"})
    words.insert({hint, {'k', ignore}});
}

static void addWordsOfArithmetic(std::multimap<std::string, Word> &words) {
  const std::pair<const char *, Comparison> comparisons[] = {
      {"eq", Comparison::eq},   {"ne", Comparison::ne},   {"lt", Comparison::lt},   {"le", Comparison::le},
      {"gt", Comparison::gt},   {"ge", Comparison::ge},   {"lo", Comparison::lt},   {"ls", Comparison::le},
      {"hi", Comparison::gt},   {"hs", Comparison::ge},   {"equ", Comparison::equ}, {"neu", Comparison::neu},
      {"ltu", Comparison::ltu}, {"leu", Comparison::leu}, {"gtu", Comparison::gtu}, {"geu", Comparison::geu},
      {"num", Comparison::num}, {"nan", Comparison::nan}};
  for (auto [name, comparison] : comparisons)
    words.insert({name, {'c', setTo(&Modifiers::comparison, comparison)}});
  const std::pair<const char *, Rounding> roundings[] = {{"rn", Rounding::nearestEven},
                                                         {"rz", Rounding::zero},
                                                         {"rm", Rounding::down},
                                                         {"rp", Rounding::up},
                                                         {"rna", Rounding::nearestAway}};
  for (auto [name, rounding] : roundings) {
    words.insert({name, {'r', setTo(&Modifiers::rounding, rounding)}});
    words.insert({std::string(name) + "i", {'r', roundToInteger(rounding)}});
  }
  words.insert({{"and", {'b', setTo(&Modifiers::combine, Combine::andOf)}},
                {"or", {'b', setTo(&Modifiers::combine, Combine::orOf)}},
                {"xor", {'b', setTo(&Modifiers::combine, Combine::xorOf)}},
                {"lo", {'h', setTo(&Modifiers::half, Half::low)}},
                {"hi", {'h', setTo(&Modifiers::half, Half::high)}},
                {"wide", {'h', setTo(&Modifiers::half, Half::wide)}},
                {"cc", {'C', setTo(&Modifiers::carryOut, true)}},
                {"sat", {'s', setTo(&Modifiers::saturate, true)}},
                {"ftz", {'f', setTo(&Modifiers::flush, true)}},
                {"NaN", {'n', setTo(&Modifiers::keepNan, true)}},
                {"approx", {'p', ignore}},
                {"full", {'p', ignore}},
                {"relu", {'R', setTo(&Modifiers::relu, true)}},
                {"wrap", {'w', setTo(&Modifiers::wrap, true)}},
                {"clamp", {'w', ignore}},
                {"l", {'d', setTo(&Modifiers::left, true)}},
                {"r", {'d', ignore}},
                {"finite", {'T', setTo(&Modifiers::test, Test::finite)}},
                {"infinite", {'T', setTo(&Modifiers::test, Test::infinite)}},
                {"number", {'T', setTo(&Modifiers::test, Test::number)}},
                {"notanumber", {'T', setTo(&Modifiers::test, Test::notANumber)}},
                {"normal", {'T', setTo(&Modifiers::test, Test::normal)}},
                {"subnormal", {'T', setTo(&Modifiers::test, Test::subnormal)}}});
}

static void addWordsOfThreads(std::multimap<std::string, Word> &words) {
  words.insert({{"up", {'S', setTo(&Modifiers::shuffle, Shuffle::up)}},
                {"down", {'S', setTo(&Modifiers::shuffle, Shuffle::down)}},
                {"bfly", {'S', setTo(&Modifiers::shuffle, Shuffle::butterfly)}},
                {"idx", {'S', setTo(&Modifiers::shuffle, Shuffle::index)}},
                {"all", {'V', setTo(&Modifiers::vote, Vote::all)}},
                {"any", {'V', setTo(&Modifiers::vote, Vote::any)}},
                {"uni", {'V', setTo(&Modifiers::vote, Vote::uniform)}},
                {"ballot", {'V', setTo(&Modifiers::vote, Vote::ballot)}},
                {"warp", {'W', setTo(&Modifiers::ofWarp, true)}},
                {"uni", {'u', ignore}},
                {"sync", {'m', ignore}},
                {"aligned", {'m', ignore}},
                {"cta", {'F', ignore}},
                {"gl", {'F', ignore}},
                {"gpu", {'F', ignore}},
                {"sys", {'F', ignore}},
                {"sc", {'F', ignore}},
                {"acq_rel", {'F', ignore}}});
}

static const std::multimap<std::string, Word> &allWords() {
  static const std::multimap<std::string, Word> table = [] {
    std::multimap<std::string, Word> words;
    addWordsOfMemory(words);
    addWordsOfArithmetic(words);
    addWordsOfThreads(words);
    return words;
  }();
  return table;
}

static std::vector<std::string> splitAtDots(const std::string &text) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end; (end = text.find('.', begin)) != std::string::npos; begin = end + 1)
    parts.push_back(text.substr(begin, end - begin));
  parts.push_back(text.substr(begin));
  return parts;
}

static void addType(Instruction &instruction, Type type) {
  if (instruction.type.kind == Type::none)
    instruction.type = type;
  else if (instruction.source.kind == Type::none)
    instruction.source = type;
  // shfl.sync.b32 and its like name no more than two; a third one is that of a third operand, as of atom.
}

static void addWord(Instruction &instruction, const std::string &word, const char *known) {
  auto [begin, end] = allWords().equal_range(word);
  for (auto found = begin; found != end; ++found)
    if (std::strchr(known, found->second.kind))
      return found->second.set(instruction);
  throw PtxError(instruction.line, "\"" + word + "\" of \"" + instruction.text + "\" is not known");
}

void cuda_double::decode(Instruction &instruction) {
  std::vector<std::string> parts = splitAtDots(instruction.text);
  auto found = opcodes().find(parts.front());
  if (found == opcodes().end())
    throw PtxError(instruction.line, "the instruction \"" + instruction.text + "\" is not known");
  instruction.opcode = found->second.opcode;
  for (size_t i = 1; i < parts.size(); ++i)
    if (std::optional<Type> type = parseType(parts[i]))
      addType(instruction, *type);
    else
      addWord(instruction, parts[i], found->second.words);
}

/// What has a type in its mnemonic.
static bool wantsType(Opcode opcode) {
  static const std::set<Opcode> without = {Opcode::branch,        Opcode::exitOf,  Opcode::returnOf,
                                           Opcode::trap,          Opcode::barrier, Opcode::barrierOf,
                                           Opcode::memoryBarrier, Opcode::fence,   Opcode::prefetch};
  return !without.contains(opcode);
}

void cuda_double::checkOperands(const Instruction &instruction) {
  size_t wanted = opcodes().at(splitAtDots(instruction.text).front()).operands;
  if (instruction.operands.size() < wanted)
    throw PtxError(instruction.line, "\"" + instruction.text + "\" has " +
                                         std::to_string(instruction.operands.size()) +
                                         " operands, expected " + std::to_string(wanted));
  if (wantsType(instruction.opcode) && instruction.type.kind == Type::none)
    throw PtxError(instruction.line, "\"" + instruction.text + "\" names no type");
  bool isAccess = instruction.opcode == Opcode::load || instruction.opcode == Opcode::store;
  const Operand *data =
      isAccess ? &instruction.operands[instruction.opcode == Opcode::load ? 0 : 1] : nullptr;
  if (data && instruction.vector > 1 && data->items.size() != instruction.vector)
    throw PtxError(instruction.line, "\"" + instruction.text + "\" has " +
                                         std::to_string(data->items.size()) + " elements, expected " +
                                         std::to_string(instruction.vector));
}
