//===- PtxKernels.cpp - Kernels of PTX run in a test -----------------------------===//

#include "test/unit/kernel/gpu/PtxKernels.h"

#include "test/cuda/machine/Machine.h"
#include "test/cuda/ptx/Parser.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace mlir::epl::test {

using cuda_double::DeviceMemory;

// How many bytes into its allocation a buffer begins: no more aligned than plans promise.
static uint64_t getMisalignment(size_t bytes) { return uint64_t(1) << std::min(std::countr_zero(bytes), 4); }

struct PtxKernels::Parsed {
  cuda_double::Module module;
};

PtxKernels::PtxKernels(const std::string &ptx) {
  try {
    parsed = std::make_unique<Parsed>(Parsed{cuda_double::parse(ptx)});
  } catch (const std::exception &fault) {
    error = fault.what();
  }
}

PtxKernels::~PtxKernels() = default;

static uint64_t upload(DeviceMemory &memory, std::span<const char> bytes, bool isWritten) {
  if (bytes.empty())
    return 0;
  uint64_t begin = getMisalignment(bytes.size());
  uint64_t address = memory.allocate(begin + bytes.size()).value() + begin;
  if (isWritten) {
    std::memcpy(reinterpret_cast<void *>(address), bytes.data(), bytes.size());
    memory.find(address, bytes.size())->written.add(begin, bytes.size());
  }
  return address;
}

static std::span<const char> bytesOf(std::span<const int64_t> numbers) {
  return {reinterpret_cast<const char *>(numbers.data()), numbers.size_bytes()};
}

// The address of a list of conditions; 0 if there are none.
static uint64_t uploadConditions(DeviceMemory &memory, const PtxLaunch &launch) {
  if (launch.conditions.empty())
    return 0;
  std::vector<int64_t> words;
  for (auto [flag, expected] : launch.conditions) {
    char byte = flag;
    words.insert(words.end(), {int64_t(upload(memory, std::span(&byte, 1), true)), int64_t(expected)});
  }
  words.push_back(0);
  return upload(memory, bytesOf(words), true);
}

// The arguments are those of all phases, without extent, slice and conditions.
static cuda_double::Launch makeLaunch(const cuda_double::Module &module, const PtxLaunch &launch,
                                      std::vector<uint64_t> arguments, uint64_t conditions) {
  arguments.push_back(uint64_t(launch.extent));
  arguments.push_back(uint64_t(launch.slice));
  arguments.push_back(conditions);
  cuda_double::Launch made;
  made.module = &module;
  made.entry = &module.entries.at(launch.symbol);
  made.grid = {launch.blocks, 1, 1};
  made.block = {launch.threads, 1, 1};
  made.dynamicShared = launch.shared;
  made.parameters.resize(made.entry->parameterBytes);
  for (size_t i = 0; i < arguments.size(); ++i)
    std::memcpy(&made.parameters[made.entry->parameters.at(i).offset], &arguments[i], sizeof(uint64_t));
  return made;
}

std::string PtxKernels::run(std::span<const PtxLaunch> phases, std::vector<PtxBuffer> &buffers,
                            std::span<const int> arguments, std::span<const int64_t> coordinates,
                            uint64_t seed) const {
  DeviceMemory memory;
  std::vector<uint64_t> addresses, values;
  for (const PtxBuffer &buffer : buffers)
    addresses.push_back(upload(memory, buffer.bytes, buffer.isWritten));
  for (int argument : arguments)
    values.push_back(argument < 0 ? 0 : addresses[size_t(argument)]);
  values.push_back(upload(memory, bytesOf(coordinates), true));
  cuda_double::Options options;
  options.seed = seed;
  cuda_double::Counters counters;
  std::vector<cuda_double::Finding> findings;
  std::string text;
  try {
    for (const PtxLaunch &phase : phases)
      cuda_double::run(makeLaunch(parsed->module, phase, values, uploadConditions(memory, phase)), memory,
                       options, counters, findings);
  } catch (const std::exception &fault) {
    text = fault.what();
  }
  for (const cuda_double::Finding &finding : findings)
    text += (text.empty() ? "" : "\n") + finding.text;
  for (size_t i = 0; i < buffers.size(); ++i)
    if (!buffers[i].bytes.empty())
      std::memcpy(buffers[i].bytes.data(), reinterpret_cast<const void *>(addresses[i]),
                  buffers[i].bytes.size());
  return text;
}

} // namespace mlir::epl::test
