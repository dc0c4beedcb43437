//===- MachineFile.cpp - A machine as a file ------------------------------===//

#include "dialect/MachineFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::epl;

namespace json = llvm::json;
using llvm::Error;
using llvm::Expected;

static std::string getText(const json::Value &value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

namespace {
/// A number that a section may say, and where it goes.
struct Entry {
  StringLiteral name;
  int64_t &value;
};

/// Reads one file. Every number is first that of the table.
class Reader {
public:
  Reader(MLIRContext *context, StringRef file) : context(context), file(file) {}

  Expected<MachineAttr> read(const json::Value &value);

private:
  template <typename... Parts> Error fail(Parts &&...parts) const {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << "machine file \"" << file << "\": ";
    (os << ... << std::forward<Parts>(parts));
    return llvm::createStringError(text);
  }

  Error checkNames(const json::Object &object, StringRef prefix, ArrayRef<StringRef> known) const;
  Error readSection(const json::Object &root, StringRef name, ArrayRef<Entry> entries) const;
  Expected<MachineAttr> readTable(const json::Object &root) const;
  Expected<ComputeAttr> readCompute(const json::Object &root, ComputeAttr table) const;
  Expected<MemoryAttr> readMemory(const json::Object &root, MemoryAttr table) const;
  Expected<LinkAttr> readLink(const json::Object &root, StringRef name, LinkAttr table) const;

  MLIRContext *context;
  StringRef file;
};
} // namespace

Error Reader::checkNames(const json::Object &object, StringRef prefix, ArrayRef<StringRef> known) const {
  for (const auto &[key, value] : object)
    if (!llvm::is_contained(known, StringRef(key)))
      return fail("unknown name \"", prefix, StringRef(key), "\", expected one of \"",
                  llvm::join(known, "\", \""), "\"");
  return Error::success();
}

/// Sets what the section `name` says of `entries`.
Error Reader::readSection(const json::Object &root, StringRef name, ArrayRef<Entry> entries) const {
  const json::Value *section = root.get(name);
  if (!section)
    return Error::success();
  const json::Object *object = section->getAsObject();
  if (!object)
    return fail("\"", name, "\" is ", getText(*section), ", expected an object");
  auto names = llvm::map_to_vector(entries, [](const Entry &entry) { return StringRef(entry.name); });
  if (Error error = checkNames(*object, (name + ".").str(), names))
    return error;
  for (const Entry &entry : entries) {
    const json::Value *value = object->get(entry.name);
    if (!value)
      continue;
    std::optional<int64_t> number = value->getAsInteger();
    if (!number || *number < 1)
      return fail("\"", name, ".", entry.name, "\" is ", getText(*value),
                  ", expected a whole number of at least 1");
    entry.value = *number;
  }
  return Error::success();
}

/// The table that the file is a change of.
Expected<MachineAttr> Reader::readTable(const json::Object &root) const {
  const json::Value *kind = root.get("kind");
  std::optional<StringRef> name = kind ? kind->getAsString() : std::optional<StringRef>("cpu");
  if (MachineAttr table = name ? getMachineOfKind(context, *name) : MachineAttr())
    return table;
  return fail("\"kind\" is ", getText(*kind), ", expected one of ", listMachineKinds());
}

Expected<ComputeAttr> Reader::readCompute(const json::Object &root, ComputeAttr table) const {
  int64_t f64 = table.getF64(), f32 = table.getF32(), f16 = table.getF16();
  if (Error error = readSection(root, "compute", {{"f64", f64}, {"f32", f32}, {"f16", f16}}))
    return error;
  return ComputeAttr::get(context, f64, f32, f16);
}

Expected<MemoryAttr> Reader::readMemory(const json::Object &root, MemoryAttr table) const {
  int64_t bytes = table.getBytes(), perSecond = table.getBytesPerSecond(), latency = table.getLatencyNs();
  if (Error error = readSection(root, "memory",
                                {{"bytes", bytes}, {"bytes_per_second", perSecond}, {"latency_ns", latency}}))
    return error;
  return MemoryAttr::get(context, bytes, perSecond, latency);
}

Expected<LinkAttr> Reader::readLink(const json::Object &root, StringRef name, LinkAttr table) const {
  int64_t perSecond = table.getBytesPerSecond(), latency = table.getLatencyNs();
  if (Error error = readSection(root, name, {{"bytes_per_second", perSecond}, {"latency_ns", latency}}))
    return error;
  return LinkAttr::get(context, perSecond, latency);
}

Expected<MachineAttr> Reader::read(const json::Value &value) {
  const json::Object *root = value.getAsObject();
  if (!root)
    return fail("found ", getText(value), ", expected an object");
  if (Error error = checkNames(
          *root, "", {"kind", "compute", "memory", "within_process", "between_processes", "between_nodes"}))
    return error;
  Expected<MachineAttr> table = readTable(*root);
  if (!table)
    return table;
  Expected<ComputeAttr> compute = readCompute(*root, table->getCompute());
  if (!compute)
    return compute.takeError();
  Expected<MemoryAttr> memory = readMemory(*root, table->getMemory());
  if (!memory)
    return memory.takeError();
  SmallVector<LinkAttr> links;
  std::pair<StringRef, LinkAttr> sections[] = {{"within_process", table->getWithinProcess()},
                                               {"between_processes", table->getBetweenProcesses()},
                                               {"between_nodes", table->getBetweenNodes()}};
  for (auto [name, link] : sections) {
    Expected<LinkAttr> said = readLink(*root, name, link);
    if (!said)
      return said.takeError();
    links.push_back(*said);
  }
  return MachineAttr::get(context, table->getKind(), *compute, *memory, links[0], links[1], links[2]);
}

Expected<MachineAttr> mlir::epl::parseMachine(MLIRContext *context, StringRef text, StringRef file) {
  Expected<json::Value> value = json::parse(text);
  if (!value)
    return llvm::createStringError("machine file \"" + file.str() +
                                   "\" is no JSON: " + llvm::toString(value.takeError()));
  return Reader(context, file).read(*value);
}

Expected<MachineAttr> mlir::epl::readMachine(MLIRContext *context, StringRef kindOrFile) {
  if (MachineAttr machine = getMachineOfKind(context, kindOrFile))
    return machine;
  auto buffer = llvm::MemoryBuffer::getFile(kindOrFile, /*IsText=*/true);
  if (!buffer)
    return llvm::createStringError("machine \"" + kindOrFile.str() + "\" is none of " + listMachineKinds() +
                                   ", and no file that can be read: " + buffer.getError().message());
  return parseMachine(context, (*buffer)->getBuffer(), kindOrFile);
}
