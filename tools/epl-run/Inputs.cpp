#include "Inputs.h"

#include "Element.h"

#include "runtime/Error.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

namespace epl::runtime::tool {

namespace fs = std::filesystem;

static fs::path fileOf(const fs::path &folder, size_t slot) {
  return folder / ("s" + std::to_string(slot) + ".bin");
}

Inputs::Inputs(const std::string &source, int64_t integerRange) : integerRange(integerRange), folder(source) {
  static const std::string prefix = "random:";
  if (source.starts_with(prefix)) {
    uint64_t seed = 0;
    const char *end = source.data() + source.size();
    auto [stop, error] = std::from_chars(source.data() + prefix.size(), end, seed);
    if (error != std::errc() || stop != end)
      throw Error("\"" + source + "\" has no number as its seed, expected \"random:SEED\"");
    generator.emplace(seed);
  } else if (!fs::is_directory(folder)) {
    throw Error("\"" + source + "\" is neither \"random:SEED\" nor a folder");
  }
}

static void readFile(const fs::path &path, const HostTensor &tensor, const std::string &name) {
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  uintmax_t size = fs::file_size(path, error);
  if (!file || error)
    throw Error("cannot read \"" + path.string() + "\" for argument \"" + name + "\"");
  if (size != tensor.type.bytes())
    throw Error("\"" + path.string() + "\" has " + std::to_string(size) + " bytes, expected " +
                std::to_string(tensor.type.bytes()) + " of argument \"" + name + "\", " + tensor.type.str());
  file.read(reinterpret_cast<char *>(tensor.data), std::streamsize(size));
  if (!file)
    throw Error("cannot read \"" + path.string() + "\"");
}

HostTensor Inputs::next(const plan::PlanT &plan, size_t index) {
  const plan::SlotT &slot = *plan.slots[index];
  HostTensor tensor = HostTensor::allocate(TensorType::of(slot));
  if (!generator) {
    readFile(fileOf(folder, index), tensor, slot.name);
    return tensor;
  }
  bool isFloat = isFloatingPoint(slot.type);
  int64_t low = isFloat && slot.role != plan::SlotRole::state ? -2 : 0;
  int64_t high = isFloat ? 2 : slot.type == plan::ElementType::i1 ? 1 : integerRange - 1;
  std::uniform_int_distribution<int64_t> values(low, high);
  for (size_t i = 0, count = tensor.type.bytes() / elementBytes(slot.type); i < count; ++i)
    storeElement(tensor, i, values(*generator));
  return tensor;
}

void writeOutput(const fs::path &folder, size_t slot, const HostTensor &tensor) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw Error("cannot make folder \"" + folder.string() + "\": " + error.message());
  writeFile(fileOf(folder, slot), {reinterpret_cast<const char *>(tensor.data), tensor.type.bytes()});
}

void writeFile(const fs::path &path, std::string_view content) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file.write(content.data(), std::streamsize(content.size()));
  file.close();
  if (!file)
    throw Error("cannot write \"" + path.string() + "\": " + std::strerror(errno));
}

} // namespace epl::runtime::tool
