//===- Group.h - What a thread asks for at a time ---------------*- C++ -*-===//
//
// Between ncclGroupStart and the last ncclGroupEnd nothing is done; then communicators begin together, and
// work is enqueued in the order of its calls. A call outside is a group of its own.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/cuda/libraries/nccl/MemberMeeting.h"

#include <variant>

namespace nccl_double {

using epl::runtime::cuda::nccl::Comm;

/// Of a handle; null if it is for nothing.
std::shared_ptr<Communicator> find(Comm handle);
/// The handle is for nothing any more.
void forget(Comm handle);

class Group {
public:
  /// That of this thread.
  static Group &get();

  void start() { ++depth; }
  Status end();
  /// The handle is there when all members have come.
  Status begin(Comm *handle, std::shared_ptr<Communicator> communicator);
  Status enqueue(std::shared_ptr<Communicator> own, CUstream stream, std::variant<Collective, Message> what);
  /// A call that cannot be done: then nothing of its group is.
  Status refuse(Status status);

private:
  struct Request {
    std::shared_ptr<Communicator> own;
    CUstream stream;
    std::variant<Collective, std::vector<Message>> what;
  };

  Status beginAll();
  Status addMessage(const std::shared_ptr<Communicator> &own, CUstream stream, const Message &message);
  Status enqueueAll();

  int depth = 0;
  Status refused = Status::success;
  std::vector<std::pair<Comm *, std::shared_ptr<Communicator>>> beginning;
  std::vector<Request> requests;
};

} // namespace nccl_double
