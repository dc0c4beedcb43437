//===- Meeting.h - Work that waits for others -------------------*- C++ -*-===//
//
// Kernels of a library for collectives begin in their turn, like all work, and end when those of other
// members have come: on other devices, in other threads or processes. Such work is a meeting. While one
// waits, other work that is ready goes on, and whoever waits lets others call the driver.
//
// A device may run one meeting at a time. Two of them that nothing orders are reported: with real kernels,
// which occupy the device while they wait, members that begin them in different orders wait for ever. What a
// library has the host compute waits for nobody, and occupies nothing.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cuda.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cuda_double {

/// One that has begun. Its functions are called by one thread at a time, under the driver's lock: they call
/// no function of the driver but eplCudaReport, and do not block.
class Meeting {
public:
  enum class State { waits, complete, failed };

  virtual ~Meeting() = default;
  /// Whether all have come; asked again and again while it waits.
  virtual State ask() = 0;
  /// Writes the results. Called once, when all have come; not if it has failed.
  virtual void end() = 0;
};

struct ByteRange {
  uint64_t begin, size;
};

/// What is enqueued, or a node of a graph: each launch of that begins a meeting anew.
struct MeetingWork {
  std::string name; ///< in findings
  int device;       ///< that it occupies while it waits; -1: none, as a stream that waits for a number does
  std::vector<ByteRange> reads, writes; ///< memory of the device
  std::function<std::unique_ptr<Meeting>()> begin;
  bool occupies = true; ///< the device
};

} // namespace cuda_double

extern "C" {
/// Enqueues a meeting on a stream of its device, or captures it.
CUresult eplCudaMeet(CUstream stream, const cuda_double::MeetingWork &work);
/// A finding of a library.
void eplCudaReport(const char *kind, const char *text);
}
