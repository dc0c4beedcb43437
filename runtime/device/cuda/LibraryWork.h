// What a library does for a command on a card.
#ifndef EPL_RUNTIME_DEVICE_CUDA_LIBRARYWORK_H
#define EPL_RUNTIME_DEVICE_CUDA_LIBRARYWORK_H

#include <cuda.h>

#include <bit>
#include <cstddef>

namespace epl::runtime::cuda {

/// The largest power of two up to 256 that divides an address, or several whose bits are put together: what a
/// library is promised of operands.
inline CUdeviceptr alignmentOf(CUdeviceptr bits) { return CUdeviceptr(1) << std::countr_zero(bits | 256); }

class LibraryWork {
public:
  virtual ~LibraryWork() = default;

  /// Bytes of memory that it works in, which no other call may use meanwhile.
  virtual size_t workspaceBytes() const = 0;
  /// `workspace` has that much. The card is the calling thread's. Throws Error if the library fails.
  virtual void enqueue(CUdeviceptr workspace, CUstream stream) const = 0;
  /// What the library has chosen: the same for calls that it does by the same code.
  virtual const void *choice() const = 0;
  /// Whether it may be captured into a graph, and the host goes on at once.
  virtual bool isCapturable() const { return true; }
};

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_LIBRARYWORK_H
