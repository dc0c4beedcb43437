// A kernel and its arguments.
#ifndef EPL_RUNTIME_DEVICE_CUDA_KERNELCALL_H
#define EPL_RUNTIME_DEVICE_CUDA_KERNELCALL_H

#include "runtime/device/cuda/Driver.h"
#include "runtime/plan/format/plan_generated.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace epl::runtime::cuda {

/// Of the plugin's own kernels: threads for so many elements.
plan::GridT gridFor(uint64_t elements);

/// A kernel and its arguments, for one stream.
class KernelCall {
public:
  KernelCall(CUfunction function, const plan::GridT &grid, uint32_t rows = 1)
      : function(function), grid(grid), rows(rows) {}

  template <typename T> void add(const T &argument) {
    offsets.push_back(arguments.size());
    arguments.resize(arguments.size() + (sizeof(T) + 7) / 8 * 8);
    std::memcpy(arguments.data() + offsets.back(), &argument, sizeof(T));
  }
  /// An argument that is an address in a table: how far from its begin, until `setTable` says where that is.
  void addInTable(uint64_t offset) {
    inTable.push_back(arguments.size());
    add(offset);
  }
  void setTable(uint64_t begin);
  const plan::GridT &getGrid() const { return grid; }
  /// 8 bytes for each, if none is longer.
  std::span<const std::byte> getArguments() const { return arguments; }

  /// Enqueues it. Throws nothing: who enqueues names the command.
  CUresult enqueue(const Driver &api, CUstream stream) const;
  /// Gives its arguments to a node of a graph that was captured from such a call. As enqueue.
  CUresult update(const Driver &api, CUgraphExec graph, CUgraphNode node) const;

private:
  std::vector<void *> pointers() const;

  CUfunction function;
  plan::GridT grid;
  uint32_t rows; // of blocks
  std::vector<std::byte> arguments;
  std::vector<size_t> offsets, inTable;
};

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_KERNELCALL_H
