//===- Nccl.cpp - A stand-in of NCCL --------------------------------------===//
//
// libnccl.so.2 for the stand-in of the driver, on which its calls are meetings (test/cuda/driver/Meeting.h).
// Members meet in a folder (nccl/Place.h), so they may be in one thread, in several, or in several processes
// of a host. Sums go round a ring, so their last bits are not those of members in order.
//
// It is stricter than NCCL, which mostly hangs, or computes something, where callers are wrong. Findings are
// calls of one number that differ between members, sends and receives that differ, operands that overlap,
// calls outside of a group by a thread that calls for several members, what is enqueued on a communicator
// that is gone, and waiting for more than EPL_NCCL_SECONDS (20). Then calls of the communicator fail, and
// nothing waits for ever.
//
// With EPL_NCCL_CONNECTS in the environment the first collective of a communicator waits on the host for all
// members, as NCCL's does, which connects them then. What EPL_NCCL_LOST names (a file of Communicator.h, such
// as "member.1") never comes: a fault on demand.
//
//===----------------------------------------------------------------------===//

#include "test/cuda/libraries/nccl/Functions.h"
#include "test/cuda/libraries/nccl/Group.h"

#include <cstring>

using namespace nccl_double;
using epl::runtime::cuda::nccl::UniqueId;

/// Enqueues what `make` gives for a member that may call.
template <typename Make> static Status call(Comm handle, CUstream stream, Make make) {
  std::shared_ptr<Communicator> own = find(handle);
  if (!own)
    return Group::get().refuse(Status::invalidArgument);
  if (Status status = own->getStatus(); status != Status::success)
    return Group::get().refuse(status);
  auto what = make(*own);
  if (!what)
    return Group::get().refuse(Status::invalidArgument);
  return Group::get().enqueue(std::move(own), stream, *what);
}

static bool isMember(int member, const Communicator &own) { return member >= 0 && member < own.members; }
static bool isType(DataType type) { return type >= DataType::i8 && type <= DataType::bf16; }

/// A collective, if its arguments are sound. What a member neither reads nor writes may be null.
static Status callCollective(const void *from, void *to, Call said, Comm handle, CUstream stream) {
  return call(handle, stream, [&](const Communicator &own) -> std::optional<Collective> {
    bool isRoot = own.member == said.root;
    bool reads = said.kind != Kind::broadcast || isRoot, writes = said.kind != Kind::reduce || isRoot;
    bool isSound = isType(said.type) && said.reduction >= Reduction::sum &&
                   said.reduction <= Reduction::min && isMember(said.root, own);
    if (!isSound || (said.count > 0 && ((reads && !from) || (writes && !to))))
      return std::nullopt;
    return Collective{said, from, to};
  });
}

static Status callMessage(const Message &message, Comm handle, CUstream stream) {
  return call(handle, stream, [&](const Communicator &own) -> std::optional<Message> {
    bool isSound = isType(message.content.type) && isMember(message.other, own);
    if (!isSound || (message.content.count > 0 && !message.address))
      return std::nullopt;
    return message;
  });
}

extern "C" {

Status ncclGetVersion(int *version) {
  *version = 22809;
  return Status::success;
}

const char *ncclGetErrorString(Status status) {
  static const char *const texts[] = {"no error",
                                      "unhandled cuda error",
                                      "unhandled system error",
                                      "internal error",
                                      "invalid argument",
                                      "invalid usage",
                                      "remote process exited or there was a network error",
                                      "operation in progress"};
  auto number = static_cast<size_t>(status);
  return number < std::size(texts) ? texts[number] : "unknown result code";
}

Status ncclGetUniqueId(UniqueId *id) {
  std::string path = Place::make();
  if (path.empty() || path.size() >= sizeof(id->bytes))
    return Status::systemError;
  *id = {};
  std::memcpy(id->bytes, path.data(), path.size());
  return Status::success;
}

/// The member is on the device of the thread.
Status ncclCommInitRank(Comm *comm, int members, UniqueId id, int member) {
  CUdevice device = 0;
  *comm = nullptr;
  if (members < 1 || member < 0 || member >= members)
    return Group::get().refuse(Status::invalidArgument);
  if (cuCtxGetDevice(&device) != CUDA_SUCCESS)
    return Group::get().refuse(Status::cudaError);
  std::string path(id.bytes, strnlen(id.bytes, sizeof(id.bytes)));
  return Group::get().begin(comm, std::make_shared<Communicator>(path, members, member, device));
}

Status ncclCommDestroy(Comm comm) {
  std::shared_ptr<Communicator> own = find(comm);
  if (!own)
    return Status::invalidArgument;
  if (own->numBegun > 0)
    report("the communicator of member " + std::to_string(own->member) +
           " is destroyed while its work waits");
  forget(comm);
  own->destroy();
  return Status::success;
}

Status ncclCommAbort(Comm comm) {
  std::shared_ptr<Communicator> own = find(comm);
  if (!own)
    return Status::invalidArgument;
  forget(comm);
  own->abort();
  return Status::success;
}

Status ncclCommGetAsyncError(Comm comm, Status *status) {
  std::shared_ptr<Communicator> own = find(comm);
  if (!own)
    return Status::invalidArgument;
  *status = own->getStatus();
  return Status::success;
}

Status ncclGroupStart() {
  Group::get().start();
  return Status::success;
}

Status ncclGroupEnd() { return Group::get().end(); }

Status ncclAllReduce(const void *from, void *to, size_t count, DataType type, Reduction reduction, Comm comm,
                     CUstream stream) {
  return callCollective(from, to, {Kind::allReduce, type, count, reduction}, comm, stream);
}

Status ncclReduce(const void *from, void *to, size_t count, DataType type, Reduction reduction, int root,
                  Comm comm, CUstream stream) {
  return callCollective(from, to, {Kind::reduce, type, count, reduction, root}, comm, stream);
}

Status ncclBroadcast(const void *from, void *to, size_t count, DataType type, int root, Comm comm,
                     CUstream stream) {
  return callCollective(from, to, {Kind::broadcast, type, count, Reduction::sum, root}, comm, stream);
}

Status ncclAllGather(const void *from, void *to, size_t countEach, DataType type, Comm comm,
                     CUstream stream) {
  return callCollective(from, to, {Kind::allGather, type, countEach}, comm, stream);
}

Status ncclReduceScatter(const void *from, void *to, size_t countEach, DataType type, Reduction reduction,
                         Comm comm, CUstream stream) {
  return callCollective(from, to, {Kind::reduceScatter, type, countEach, reduction}, comm, stream);
}

Status ncclSend(const void *from, size_t count, DataType type, int member, Comm comm, CUstream stream) {
  return callMessage({true, member, const_cast<void *>(from), {type, count}}, comm, stream);
}

Status ncclRecv(void *to, size_t count, DataType type, int member, Comm comm, CUstream stream) {
  return callMessage({false, member, to, {type, count}}, comm, stream);
}

} // extern "C"
