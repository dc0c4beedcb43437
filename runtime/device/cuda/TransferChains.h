// What the commands of a step move between cards and processes, on a stream of each card.
//
// Calls of NCCL, and messages through the host, are on one stream of a card, in the order of all commands,
// which is one in all processes: of two that nobody orders, cards could begin one here and the other one
// there, and wait for ever. Those of one command begin together, in the order of their groups: a thread that
// drives several cards may not wait for one of them between.
//
// None is captured: whether NCCL's calls are, and by which capture, has to be alike in all processes, and
// each of them captures when its own addresses have changed.
#ifndef EPL_RUNTIME_DEVICE_CUDA_TRANSFERCHAINS_H
#define EPL_RUNTIME_DEVICE_CUDA_TRANSFERCHAINS_H

#include "runtime/device/cuda/StepWork.h"

#include <chrono>

namespace epl::runtime::cuda {

/// The arguments outlive it.
class TransferChains {
public:
  TransferChains(const Cards &cards, StepWork &work);

  /// A step begins, whose deadline is set.
  void start();
  /// Its commands are about to be enqueued: nothing has been used.
  void clear();
  /// That on which a card's transfers are enqueued.
  CUstream stream(uint32_t card) const { return streams[card]; }
  /// Puts together what an item sends another process, on that stream.
  void pack(const StepWork::Item &item);
  /// The transfers of the items of one command, on streams that wait for all that these need. Throws Error
  /// that names it.
  void run(std::span<const StepWork::Item> items);
  /// Waits for all, also of a step that has failed.
  void synchronize() const noexcept;

  /// To be called again and again while the step runs: messages go on. Why what has begun will not end, as
  /// NCCL says so, or as it has taken longer than EPL_DEADLINE_SECONDS (1800); else empty.
  std::string progress();
  /// The same, whether the step has transfers or not: while groups are connected that is not known.
  std::string findProblem();
  /// The step is given up: what has begun ends without other processes, and no step begins any more. In a
  /// process that is alone all have come, and it ends by itself.
  void giveUp() noexcept;

private:
  /// A call of the library on a card's stream.
  struct ChainedCall {
    uint32_t card;
    CUstream stream;
    nccl::Comm comm;
    LibraryCall call;
  };
  static nccl::Status callTogether(const nccl::Nccl &library, const Cards &cards,
                                   const std::vector<ChainedCall> &calls);
  nccl::Status callFirst(std::span<const StepWork::Item *const> items);
  uint32_t cardOf(const StepWork::Item &item) const { return work.localRanks()[item.rank].card; }
  std::vector<const StepWork::Item *> inOrder(std::span<const StepWork::Item> items) const;
  void callLibrary(std::span<const StepWork::Item *const> items);
  void exchange(std::span<const StepWork::Item *const> items);

  const Cards &cards;
  const Driver &api;
  StepWork &work;
  const std::chrono::seconds limit; // of a step whose devices wait for others: longer than any takes
  std::chrono::steady_clock::time_point deadline;
  std::vector<Stream> streams;    // of each card
  std::vector<ChainedCall> calls; // that are about to be made
};

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_TRANSFERCHAINS_H
