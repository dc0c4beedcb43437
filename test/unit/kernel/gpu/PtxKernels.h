//===- PtxKernels.h - Kernels of PTX run in a test --------------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace mlir::epl::test {

/// How a kernel is launched: the plan's Grid, and the kernel's extent.
struct PtxLaunch {
  unsigned blocks, threads, shared;
  int64_t extent, slice;
  uint64_t seed; ///< of the order in which threads run
};

/// Memory of a launch. What nobody has written must not be read.
struct PtxBuffer {
  std::vector<char> bytes;
  bool isWritten;
};

/// The kernels of a module, on the stand-in of a GPU.
class PtxKernels {
public:
  explicit PtxKernels(const std::string &ptx);
  ~PtxKernels();

  /// What is wrong with the module; empty if nothing is.
  const std::string &getError() const { return error; }
  /// Runs a kernel on buffers, which it has by their indices in `arguments`; -1 is null. Each is aligned for
  /// elements of 8 bytes only. Gives what the stand-in has found, a line each; empty if nothing.
  std::string run(const std::string &symbol, const PtxLaunch &launch, std::vector<PtxBuffer> &buffers,
                  std::span<const int> arguments, std::span<const int64_t> coordinates) const;

private:
  struct Parsed;
  std::unique_ptr<Parsed> parsed;
  std::string error;
};

} // namespace mlir::epl::test
