#include "runtime/machine/MachineFile.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace epl::runtime::machine {
namespace {

using Json = nlohmann::ordered_json;

/// What is wrong with a file; it does not leave this one.
class Mistake : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// A number that a section may say, and where it goes.
struct Entry {
  const char *name;
  int64_t *value;
};

struct Section {
  const char *name;
  std::vector<Entry> entries;
};

/// All that a file may say of a machine but its kind.
std::vector<Section> sectionsOf(Machine &machine) {
  auto link = [](Link &link) {
    return std::vector<Entry>{{"bytes_per_second", &link.bytesPerSecond}, {"latency_ns", &link.latencyNs}};
  };
  std::vector<Section> sections = {
      {"compute",
       {{"f64", &machine.compute.f64}, {"f32", &machine.compute.f32}, {"f16", &machine.compute.f16}}},
      {"memory",
       {{"bytes", &machine.memory.bytes},
        {"bytes_per_second", &machine.memory.bytesPerSecond},
        {"latency_ns", &machine.memory.latencyNs}}},
      {"within_process", link(machine.withinProcess)},
      {"between_processes", link(machine.betweenProcesses)},
      {"between_nodes", link(machine.betweenNodes)}};
  if (machine.isGpu())
    sections.push_back({"gpu",
                        {{"architecture", &machine.gpu.architecture},
                         {"multiprocessors", &machine.gpu.multiprocessors},
                         {"clock_hz", &machine.gpu.clockHz},
                         {"shared_bytes", &machine.gpu.sharedBytes},
                         {"launch_ns", &machine.gpu.launchNs},
                         {"host_bytes_per_second", &machine.gpu.hostBytesPerSecond}}});
  return sections;
}

/// Reads one file. Every number is first that of the table.
class Reader {
public:
  explicit Reader(const std::string &file) : file(file) {}

  Machine read(const Json &root) const {
    if (!root.is_object())
      throw fail("found " + root.dump() + ", expected an object");
    Machine machine = tableOf(root);
    std::vector<Section> sections = sectionsOf(machine);
    std::vector<std::string> names = {"kind"};
    for (const Section &section : sections)
      names.emplace_back(section.name);
    checkNames(root, "", names);
    for (const Section &section : sections)
      if (root.contains(section.name))
        readSection(root[section.name], section);
    return machine;
  }

  Mistake fail(const std::string &text) const { return Mistake("machine file \"" + file + "\": " + text); }

private:
  /// The table that the file is a change of.
  Machine tableOf(const Json &root) const {
    Json kind = root.value("kind", Json("cpu"));
    const Machine *table = kind.is_string() ? findMachine(kind.get<std::string>()) : nullptr;
    if (!table)
      throw fail("\"kind\" is " + kind.dump() + ", expected one of " + machineKinds());
    return *table;
  }

  void checkNames(const Json &object, const std::string &prefix,
                  const std::vector<std::string> &known) const {
    for (const auto &[name, _] : object.items()) {
      if (std::ranges::find(known, name) != known.end())
        continue;
      std::string names;
      for (const std::string &each : known)
        names += (names.empty() ? "\"" : ", \"") + each + '"';
      throw fail("unknown name \"" + prefix + name + "\", expected one of " + names);
    }
  }

  void readSection(const Json &object, const Section &section) const {
    std::string name = section.name;
    if (!object.is_object())
      throw fail("\"" + name + "\" is " + object.dump() + ", expected an object");
    std::vector<std::string> names;
    names.reserve(section.entries.size());
    for (const Entry &entry : section.entries)
      names.emplace_back(entry.name);
    checkNames(object, name + ".", names);
    for (const Entry &entry : section.entries)
      if (object.contains(entry.name))
        *entry.value = figure(object[entry.name], name + "." + entry.name);
  }

  /// 1e9 is whole, too.
  int64_t figure(const Json &value, const std::string &name) const {
    constexpr double most = double(int64_t(1) << 62);
    double number = value.is_number() ? value.get<double>() : 0;
    if (number < 1 || number > most || number != std::floor(number))
      throw fail("\"" + name + "\" is " + value.dump() + ", expected a whole number of at least 1");
    return value.get<int64_t>();
  }

  const std::string &file;
};

/// What a parser says of a text, without its own name: "parse error at line 1, column 2: ..".
std::string reasonOf(const Json::exception &error) {
  std::string text = error.what();
  size_t end = text.find("] ");
  return end == std::string::npos ? text : text.substr(end + 2);
}

} // namespace

MachineOrError parseMachine(const std::string &text, const std::string &file) {
  try {
    return Reader(file).read(Json::parse(text));
  } catch (const Json::exception &error) {
    return "machine file \"" + file + "\" is no JSON: " + reasonOf(error);
  } catch (const Mistake &error) {
    return std::string(error.what());
  }
}

MachineOrError readMachine(const std::string &kindOrFile) {
  if (const Machine *table = findMachine(kindOrFile))
    return *table;
  std::ifstream stream(kindOrFile);
  std::stringstream text;
  if (stream)
    text << stream.rdbuf();
  if (!stream || !text)
    return "machine \"" + kindOrFile + "\" is none of " + machineKinds() +
           ", and no file that can be read: " + std::strerror(errno);
  return parseMachine(text.str(), kindOrFile);
}

std::string machineJson(const Machine &machine) {
  Machine copy = machine;
  Json json = {{"kind", machine.kind}};
  for (const Section &section : sectionsOf(copy))
    for (const Entry &entry : section.entries)
      json[section.name][entry.name] = *entry.value;
  return json.dump(2) + "\n";
}

} // namespace epl::runtime::machine
