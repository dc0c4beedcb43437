//===- Kernel.h - Kernels that tests run ------------------------*- C++ -*-===//
#pragma once

#include "test/cuda/machine/Machine.h"
#include "test/cuda/ptx/Parser.h"

#include <cstring>

namespace cuda_double {

/// Memory with arrays of the host in it, and what its kernels have been found to do.
class TestDevice {
public:
  template <typename T> uint64_t upload(const std::vector<T> &values) {
    uint64_t address = allocate<T>(values.size());
    std::memcpy(reinterpret_cast<void *>(address), values.data(), values.size() * sizeof(T));
    memory.find(address, values.size() * sizeof(T))->written.add(0, values.size() * sizeof(T));
    return address;
  }
  template <typename T> uint64_t allocate(size_t size) { return memory.allocate(size * sizeof(T)).value(); }
  template <typename T> std::vector<T> download(uint64_t address, size_t size) const {
    std::vector<T> values(size);
    std::memcpy(values.data(), reinterpret_cast<void *>(address), size * sizeof(T));
    return values;
  }

  /// Runs the first kernel of a module on arguments of the sizes of its parameters.
  template <typename... Arguments>
  void run(const Module &module, std::array<unsigned, 3> grid, std::array<unsigned, 3> block,
           Arguments... arguments) {
    runNamed(module, module.entries.begin()->first, grid, block, arguments...);
  }

  template <typename... Arguments>
  void runNamed(const Module &module, const std::string &name, std::array<unsigned, 3> grid,
                std::array<unsigned, 3> block, Arguments... arguments) {
    Launch launch;
    launch.module = &module;
    launch.entry = &module.entries.at(name);
    launch.grid = grid;
    launch.block = block;
    launch.dynamicShared = dynamicShared;
    launch.parameters.resize(launch.entry->parameterBytes);
    size_t next = 0;
    auto put = [&](auto argument) {
      const Parameter &parameter = launch.entry->parameters.at(next++);
      std::memcpy(&launch.parameters[parameter.offset], &argument, parameter.bytes);
    };
    (put(arguments), ...);
    cuda_double::run(launch, memory, options, counters, findings);
  }

  /// The text of the findings of a kind.
  std::vector<std::string> found(Finding::Kind kind) const {
    std::vector<std::string> texts;
    for (const Finding &finding : findings)
      if (finding.kind == kind)
        texts.push_back(finding.text);
    return texts;
  }

  DeviceMemory memory;
  Options options;
  Counters counters;
  std::vector<Finding> findings;
  unsigned dynamicShared = 0;
};

/// A module of one kernel "k" with 64-bit parameters p0, p1, .. and enough registers: %p and %r, %w (64
/// bits), %f, %d, %h (16 bits). They are in %w0, %w1, .. as global addresses, and the thread's number in the
/// grid is in %r0.
inline std::string makeKernel(unsigned parameters, const std::string &body,
                              const std::string &variables = "") {
  std::string text = ".version 8.0\n.target sm_90\n.address_size 64\n" + variables + "\n.visible .entry k(";
  for (unsigned i = 0; i < parameters; ++i)
    text += std::string(i ? ", " : "") + ".param .u64 p" + std::to_string(i);
  text += ") {\n.reg .pred %p<32>; .reg .b16 %h<32>; .reg .b32 %r<64>; .reg .b64 %w<64>; .reg .f32 %f<32>; "
          ".reg .f64 %d<32>;\n";
  for (unsigned i = 0; i < parameters; ++i)
    text += "ld.param.u64 %w" + std::to_string(i) + ", [p" + std::to_string(i) + "]; cvta.to.global.u64 %w" +
            std::to_string(i) + ", %w" + std::to_string(i) + ";\n";
  return text +
         "mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r0, %r0, %r1, "
         "%r2;\n" +
         body + "\nret;\n}\n";
}

} // namespace cuda_double
