//===- Parser.cpp - PTX text as a module ----------------------------------===//

#include "test/cuda/ptx/Parser.h"

#include "test/cuda/ptx/Decode.h"
#include "test/cuda/ptx/EntryParser.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace cuda_double;

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

std::string Tokens::next() {
  if (isEnd())
    throw PtxError(line(), "the text ends early");
  return tokens[at++].text;
}

bool Tokens::take(const char *text) {
  if (current() != text)
    return false;
  ++at;
  return true;
}

void Tokens::expect(const char *text) {
  if (!take(text))
    throw PtxError(line(), std::string("expected \"") + text + "\", found \"" + current() + "\"");
}

void Tokens::skipLine() {
  for (unsigned here = tokens[at - 1].line; !isEnd() && line() == here;)
    ++at;
}

void Tokens::skipStatement() {
  while (next() != ";")
    ;
}

uint64_t Tokens::number() {
  bool isNegative = take("-");
  std::string text = next();
  const char *digits = text.c_str();
  int base = 0;
  // 0fXXXXXXXX and 0dXXXXXXXXXXXXXXXX are bits of floating-point numbers.
  if (text.size() > 2 && text[0] == '0' && std::strchr("fFdD", text[1])) {
    digits += 2;
    base = 16;
  }
  char *end = nullptr;
  uint64_t value = std::strtoull(digits, &end, base);
  if (end == digits || (*end && std::strcmp(end, "U") != 0))
    throw PtxError(line(), "expected a number, found \"" + text + "\"");
  return isNegative ? -value : value;
}

Declaration Tokens::declaration() {
  Declaration found;
  found.line = line();
  bool isOfPointee = false;
  while (current().starts_with(".")) {
    std::string word = next();
    if (word == ".align") {
      auto align = static_cast<unsigned>(number());
      found.align = isOfPointee ? found.align : align;
    } else if (word == ".ptr") {
      isOfPointee = true; // what follows is about the memory that a parameter points to
    } else if (std::optional<Type> type = parseType(word.substr(1))) {
      found.type = *type;
    } else if (!isOfPointee) {
      throw PtxError(found.line, "\"" + word + "\" of a declaration is not known");
    }
  }
  found.name = next();
  uint64_t count = 1;
  while (take("[")) {
    found.isOpen = take("]");
    if (found.isOpen)
      continue;
    count *= number();
    expect("]");
  }
  found.bytes = found.isOpen ? 0 : static_cast<unsigned>(count * found.type.bytes());
  found.align = std::max<unsigned>(found.align, found.type.bytes());
  return found;
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

namespace {
class ModuleParser {
public:
  explicit ModuleParser(const std::string &ptx) : tokens(lex(ptx)) {}

  Module run() {
    while (!tokens.isEnd())
      parseTop();
    return std::move(module);
  }

private:
  void parseTop();
  void parseVariable(bool isConstant);
  std::vector<uint8_t> parseInitial(const Declaration &declaration);

  Tokens tokens;
  Module module;
  SharedVariables shared;
};
} // namespace

void ModuleParser::parseTop() {
  unsigned line = tokens.line();
  std::string word = tokens.next();
  if (word == ".version")
    module.version = tokens.next();
  else if (word == ".target")
    for (module.target = tokens.next(); tokens.take(",");)
      tokens.next();
  else if (word == ".address_size" || word == ".file")
    tokens.skipLine();
  else if (word == ".section")
    while (!tokens.take("}"))
      tokens.next();
  else if (word == ".entry") {
    Entry entry = parseEntry(tokens, module, shared);
    module.entries[entry.name] = std::move(entry);
  } else if (word == ".global" || word == ".const")
    parseVariable(word == ".const");
  else if (word == ".shared") {
    Declaration declaration = tokens.declaration();
    shared[declaration.name] = declaration;
    tokens.expect(";");
  } else if (word == ".func")
    throw PtxError(line, "functions are not known: what kernels call has to be inlined");
  else if (word != ".visible" && word != ".weak" && word != ".extern" && word != ";")
    throw PtxError(line, "the directive \"" + word + "\" is not known");
}

std::vector<uint8_t> ModuleParser::parseInitial(const Declaration &declaration) {
  std::vector<uint8_t> bytes(declaration.bytes);
  if (!tokens.take("="))
    return bytes;
  size_t at = 0, size = declaration.type.bytes();
  auto put = [&] {
    uint64_t value = tokens.number();
    if (at + size > bytes.size())
      throw PtxError(tokens.line(), "more values than \"" + declaration.name + "\" has elements");
    std::memcpy(&bytes[at], &value, size);
    at += size;
  };
  if (!tokens.take("{")) {
    put();
    return bytes;
  }
  while (!tokens.take("}")) {
    put();
    tokens.take(",");
  }
  return bytes;
}

void ModuleParser::parseVariable(bool isConstant) {
  Declaration declaration = tokens.declaration();
  Variable variable{parseInitial(declaration), std::max(declaration.align, 16u), isConstant};
  size_t size = (variable.initial.size() / variable.align + 1) * variable.align;
  std::shared_ptr<void> memory(std::aligned_alloc(variable.align, size), std::free);
  std::memcpy(memory.get(), variable.initial.data(), variable.initial.size());
  variable.address = reinterpret_cast<uint64_t>(memory.get());
  module.memory.push_back(std::move(memory));
  module.variables[declaration.name] = std::move(variable);
  tokens.expect(";");
}

Module cuda_double::parse(const std::string &ptx) { return ModuleParser(ptx).run(); }
