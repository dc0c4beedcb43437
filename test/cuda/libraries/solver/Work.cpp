//===- Work.cpp - What a library has the host compute ---------------------===//

#include "test/cuda/libraries/solver/Work.h"

#include <algorithm>

using namespace solver_double;
using cuda_double::Meeting;

namespace {

class Computation final : public Meeting {
public:
  explicit Computation(std::function<void()> compute) : compute(std::move(compute)) {}
  State ask() override { return State::complete; }
  void end() override { compute(); }

private:
  std::function<void()> compute;
};

} // namespace

void Touched::add(std::vector<cuda_double::ByteRange> &ranges, const void *begin, size_t size) {
  if (size > 0)
    ranges.push_back({reinterpret_cast<uint64_t>(begin), size});
}

void Touched::add(std::vector<cuda_double::ByteRange> &ranges, const Matrix &matrix, Part part) {
  for (int64_t column = 0; column < matrix.columns; ++column) {
    int64_t first = 0, last = matrix.rows;
    if (part == Part::lower || part == Part::belowDiagonal)
      first = std::min(last, column + (part == Part::belowDiagonal));
    if (part == Part::upper || part == Part::aboveDiagonal)
      last = std::min(last, column + (part == Part::upper));
    const auto *begin = static_cast<const std::byte *>(matrix.begin);
    add(ranges, begin + size_t(column * matrix.leading + first) * matrix.element,
        size_t(last - first) * matrix.element);
  }
}

bool Touched::enqueue(const char *name, CUstream stream, std::function<void()> compute) {
  CUdevice device = 0;
  if (cuCtxGetDevice(&device) != CUDA_SUCCESS)
    return false;
  work.name = name;
  work.device = device;
  work.occupies = false;
  work.begin = [compute = std::move(compute)] { return std::make_unique<Computation>(compute); };
  return eplCudaMeet(stream, work) == CUDA_SUCCESS;
}
