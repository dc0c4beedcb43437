#include "runtime/device/cuda/TransferChains.h"

#include "runtime/Error.h"
#include "runtime/device/cuda/Environment.h"

#include <algorithm>

namespace epl::runtime::cuda {

TransferChains::TransferChains(const Cards &cards, StepWork &work)
    : cards(cards), api(cards.driver()), work(work), limit(readNumber("EPL_DEADLINE_SECONDS", 1800)) {
  for (uint32_t card = 0; card < cards.size(); ++card) {
    cards.use(card);
    streams.push_back(makeStream(api, /*isUrgent=*/true));
  }
}

void TransferChains::start() { deadline = std::chrono::steady_clock::now() + limit; }

void TransferChains::clear() { work.transferMemory().clear(); }

void TransferChains::pack(const StepWork::Item &item) {
  cards.use(cardOf(item));
  for (const KernelCall &call : item.calls.packs)
    work.check(item, call.enqueue(api, stream(cardOf(item))));
}

/// Of several groups all processes begin with the same one.
std::vector<const StepWork::Item *> TransferChains::inOrder(std::span<const StepWork::Item> items) const {
  std::vector<const StepWork::Item *> ordered;
  for (const StepWork::Item &item : items)
    if (item.calls.transfer)
      ordered.push_back(&item);
  std::ranges::sort(ordered, [&](const StepWork::Item *one, const StepWork::Item *other) {
    return std::tie(work.groupOf(*one), one->rank) < std::tie(work.groupOf(*other), other->rank);
  });
  return ordered;
}

void TransferChains::run(std::span<const StepWork::Item> items) {
  std::vector<const StepWork::Item *> ordered = inOrder(items);
  if (ordered.empty())
    return;
  callLibrary(ordered);
  exchange(ordered);
}

nccl::Status TransferChains::callTogether(const nccl::Nccl &library, const Cards &cards,
                                          const std::vector<ChainedCall> &calls) {
  nccl::Status status = library.ncclGroupStart();
  for (const ChainedCall &each : calls) {
    if (status == nccl::Status::success && !cards.tryUse(each.card))
      status = nccl::Status::cudaError;
    if (status == nccl::Status::success)
      status = each.call.enqueue(library, each.comm, each.stream);
  }
  nccl::Status ended = library.ncclGroupEnd();
  return status == nccl::Status::success ? ended : status;
}

/// The first calls of groups have what they need for themselves.
nccl::Status TransferChains::callFirst(std::span<const StepWork::Item *const> items) {
  std::set<Group> groups;
  for (const StepWork::Item *item : items)
    if (item->calls.transfer->comm)
      groups.insert(work.groupOf(*item));
  Communicators &communicators = work.communicators();
  return communicators.callFirst(groups, [&library = communicators.library(), &cards = cards, calls = calls] {
    return callTogether(library, cards, calls);
  });
}

void TransferChains::callLibrary(std::span<const StepWork::Item *const> items) {
  const Communicators &communicators = work.communicators();
  bool areConnected = true;
  calls.clear();
  for (const StepWork::Item *item : items) {
    const TransferCall &transfer = *item->calls.transfer;
    if (!transfer.comm)
      continue;
    areConnected &= communicators.areConnected(work.groupOf(*item));
    for (const LibraryCall &call : transfer.calls)
      calls.push_back({cardOf(*item), stream(cardOf(*item)), transfer.comm, call});
  }
  if (calls.empty())
    return;
  const nccl::Nccl &library = communicators.library();
  nccl::Status status{};
  try {
    status = areConnected ? callTogether(library, cards, calls) : callFirst(items);
  } catch (const Error &error) {
    throw Error(work.describe(*items.front()) + ": " + error.what());
  }
  if (status != nccl::Status::success)
    throw Error(work.describe(*items.front()) + ": NCCL says \"" + library.ncclGetErrorString(status) + "\"");
}

/// All is sent before anything is waited for.
void TransferChains::exchange(std::span<const StepWork::Item *const> items) {
  for (bool isSending : {true, false})
    for (const StepWork::Item *item : items) {
      auto &[comm, room, calls] = *item->calls.transfer;
      CUstream own = stream(cardOf(*item));
      cards.use(cardOf(*item));
      if (room)
        work.check(*item, isSending ? room->send(calls, own) : room->receive(calls, own));
    }
}

void TransferChains::synchronize() const noexcept {
  for (const Stream &stream : streams)
    api.cuStreamSynchronize(stream);
}

std::string TransferChains::progress() { return work.transfers() ? findProblem() : ""; }

std::string TransferChains::findProblem() {
  work.transferMemory().progress();
  if (std::string error = work.communicators().error(); !error.empty())
    return error;
  if (std::chrono::steady_clock::now() < deadline)
    return "";
  return "devices wait for others, and the step has not ended after " + std::to_string(limit.count()) +
         " s, which EPL_DEADLINE_SECONDS sets";
}

/// Calls of NCCL may be behind what waits for messages.
void TransferChains::giveUp() noexcept {
  if (!work.transfers() || work.communicators().peers().isAlone())
    return;
  work.transferMemory().cancel();
  work.communicators().abort();
}

} // namespace epl::runtime::cuda
