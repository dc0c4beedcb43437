// The step of a call: what it finds in the slots of the plan.
#ifndef EPL_RUNTIME_SESSION_CALLSTEP_H
#define EPL_RUNTIME_SESSION_CALLSTEP_H

#include "runtime/executor/Step.h"
#include "runtime/session/Agreement.h"
#include "runtime/session/LocalPart.h"
#include "runtime/session/OutsideTransfers.h"
#include "runtime/session/ResultMessages.h"
#include "runtime/session/SlotMemory.h"
#include "runtime/session/State.h"

namespace epl::runtime {

/// What a step finds in a slot of the plan: either per-rank storage or a tensor of the host. The call holds
/// the owners of the caller's tensors.
struct Binding {
  std::shared_ptr<Storage> storage;
  std::shared_ptr<Storage> source; // copied to `storage` before the commands run
  HostTensor host;
  std::unique_ptr<std::once_flag> copied = nullptr; // of `source`, if one rank copies it for all
  const LocalPart *part = nullptr;                  // what of the tensor `host` is; null for all of it
};

/// Binds slots before the commands of a step run, and ends its call after them.
class CallStep : public Step {
public:
  /// What all steps of a session share.
  struct Setup {
    const LoadedPlan &plan;
    const Slots &slots;
    const std::vector<SlotMemory> &memory; // of each part
    ResultMessages *results;               // null if there is no other process
    Agreement *agreement;                  // the same
  };

  /// `bindings` has one for each slot of the plan; those of results that update a state are empty, others
  /// that stay in parts have storage. `said` is of each argument, if there are other processes. `outside`:
  /// null if nothing is pulled or pushed.
  CallStep(const Setup &setup, Frame &frame, Executor &executor, std::shared_ptr<Call> call,
           std::vector<Binding> bindings, std::vector<Agreement::Said> said,
           std::unique_ptr<OutsideTransfers> outside)
      : Step(setup.plan, frame, executor, call->stop(), call->index()), setup(setup), call(std::move(call)),
        bindings(std::move(bindings)), said(std::move(said)), outside(std::move(outside)) {}

  void begin() override;
  bool prepareAhead() override;
  void end() override;

private:
  /// Devices that run a step as a whole begin with all that is pulled, and push at its end.
  bool haveArgumentsCome() override { return !outside || !setup.plan.step() || outside->havePulled(); }
  CommandState exchange(const Frame::Cursor &cursor, uint32_t command) override;
  void prepare(const Frame::Cursor &cursor) override;
  void fetch(const Frame::Cursor &cursor) override;
  void collect(const Frame::Cursor &cursor) override;
  bool haveResultsCome() override { return isAgreed() && (!setup.results || setup.results->haveMoved()); }
  void lookAtOthers() override { isAgreed(); }
  void fail(const std::string &reason) override { call->cancel(reason); }

  bool isAgreed();
  const Binding &bindingOf(Slots::PartSlot slot) const { return bindings[setup.slots.wholeSlot(slot)]; }
  bool isWritten(size_t slot) const;
  bool isPulled(Slots::PartSlot slot) const {
    return setup.plan.program(slot.part).plan().slots[slot.slot]->role == plan::SlotRole::pulled;
  }
  const SlotLayout &layoutOf(Slots::PartSlot slot) const;
  void fill(const Frame::Cursor &cursor, uint32_t slot) const;
  template <typename Body> void forEachStage(Body body) const;
  void copyFromHost(Slots::PartSlot slot, uint32_t rank) const;
  void send(Slots::PartSlot slot, uint32_t rank) const;
  std::byte *address(const Frame::Cursor &cursor, uint32_t slot) const;

  Setup setup;
  std::shared_ptr<Call> call;
  std::vector<Binding> bindings;
  std::vector<Agreement::Said> said;
  std::unique_ptr<OutsideTransfers> outside;
  bool isSent = false; // what goes to the devices by stages
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_SESSION_CALLSTEP_H
