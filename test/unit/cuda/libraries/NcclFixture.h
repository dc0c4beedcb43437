//===- NcclFixture.h - Members of a communicator ----------------*- C++ -*-===//
#pragma once

#include "test/cuda/driver/Control.h"
#include "test/cuda/libraries/nccl/Functions.h"

#include <cuda.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace nccl_double {

using namespace epl::runtime::cuda; // its `nccl` has names of functions that are also global
using nccl::Comm;
using nccl::DataType;
using nccl::Reduction;
using nccl::Status;
using nccl::UniqueId;

/// One on a device, with a stream and memory.
struct Member {
  explicit Member(int number, int device) : number(number) {
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, device), CUDA_SUCCESS);
    use();
    EXPECT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  }
  explicit Member(int number) : Member(number, number) {}
  Member(const Member &) = delete;
  ~Member() {
    if (comm)
      ncclCommDestroy(comm);
    for (CUdeviceptr each : memory)
      EXPECT_EQ(cuMemFree(each), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
  }

  void use() const { EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS); }
  CUresult wait() const { return cuStreamSynchronize(stream); }

  Status begin(int members, UniqueId id) {
    use();
    return ncclCommInitRank(&comm, members, id, number);
  }

  /// Room for elements, of which nobody has written one.
  template <typename T> T *allocate(size_t count) {
    use();
    CUdeviceptr address = 0;
    EXPECT_EQ(cuMemAlloc(&address, std::max<size_t>(count, 1) * sizeof(T)), CUDA_SUCCESS);
    memory.push_back(address);
    return reinterpret_cast<T *>(address);
  }
  template <typename T> T *put(const std::vector<T> &values) {
    T *address = allocate<T>(values.size());
    write(address, values);
    return address;
  }
  template <typename T> void write(T *address, const std::vector<T> &values) const {
    use();
    if (!values.empty())
      EXPECT_EQ(cuMemcpyHtoD(CUdeviceptr(address), values.data(), values.size() * sizeof(T)), CUDA_SUCCESS);
  }
  /// When the work of the stream is done.
  template <typename T> std::vector<T> get(const T *address, size_t count) const {
    use();
    EXPECT_EQ(wait(), CUDA_SUCCESS);
    std::vector<T> values(count);
    if (count > 0)
      EXPECT_EQ(cuMemcpyDtoH(values.data(), CUdeviceptr(address), count * sizeof(T)), CUDA_SUCCESS);
    return values;
  }

  Status getError() const {
    Status status = Status::internalError;
    EXPECT_EQ(ncclCommGetAsyncError(comm, &status), Status::success);
    return status;
  }

  const int number;
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  Comm comm = nullptr;
  std::vector<CUdeviceptr> memory;
};

using Members = std::vector<std::unique_ptr<Member>>;

inline UniqueId makeId() {
  UniqueId id;
  EXPECT_EQ(ncclGetUniqueId(&id), Status::success);
  return id;
}

inline bool exists(const UniqueId &id) { return access(id.bytes, F_OK) == 0; }

/// All of them in this thread.
inline Members makeMembers(int count, UniqueId id) {
  Members members;
  EXPECT_EQ(ncclGroupStart(), Status::success);
  for (int number = 0; number < count; ++number) {
    members.push_back(std::make_unique<Member>(number));
    EXPECT_EQ(members.back()->begin(count, id), Status::success);
  }
  EXPECT_EQ(ncclGroupEnd(), Status::success);
  return members;
}

/// What `call` gives for each, as one group: what that says.
template <typename Call> Status inGroup(Members &members, Call call) {
  EXPECT_EQ(ncclGroupStart(), Status::success);
  for (auto &each : members)
    call(*each);
  return ncclGroupEnd();
}

inline std::vector<std::string> findings() {
  std::vector<std::string> texts;
  for (size_t i = 0; i < eplCudaCountFindings(); ++i)
    texts.emplace_back(eplCudaGetFinding(i));
  return texts;
}

/// How long members wait, while it lives.
struct Patience {
  explicit Patience(const char *seconds) { setenv("EPL_NCCL_SECONDS", seconds, 1); }
  Patience(const Patience &) = delete;
  ~Patience() { unsetenv("EPL_NCCL_SECONDS"); }
};

} // namespace nccl_double
