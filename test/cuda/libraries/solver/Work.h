//===- Work.h - What a library has the host compute -------------*- C++ -*-===//
//
// On a stream of the stand-in of the driver, in its turn, with the bytes that it touches told to it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/cuda/driver/Meeting.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace solver_double {

/// A matrix in columns.
struct Matrix {
  const void *begin;
  int64_t rows, columns, leading;
  size_t element; ///< bytes of one
};

/// Which part of a matrix is touched.
enum class Part { all, upper, lower, aboveDiagonal, belowDiagonal };

/// What work touches, by address.
class Touched {
public:
  void read(const Matrix &matrix, Part part = Part::all) { add(work.reads, matrix, part); }
  void write(const Matrix &matrix, Part part = Part::all) { add(work.writes, matrix, part); }
  void readWrite(const Matrix &matrix, Part part = Part::all) { read(matrix, part), write(matrix, part); }
  void write(const void *begin, size_t size) { add(work.writes, begin, size); }
  void read(const void *begin, size_t size) { add(work.reads, begin, size); }

  /// Enqueues what `compute` does with it on a stream; true if the driver has taken it.
  bool enqueue(const char *name, CUstream stream, std::function<void()> compute);

private:
  static void add(std::vector<cuda_double::ByteRange> &ranges, const Matrix &matrix, Part part);
  static void add(std::vector<cuda_double::ByteRange> &ranges, const void *begin, size_t size);

  cuda_double::MeetingWork work;
};

} // namespace solver_double
