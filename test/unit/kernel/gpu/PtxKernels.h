//===- PtxKernels.h - Kernels of PTX run in a test --------------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mlir::epl::test {

/// How a phase of a kernel is launched: its entry and the plan's Grid.
struct PtxLaunch {
  std::string symbol;
  unsigned blocks, threads, shared;
  int64_t extent, slice;
  /// Flags, and what they must be or nothing is done. None: no list of conditions.
  std::vector<std::pair<bool, bool>> conditions = {};
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
  /// Runs the phases of a kernel on buffers, which it has by their indices in `arguments`; -1 is null. They
  /// are aligned as little as plans allow: by the largest power of two up to 16 that divides their size.
  /// `seed` chooses the order in which threads run. Gives what the stand-in has found, a line each; empty if
  /// nothing.
  std::string run(std::span<const PtxLaunch> phases, std::vector<PtxBuffer> &buffers,
                  std::span<const int> arguments, std::span<const int64_t> coordinates, uint64_t seed) const;

private:
  struct Parsed;
  std::unique_ptr<Parsed> parsed;
  std::string error;
};

} // namespace mlir::epl::test
