//===- Group.cpp - What a thread asks for at a time -----------------------===//

#include "test/cuda/libraries/nccl/Group.h"

#include <algorithm>
#include <mutex>
#include <unistd.h>
#include <utility>

using namespace nccl_double;

//===----------------------------------------------------------------------===//
// Communicators of the process
//===----------------------------------------------------------------------===//

namespace {
struct Process {
  /// What a process does not end itself ends with it. A copy of a process has no members.
  ~Process() {
    for (auto &[handle, communicator] : communicators)
      if (process == getpid())
        communicator->abort();
  }

  std::mutex mutex;
  std::map<Comm, std::shared_ptr<Communicator>> communicators;
  /// Members that a thread has called for, by communicator.
  std::map<std::pair<uint64_t, std::string>, std::set<int>> calledFor;
  const pid_t process = getpid();
};
} // namespace

static Process &getProcess() {
  static Process process;
  return process;
}

static Comm keep(std::shared_ptr<Communicator> communicator) {
  std::lock_guard guard(getProcess().mutex);
  auto handle = reinterpret_cast<Comm>(communicator.get());
  getProcess().communicators[handle] = std::move(communicator);
  return handle;
}

std::shared_ptr<Communicator> nccl_double::find(Comm handle) {
  std::lock_guard guard(getProcess().mutex);
  auto found = getProcess().communicators.find(handle);
  return found == getProcess().communicators.end() ? nullptr : found->second;
}

void nccl_double::forget(Comm handle) {
  std::lock_guard guard(getProcess().mutex);
  auto node = getProcess().communicators.extract(handle);
  for (auto &[key, members] : getProcess().calledFor)
    if (node && key.second == node.mapped()->place.getPath())
      members.erase(node.mapped()->member);
  std::erase_if(getProcess().calledFor, [](const auto &each) { return each.second.empty(); });
}

/// A number that no other thread has had.
static uint64_t numberOfThread() {
  static std::atomic<uint64_t> next = 0;
  static thread_local const uint64_t number = next++;
  return number;
}

/// For how many members of a communicator this thread has called, with this one.
static size_t countMembers(const Communicator &own) {
  std::lock_guard guard(getProcess().mutex);
  std::set<int> &members = getProcess().calledFor[{numberOfThread(), own.place.getPath()}];
  members.insert(own.member);
  return members.size();
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

Group &Group::get() {
  static thread_local Group group;
  return group;
}

Status Group::refuse(Status status) {
  if (depth > 0 && refused == Status::success)
    refused = status;
  return status;
}

Status Group::begin(Comm *handle, std::shared_ptr<Communicator> communicator) {
  start();
  beginning.emplace_back(handle, std::move(communicator));
  return end();
}

Status Group::addMessage(const std::shared_ptr<Communicator> &own, CUstream stream, const Message &message) {
  for (Request &request : requests) {
    auto *messages = std::get_if<std::vector<Message>>(&request.what);
    if (request.own != own || !messages)
      continue;
    if (request.stream != stream) {
      report("messages of member " + std::to_string(own->member) + " in one group are on different streams");
      return refuse(Status::invalidUsage);
    }
    messages->push_back(message);
    return Status::success;
  }
  requests.push_back({own, stream, std::vector<Message>{message}});
  return Status::success;
}

/// With one thread for several members the first call outside of a group may wait for the others for ever.
Status Group::enqueue(std::shared_ptr<Communicator> own, CUstream stream,
                      std::variant<Collective, Message> what) {
  if (countMembers(*own) > 1 && depth == 0)
    report("a thread that calls for several members calls for member " + std::to_string(own->member) +
           " outside of a group");
  start();
  if (const auto *message = std::get_if<Message>(&what)) {
    Status status = addMessage(own, stream, *message);
    Status ended = end();
    return status == Status::success ? ended : status;
  }
  requests.push_back({std::move(own), stream, std::get<Collective>(what)});
  return end();
}

Status Group::beginAll() {
  std::vector<std::shared_ptr<Communicator>> communicators(beginning.size());
  std::ranges::transform(beginning, communicators.begin(), [](const auto &each) { return each.second; });
  Status status = join(communicators);
  for (auto &[handle, communicator] : std::exchange(beginning, {}))
    *handle = status == Status::success ? keep(std::move(communicator)) : nullptr;
  return status;
}

Status Group::enqueueAll() {
  std::vector<Request> asked = std::exchange(requests, {});
  std::vector<std::shared_ptr<Communicator>> communicators;
  for (const Request &request : asked)
    if (std::holds_alternative<Collective>(request.what))
      communicators.push_back(request.own);
  if (Status status = connect(communicators); status != Status::success)
    return status;
  for (const Request &request : asked) {
    cuda_double::MeetingWork work =
        std::visit([&](const auto &what) { return makeWork(request.own, what); }, request.what);
    if (eplCudaMeet(request.stream, work) != CUDA_SUCCESS)
      return Status::cudaError;
  }
  return Status::success;
}

Status Group::end() {
  if (depth == 0)
    return Status::invalidUsage;
  if (--depth > 0)
    return Status::success;
  Status status = std::exchange(refused, Status::success);
  if (status != Status::success) {
    beginning.clear();
    requests.clear();
    return status;
  }
  if (!beginning.empty())
    status = beginAll();
  if (status == Status::success)
    return enqueueAll();
  requests.clear();
  return status;
}
