#include "runtime/device/cuda/collectives/Communicators.h"

#include "runtime/Error.h"
#include "runtime/device/cuda/Environment.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

namespace epl::runtime::cuda {

Communicators::Communicators(std::shared_ptr<const Cards> shared, std::shared_ptr<const Peers> peers)
    : cards(std::move(shared)), others(std::move(peers)), api(nccl::Nccl::get()),
      isOrdered(isSwitchedOn("EPL_CUDA_SAME_BITS")) {
  std::array<int, 2> own = {api ? api->version() : 0, isOrdered};
  std::vector<Exchange::Bytes> said = others->say(std::as_bytes(std::span(own)));
  for (size_t process = 0; process < said.size(); ++process) {
    std::array<int, 2> other{};
    std::memcpy(other.data(), said[process].data(), std::min(said[process].size(), sizeof(other)));
    isEverywhere &= other[0] != 0;
    if (api && other[0] != 0 && other[0] != own[0])
      throw Error("NCCL is of version " + std::to_string(own[0]) + " in process " +
                  std::to_string(others->processes().own) + ", and " + std::to_string(other[0]) +
                  " in process " + std::to_string(process) + ": expected the same in all");
    if (other[1] != own[1])
      throw Error("EPL_CUDA_SAME_BITS is " + std::string(isOrdered ? "1" : "0") +
                  " in the environment of process " + std::to_string(others->processes().own) +
                  ", and not in that of process " + std::to_string(process) + ": expected the same in all");
  }
}

Communicators::~Communicators() {
  for (const auto &[place, comm] : comms)
    if (!isAborted && comm && cards->tryUse(cards->cardOf(place.second)))
      api->ncclCommDestroy(comm);
}

bool Communicators::connects(const Group &group) const {
  std::set<uint32_t> distinct;
  for (uint32_t device : group)
    distinct.insert(others->cardOf(device));
  return isEverywhere && distinct.size() == group.size();
}

bool Communicators::crossesProcesses(const Group &group) const {
  const Processes &processes = others->processes();
  return std::ranges::any_of(
      group, [&](uint32_t device) { return processes.of(device) != processes.of(group.front()); });
}

void Communicators::open(const std::vector<Group> &groups) {
  std::vector<Group> fresh;
  for (const Group &group : groups)
    if (!opened.contains(group) && std::ranges::find(fresh, group) == fresh.end())
      fresh.push_back(group);
  if (fresh.empty())
    return;
  try {
    connect(fresh);
  } catch (...) {
    abort();
    throw;
  }
  opened.insert(fresh.begin(), fresh.end());
}

/// The process of a group's first device says by which id its members know one another.
void Communicators::connect(const std::vector<Group> &fresh) {
  std::vector<nccl::UniqueId> own;
  for (const Group &group : fresh)
    if (others->isHere(group.front()))
      api->check(api->ncclGetUniqueId(&own.emplace_back()), "cannot connect cards");
  std::vector<Exchange::Bytes> said = others->say(std::as_bytes(std::span(own)));
  std::vector<size_t> used(said.size());
  for (const Group &group : fresh) {
    uint32_t process = others->processes().of(group.front());
    nccl::UniqueId id{};
    if (said[process].size() < used[process] + sizeof(id))
      throw Error("process " + std::to_string(process) + " connects other cards: the plans differ");
    std::memcpy(&id, said[process].data() + used[process], sizeof(id));
    used[process] += sizeof(id);
    make(group, id);
  }
}

namespace {
/// Members of a group that are made together.
struct NewMembers {
  std::vector<std::pair<int, uint32_t>> numbers; // and their cards
  std::vector<nccl::Comm> comms;

  nccl::Status make(const nccl::Nccl &api, const Cards &cards, int count, const nccl::UniqueId &id) {
    comms.resize(numbers.size());
    nccl::Status status = api.ncclGroupStart();
    for (size_t i = 0; i < numbers.size() && status == nccl::Status::success; ++i) {
      auto [number, card] = numbers[i];
      status =
          cards.tryUse(card) ? api.ncclCommInitRank(&comms[i], count, id, number) : nccl::Status::cudaError;
    }
    nccl::Status ended = api.ncclGroupEnd();
    return status == nccl::Status::success ? ended : status;
  }
};
} // namespace

void Communicators::make(const Group &group, const nccl::UniqueId &id) {
  auto members = std::make_shared<NewMembers>();
  for (size_t member = 0; member < group.size(); ++member)
    if (others->isHere(group[member]))
      members->numbers.emplace_back(int(member), cards->cardOf(group[member]));
  if (members->numbers.empty())
    return;
  auto begin = [members, id, api = api, cards = cards, count = int(group.size())] {
    return members->make(*api, *cards, count, id);
  };
  nccl::Status status = others->isAlone() ? begin() : runBeside(begin);
  for (size_t i = 0; i < members->numbers.size(); ++i)
    comms[{group, group[size_t(members->numbers[i].first)]}] = members->comms[i];
  api->check(status, "cannot connect cards");
}

nccl::Status Communicators::callFirst(const std::set<Group> &groups,
                                      const std::function<nccl::Status()> &calls) {
  nccl::Status status = runBeside(calls);
  connected.insert(groups.begin(), groups.end());
  return status;
}

/// What waits for processes that do not come, and cannot be aborted, waits for ever, without this thread.
nccl::Status Communicators::runBeside(const std::function<nccl::Status()> &calls) {
  struct Run {
    nccl::Status status = nccl::Status::success;
    std::atomic<bool> isDone = false;
  };
  auto run = std::make_shared<Run>();
  std::thread([run, calls] {
    run->status = calls();
    run->isDone = true;
  }).detach();
  std::string why;
  while (!run->isDone && why.empty()) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    why = whyGivenUp();
  }
  if (run->isDone)
    return run->status;
  abort();
  for (int i = 0; i < 1000 && !run->isDone; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  throw Error(why);
}

nccl::Comm Communicators::find(const Group &group, uint32_t device) const {
  return comms.at({group, device});
}

std::string Communicators::error() const {
  for (const auto &[place, comm] : comms) {
    nccl::Status status = nccl::Status::success;
    if (isAborted || api->ncclCommGetAsyncError(comm, &status) != nccl::Status::success)
      continue;
    if (status != nccl::Status::success && status != nccl::Status::inProgress)
      return std::string("between cards: NCCL says \"") + api->ncclGetErrorString(status) + "\"";
  }
  return "";
}

/// All together: kernels of one may wait for cards that are busy with another one.
void Communicators::abort() noexcept {
  if (std::exchange(isAborted, true) || comms.empty())
    return;
  api->ncclGroupStart();
  for (const auto &[place, comm] : comms)
    if (comm && cards->tryUse(cards->cardOf(place.second)))
      api->ncclCommAbort(comm);
  api->ncclGroupEnd();
}

} // namespace epl::runtime::cuda
