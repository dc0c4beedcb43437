//===- CompiledKernels.h - Kernels compiled and run in a test ------*- C++ -*-===//
#pragma once

#include "passes/kernel/Passes.h"
#include "test/unit/kernel/gpu/PtxKernels.h"

#include "mlir/IR/BuiltinTypes.h"

#include <string>
#include <vector>

namespace mlir::epl::test {

/// The bytes of a tensor as kernels see it.
using Bytes = std::vector<char>;

/// A kernel of a compiled module.
struct CompiledKernel {
  std::string name, form;
  int64_t extent = 0, workspace = 0;
  SmallVector<int32_t> inPlace; // empty if no result shares storage
  SmallVector<RankedTensorType> inputs, outputs;
  using Entry = void(void *const *buffers, const int64_t *coordinates, int64_t begin, int64_t end);
  Entry *entry = nullptr; // of a CPU
  const PtxKernels *ptx = nullptr;
  std::string symbol;
  SmallVector<GridAttr> grids; // of the phases on a GPU

  /// Runs the slices between the positions `cuts` of [0, extent), last one first, and gives the outputs. Each
  /// buffer stands between guard zones and misaligned for vectors; a write outside is a test failure.
  std::vector<Bytes> run(const std::vector<Bytes> &inputs, ArrayRef<int64_t> cuts) const;
  /// Runs the kernel on the stand-in of a GPU, its threads in the order of `seed`. What that finds is a test
  /// failure.
  std::vector<Bytes> runOnGpu(const std::vector<Bytes> &inputs, uint64_t seed) const;
  /// Runs `code` instead; what the stand-in finds.
  std::string findOnGpu(const PtxKernels &code, const std::vector<Bytes> &inputs, uint64_t seed) const;
};

/// The kernels of a module, compiled and loaded.
class CompiledKernels {
public:
  /// Compiles `text`; a failure is a test failure that shows the diagnostics.
  CompiledKernels(const std::string &text, const CodegenOptions &options);
  ~CompiledKernels();
  CompiledKernels(const CompiledKernels &) = delete;

  const std::vector<CompiledKernel> &getKernels() const { return kernels; }
  const CompiledKernel &get(StringRef name) const;
  /// The code for a GPU.
  const std::string &getPtx() const { return ptxText; }

private:
  void load(BinaryOp binary);

  std::unique_ptr<MLIRContext> context;
  std::vector<CompiledKernel> kernels;
  void *library = nullptr;
  std::string ptxText;
  std::unique_ptr<PtxKernels> ptx;
};

/// `text` with each "$NAME" replaced by its value.
std::string substitute(std::string text, const std::vector<std::pair<std::string, std::string>> &values);

} // namespace mlir::epl::test
