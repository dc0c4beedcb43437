// The library NCCL, found when it is needed: nothing is linked. Its header comes with a package of 200 MB, so
// that what is used of it stands here; test/unit/cuda/plugin/NcclTest.cpp compares it with that.
#ifndef EPL_RUNTIME_DEVICE_CUDA_COLLECTIVES_NCCL_H
#define EPL_RUNTIME_DEVICE_CUDA_COLLECTIVES_NCCL_H

#include <cuda.h>

#include <cstddef>

namespace epl::runtime::cuda::nccl {

enum class Status : int {
  success = 0,
  cudaError = 1,
  systemError = 2,
  internalError = 3,
  invalidArgument = 4,
  invalidUsage = 5,
  remoteError = 6,
  inProgress = 7
};
enum class DataType : int {
  i8 = 0,
  u8 = 1,
  i32 = 2,
  u32 = 3,
  i64 = 4,
  u64 = 5,
  f16 = 6,
  f32 = 7,
  f64 = 8,
  bf16 = 9
};
enum class Reduction : int { sum = 0, prod = 1, max = 2, min = 3 };

/// What members of a communicator know one another by; made by one of them.
struct UniqueId {
  char bytes[128];
};

using Comm = struct CommT *; ///< of one member

// NOLINTBEGIN(readability-identifier-naming): the library's names
using ncclGetVersion = Status(int *); ///< 22809 is 2.28.9
using ncclGetErrorString = const char *(Status);
using ncclGetUniqueId = Status(UniqueId *);
using ncclCommInitRank = Status(Comm *, int members, UniqueId, int member);
using ncclCommDestroy = Status(Comm);
/// Ends what has begun, too. From any thread.
using ncclCommAbort = Status(Comm);
using ncclCommGetAsyncError = Status(Comm, Status *);
using ncclGroupStart = Status();
using ncclGroupEnd = Status();
using ncclAllReduce = Status(const void *from, void *to, size_t count, DataType, Reduction, Comm, CUstream);
using ncclReduce = Status(const void *from, void *to, size_t count, DataType, Reduction, int root, Comm,
                          CUstream);
using ncclBroadcast = Status(const void *from, void *to, size_t count, DataType, int root, Comm, CUstream);
using ncclAllGather = Status(const void *from, void *to, size_t countEach, DataType, Comm, CUstream);
using ncclReduceScatter = Status(const void *from, void *to, size_t countEach, DataType, Reduction, Comm,
                                 CUstream);
using ncclSend = Status(const void *from, size_t count, DataType, int member, Comm, CUstream);
using ncclRecv = Status(void *to, size_t count, DataType, int member, Comm, CUstream);
// NOLINTEND(readability-identifier-naming)

/// All that is used of the library.
#define EPL_NCCL_FUNCTIONS(DO)                                                                               \
  DO(ncclGetVersion)                                                                                         \
  DO(ncclGetErrorString)                                                                                     \
  DO(ncclGetUniqueId)                                                                                        \
  DO(ncclCommInitRank)                                                                                       \
  DO(ncclCommDestroy)                                                                                        \
  DO(ncclCommAbort)                                                                                          \
  DO(ncclCommGetAsyncError)                                                                                  \
  DO(ncclGroupStart)                                                                                         \
  DO(ncclGroupEnd)                                                                                           \
  DO(ncclAllReduce)                                                                                          \
  DO(ncclReduce)                                                                                             \
  DO(ncclBroadcast)                                                                                          \
  DO(ncclAllGather)                                                                                          \
  DO(ncclReduceScatter)                                                                                      \
  DO(ncclSend)                                                                                               \
  DO(ncclRecv)

/// The library of the process: what EPL_NCCL names, else `libnccl.so.2` as runtime/device/cpu/Library.h finds
/// it.
struct Nccl {
  /// Opens it the first time; null if there is none. Throws Error if it lacks a function, or if the one that
  /// is named cannot be loaded.
  static const Nccl *get();

  /// Its number as ncclGetVersion says. Throws Error if that fails.
  int version() const;
  /// Throws Error if a call has failed: `what` could not be done, and why.
  void check(Status status, const char *what) const;

#define EPL_DECLARE(name) nccl::name *name = nullptr; // NOLINT(bugprone-macro-parentheses)
  EPL_NCCL_FUNCTIONS(EPL_DECLARE)
#undef EPL_DECLARE
};

} // namespace epl::runtime::cuda::nccl

#endif // EPL_RUNTIME_DEVICE_CUDA_COLLECTIVES_NCCL_H
