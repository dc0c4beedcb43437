// What steps of a session take from outside, and give there.
#ifndef EPL_RUNTIME_SESSION_OUTSIDETRANSFERS_H
#define EPL_RUNTIME_SESSION_OUTSIDETRANSFERS_H

#include "runtime/executor/Frame.h"
#include "runtime/session/Call.h"
#include "runtime/session/Outside.h"
#include "runtime/session/SlotMemory.h"

#include <atomic>
#include <memory>

namespace epl::runtime {

/// The slots of a plan that are pulled and pushed; made once for all steps of a session.
struct OutsideSlots {
  explicit OutsideSlots(const LoadedPlan &plan);

  bool any() const { return !pulled.empty() || hasPushed; }
  /// All that is pulled, in that order.
  std::vector<Outside::Wanted> wanted() const;

  std::vector<uint32_t> pulled;    ///< in the order in which the plan uses them
  std::vector<HostTensor> tensors; ///< of each slot that is pulled, where it comes
  std::vector<uint32_t> numPushes; ///< of each slot, how many ranks of all programs push it
  bool hasPushed = false;
};

/// The pulls and pushes of a step. A pull is complete once the whole tensor is in memory of the host, and the
/// rank has its block of it; the last rank that pushes hands a tensor over. Several threads call it at once.
class OutsideTransfers final : public Outside::Listener {
public:
  /// What it is made of outlives it.
  struct Setup {
    const LoadedPlan &plan;
    const Slots &slots;
    const std::vector<SlotMemory> &memory; // of each part
    const OutsideSlots &own;
    Executor &executor;
  };
  OutsideTransfers(const Setup &setup, std::shared_ptr<Outside> outside, std::shared_ptr<Call> call);

  /// Asks for all that is pulled. Throws Error if that fails.
  void begin();
  /// Whether all of it is there.
  bool havePulled() const { return missing.load(std::memory_order_acquire) == 0; }
  /// Whether that of a slot is there, after which a rank has its block of it. Throws Error if that fails.
  bool pull(Slots::PartSlot slot, uint32_t rank);
  /// A rank has its block of a result: hands `tensor` over when all ranks have. Throws Error if it fails.
  void push(Slots::PartSlot slot, uint32_t rank, const HostTensor &tensor);
  /// The step has ended.
  void end() noexcept { outside->end(); }

  void arrived(uint32_t slot) override;
  void failed(const std::string &reason) override { call->cancel(reason); }

private:
  const Setup setup;
  const std::shared_ptr<Outside> outside;
  const std::shared_ptr<Call> call;
  std::unique_ptr<std::atomic<bool>[]> isThere;        // of each slot
  std::unique_ptr<std::atomic<uint32_t>[]> pushesLeft; // the same
  std::atomic<size_t> missing;                         // slots that are pulled and not there
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_SESSION_OUTSIDETRANSFERS_H
