//===- EntryParser.cpp - One kernel of a PTX module -----------------------===//

#include "test/cuda/ptx/EntryParser.h"

#include "test/cuda/ptx/Decode.h"

#include <algorithm>
#include <array>

using namespace cuda_double;

namespace {
class EntryParser {
public:
  EntryParser(Tokens &tokens, const Module &module, const SharedVariables &shared)
      : tokens(tokens), module(module), shared(shared) {}

  Entry run();

private:
  void parseParameters();
  void parseLimits();
  void parseBody();
  void parseStatement();
  void parseRegisters();
  void parseVariable(bool isShared);
  void parseInstruction();
  Operand parseOperand(bool isOfBranch);
  Operand parseAddress();
  Operand parseRegister(const std::string &name);
  bool findSymbol(const std::string &name, uint64_t &value);
  bool findShared(const std::string &name, uint64_t &value);
  bool isRegister(const std::string &name) const;
  int getRegister(const std::string &name);
  void resolveLabels();

  Tokens &tokens;
  const Module &module;
  const SharedVariables &shared;
  Entry entry;
  std::map<std::string, uint64_t> variables; ///< shared and local ones: where they are in their memory
  std::map<std::string, unsigned> ranges;    ///< `%r<5>`: how many registers have a prefix
  std::map<std::string, int> named;          ///< registers that have been named, and their numbers
  std::map<std::string, uint64_t> labels;
  std::map<size_t, std::pair<std::string, unsigned>> targets; ///< of branches: the label, and the line
  bool hasDynamic = false; ///< what follows in shared memory is the launch's
};
} // namespace

static unsigned roundUp(unsigned value, unsigned align) { return (value + align - 1) / align * align; }

static unsigned place(unsigned &used, unsigned bytes, unsigned align) {
  unsigned begin = roundUp(used, align);
  used = begin + bytes;
  return begin;
}

Entry EntryParser::run() {
  entry.name = tokens.next();
  if (tokens.take("("))
    parseParameters();
  parseLimits();
  parseBody();
  resolveLabels();
  for (auto &[name, number] : named) {
    entry.registers.resize(std::max<size_t>(entry.registers.size(), number + 1));
    entry.registers[number] = name;
  }
  Instruction end;
  end.text = "exit";
  end.line = tokens.line();
  decode(end);
  entry.code.push_back(std::move(end));
  return std::move(entry);
}

void EntryParser::parseParameters() {
  while (!tokens.take(")")) {
    tokens.expect(".param");
    Declaration said = tokens.declaration();
    unsigned offset = place(entry.parameterBytes, said.bytes, said.align);
    entry.parameters.push_back({said.name, said.bytes, said.align, offset});
    tokens.take(",");
  }
}

void EntryParser::parseLimits() {
  while (!tokens.take("{")) {
    unsigned line = tokens.line();
    std::string word = tokens.next();
    unsigned *limits = word == ".maxntid"   ? entry.maxThreads
                       : word == ".reqntid" ? entry.requiredThreads
                                            : nullptr;
    if (limits) {
      std::fill(limits, limits + 3, 1);
      do
        *limits++ = static_cast<unsigned>(tokens.number());
      while (tokens.take(","));
    } else if (word == ".minnctapersm" || word == ".maxnreg") {
      tokens.number();
    } else {
      throw PtxError(line, "the directive \"" + word + "\" of a kernel is not known");
    }
  }
}

void EntryParser::parseBody() {
  for (int depth = 1; depth > 0;)
    if (tokens.take("{"))
      ++depth;
    else if (tokens.take("}"))
      --depth;
    else
      parseStatement();
}

void EntryParser::parseStatement() {
  if (tokens.take(".reg"))
    return parseRegisters();
  if (tokens.current() == ".shared" || tokens.current() == ".local")
    return parseVariable(tokens.next() == ".shared");
  if (tokens.take(".loc") || tokens.take(".file"))
    return tokens.skipLine();
  if (tokens.take(".pragma"))
    return tokens.skipStatement();
  if (tokens.current().starts_with("."))
    throw PtxError(tokens.line(), "the directive \"" + tokens.current() + "\" is not known in a kernel");
  if (tokens.following() == ":") {
    labels[tokens.next()] = entry.code.size();
    return tokens.expect(":");
  }
  parseInstruction();
}

/// `.reg .b32 %r<5>, %s;`
void EntryParser::parseRegisters() {
  tokens.next();
  do {
    std::string name = tokens.next();
    if (tokens.take("<")) {
      ranges[name] = std::max(ranges[name], static_cast<unsigned>(tokens.number()));
      tokens.expect(">");
    } else {
      getRegister(name);
    }
  } while (tokens.take(","));
  tokens.expect(";");
}

void EntryParser::parseVariable(bool isShared) {
  Declaration said = tokens.declaration();
  if (isShared && hasDynamic)
    throw PtxError(said.line,
                   "\"" + said.name + "\" is declared behind a use of what the launch adds to shared memory");
  variables[said.name] = place(isShared ? entry.sharedBytes : entry.localBytes, said.bytes, said.align);
  tokens.expect(";");
}

void EntryParser::parseInstruction() {
  Instruction made;
  made.line = tokens.line();
  if (tokens.take("@")) {
    made.guardNegated = tokens.take("!");
    made.guard = parseRegister(tokens.next()).number;
  }
  made.text = tokens.next();
  decode(made);
  while (!tokens.take(";")) {
    made.operands.push_back(parseOperand(made.opcode == Opcode::branch));
    tokens.take(",");
  }
  checkOperands(made);
  entry.code.push_back(std::move(made));
}

bool EntryParser::isRegister(const std::string &name) const {
  if (named.contains(name))
    return true;
  size_t digits = name.find_last_not_of("0123456789") + 1;
  auto range = ranges.find(name.substr(0, digits));
  return digits < name.size() && range != ranges.end() && std::stoul(name.substr(digits)) < range->second;
}

int EntryParser::getRegister(const std::string &name) {
  return named.try_emplace(name, static_cast<int>(named.size())).first->second;
}

Operand EntryParser::parseRegister(const std::string &name) {
  if (!isRegister(name))
    throw PtxError(tokens.line(), "no register is called \"" + name + "\"");
  Operand made{Operand::registerOf};
  made.number = getRegister(name);
  if (tokens.take("|"))
    made.second = parseRegister(tokens.next()).number;
  return made;
}

static std::optional<int> findSpecial(const std::string &name) {
  static const std::array<const char *, 20> names = {
      "%tid.x",   "%tid.y",       "%tid.z",       "%ntid.x",      "%ntid.y",      "%ntid.z",     "%ctaid.x",
      "%ctaid.y", "%ctaid.z",     "%nctaid.x",    "%nctaid.y",    "%nctaid.z",    "%laneid",     "%warpid",
      "WARP_SZ",  "%lanemask_lt", "%lanemask_le", "%lanemask_eq", "%lanemask_ge", "%lanemask_gt"};
  const auto *found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? std::nullopt : std::optional<int>(found - names.begin());
}

bool EntryParser::findShared(const std::string &name, uint64_t &value) {
  auto found = shared.find(name);
  if (found == shared.end())
    return false;
  const Declaration &said = found->second;
  hasDynamic |= said.isOpen;
  if (said.isOpen)
    entry.sharedBytes = roundUp(entry.sharedBytes, said.align);
  else if (hasDynamic)
    throw PtxError(tokens.line(),
                   "\"" + name + "\" is used first behind what the launch adds to shared memory");
  value = place(entry.sharedBytes, said.bytes, said.align);
  variables[name] = value;
  return true;
}

/// The address of a variable or a parameter in its space.
bool EntryParser::findSymbol(const std::string &name, uint64_t &value) {
  auto isParameter = [&](const Parameter &parameter) { return parameter.name == name; };
  if (auto found = std::find_if(entry.parameters.begin(), entry.parameters.end(), isParameter);
      found != entry.parameters.end())
    value = found->offset;
  else if (auto known = variables.find(name); known != variables.end())
    value = known->second;
  else if (auto variable = module.variables.find(name); variable != module.variables.end())
    value = variable->second.address;
  else
    return findShared(name, value);
  return true;
}

Operand EntryParser::parseAddress() {
  Operand made{Operand::address};
  const std::string &word = tokens.current();
  if (isRegister(word))
    made.number = getRegister(tokens.next());
  else if (findSymbol(word, made.value))
    tokens.next();
  else
    made.value = tokens.number();
  if (tokens.take("+"))
    made.value += tokens.number();
  tokens.expect("]");
  return made;
}

Operand EntryParser::parseOperand(bool isOfBranch) {
  if (tokens.take("["))
    return parseAddress();
  if (tokens.take("{")) {
    Operand made{Operand::vector};
    while (!tokens.take("}")) {
      made.items.push_back(parseOperand(false));
      tokens.take(",");
    }
    return made;
  }
  if (tokens.take("_"))
    return {Operand::sink};
  if (tokens.take("!")) {
    Operand made = parseRegister(tokens.next());
    made.negated = true;
    return made;
  }
  const std::string word = tokens.current();
  if (isOfBranch) {
    targets[entry.code.size()] = {tokens.next(), tokens.line()};
    return {Operand::label};
  }
  if (isRegister(word))
    return parseRegister(tokens.next());
  Operand made{Operand::immediate};
  if (std::optional<int> special = findSpecial(word)) {
    tokens.next();
    made.kind = Operand::special;
    made.number = *special;
  } else if (findSymbol(word, made.value)) {
    tokens.next();
    if (tokens.take("+"))
      made.value += tokens.number();
  } else if (word.starts_with("%")) {
    throw PtxError(tokens.line(), "no register is called \"" + word + "\"");
  } else {
    made.value = tokens.number();
  }
  return made;
}

void EntryParser::resolveLabels() {
  for (auto &[at, target] : targets) {
    auto found = labels.find(target.first);
    if (found == labels.end())
      throw PtxError(target.second, "no label is called \"" + target.first + "\"");
    entry.code[at].operands[0].value = found->second;
  }
}

Entry cuda_double::parseEntry(Tokens &tokens, const Module &module, const SharedVariables &shared) {
  return EntryParser(tokens, module, shared).run();
}
