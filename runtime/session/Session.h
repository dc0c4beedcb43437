// The runtime's C++ interface: load a plan on devices, call it, look at the results.
//
//   Session session(plan, "cpu:2");
//   Outcome outcome = session.call({state, batch}, {true, false}, "train_step");   // returns at once
//   auto next = std::get<std::shared_ptr<StateBuffer>>(outcome.results[0]);
//   outcome.call->wait();                                                          // throws what went wrong
#ifndef EPL_RUNTIME_SESSION_SESSION_H
#define EPL_RUNTIME_SESSION_SESSION_H

#include "runtime/session/CallStep.h"

#include <deque>
#include <variant>

namespace epl::runtime {

/// Those rows of a batch alone that this process reads; see Session::localRows.
struct LocalTensor {
  HostTensor tensor;
};

/// What stands for an argument that is pulled: its value comes from outside while the step runs.
struct Pulled {};

/// An argument of a call: a tensor of the host, all of it or what this process reads, a value that a call has
/// made, or one that is pulled.
using Argument = std::variant<HostTensor, LocalTensor, std::shared_ptr<StateBuffer>, Pulled>;

/// A result that updates no state: a tensor of the host, written when the call has ended.
class HostResult {
public:
  HostResult(std::string name, HostTensor tensor, std::shared_ptr<Call> producer)
      : resultName(std::move(name)), tensor(std::move(tensor)), call(std::move(producer)) {}

  const std::string &name() const { return resultName; }
  const TensorType &type() const { return tensor.type; }
  const std::shared_ptr<Call> &producer() const { return call; }

  /// The tensor, after waiting; throws Error if the call failed.
  const HostTensor &get() const {
    call->wait();
    return tensor;
  }

private:
  std::string resultName;
  HostTensor tensor;
  std::shared_ptr<Call> call;
};

/// A result: the new value of a state, or what stays on the devices otherwise (`Slots::isKept`); or a tensor
/// of the host.
using Result = std::variant<std::shared_ptr<StateBuffer>, std::shared_ptr<HostResult>>;

/// What a call gives at once: its results, not computed yet, in the order of the plan and without those that
/// it pushes, and its handle.
struct Outcome {
  std::vector<Result> results;
  std::shared_ptr<Call> call;
};

/// A plan on devices. Its calls run one after another, in order with those of all sessions of one executor.
/// For one thread at a time.
class Session {
public:
  /// Loads a verified plan on `devices` ("cpu:2"), which are in this process, or divided among all of
  /// `processes`. Throws Error as openDevices and LoadedPlan do. The executor must outlive the session and
  /// all that its calls gave. Processes make the same sessions in one order, and so they call them.
  /// `keepsResults`: all results stay on the devices as StateBuffers: they are first values of another step's
  /// states. `maxThreads`: that run a call; 0: as many as the executor has, and as there are devices here.
  Session(const std::shared_ptr<const plan::PlanT> &plan, const std::string &devices,
          Executor &executor = Executor::shared(), std::shared_ptr<ProcessGroup> processes = nullptr,
          bool keepsResults = false, uint32_t maxThreads = 0);
  /// The same on devices that are open. Throws Error as LoadedPlan does.
  Session(const std::shared_ptr<const plan::PlanT> &plan, Backend backend,
          Executor &executor = Executor::shared(), bool keepsResults = false, uint32_t maxThreads = 0);
  /// Waits for all calls, but in a forked process, which has none that run.
  ~Session();
  Session(const Session &) = delete;

  const plan::PlanT &plan() const { return loaded.plan(); }
  size_t numArguments() const { return slots.numArguments(); }

  /// Queues a step and returns. `arguments` in the order of the slots; host tensors must stay as they are
  /// until the call has ended. A state argument that the plan updates and whose flag in `donate` is set is
  /// consumed: the step writes in place if nobody views it. Others are copied first, as is a value that
  /// stands in two arguments. `name` is for messages. `waits`: the calling thread waits for the call at once
  /// (it must), and so may be left a slice of the step. `outside`: where a plan that pulls or pushes does so;
  /// null for others. Throws Error, with nothing consumed, if an argument does not fit its slot, was donated
  /// before, or is lost, or if what is outside is missing.
  Outcome call(const std::vector<Argument> &arguments, const std::vector<bool> &donate,
               const std::string &name, bool waits = false, std::shared_ptr<Outside> outside = nullptr);

  /// Has what is outside of the next call send what that pulls, for a caller that has something else to do
  /// before it. Waits for the calls before, which read the same memory. Throws Error if it fails.
  void expect(Outside &outside);

  /// A copy of `tensor` on the devices, laid out for an argument slot: for the first value of a state, or for
  /// a constant that many calls use. Throws Error if it does not fit.
  std::shared_ptr<StateBuffer> state(size_t slot, const HostTensor &tensor);

  /// Whether a call takes a value as it is for an argument: else each process reads the whole of it.
  bool takes(size_t slot, StateBuffer &value) const;

  /// The rows that this process reads of an argument along dimension `dim`, in one of several processes of
  /// which each reads some: from the first to behind the last. Throws Error if there is no such dimension.
  std::pair<size_t, size_t> localRows(size_t slot, size_t dim);

  /// A value of a state whose elements are still to be written, by whoever asks for it, where its shards say.
  /// Throws Error if the slot is no argument.
  std::shared_ptr<StateBuffer> newState(size_t slot) const;

  /// Waits until `call` would not have to wait for its place in the queue.
  void awaitRoom() { executor.awaitRoom(); }

  /// How many calls were queued.
  uint64_t numCalls() const { return callCount; }
  /// The call made last; null if there is none.
  const std::shared_ptr<Call> &lastCall() const { return newest; }

  /// Waits until every call has ended, well or not.
  void synchronize();
  /// Gives back the memory that calls need for themselves, after waiting for all of them. The next call takes
  /// it again, or throws Error.
  void release();

  // For a thread that watches, at the side of the one that calls.

  /// Whether a call has not ended.
  bool isRunning() const { return newest && !newest->done(); }
  /// What its commands wait for from other processes now.
  std::vector<Waiting> waiting() const { return loaded.collectives().waiting(); }
  /// How many messages have come and gone: if it stays the same, nothing moves.
  uint64_t numMoved() const { return loaded.collectives().numMoved(); }

  /// Why no later step can be run: one was broken off in this process, and others wait for the rest of it.
  /// Empty if they can.
  std::string fault() const { return agreement ? agreement->fault() : ""; }
  /// Ends the calls that have not ended as failed, and refuses later ones: another process has gone.
  void stop(const std::string &reason);

  /// Starts or ends the recording of a timeline, after waiting for every call.
  void trace(bool on);
  /// The timeline recorded last, after waiting for every call; see Trace::json.
  std::string traceJson();

private:
  struct Use;

  const plan::SlotT &slot(size_t index) const { return *plan().slots[index]; }
  bool fits(size_t slot, const Storage &storage) const;
  void checkType(size_t slot, const TensorType &type) const;
  void checkPulled(size_t slot, const Argument &argument) const;
  std::unique_ptr<OutsideTransfers> makeTransfers(std::shared_ptr<Outside> outside,
                                                  const std::shared_ptr<Call> &call);
  const LocalPart &localPart(size_t slot, size_t dim);
  const LocalPart &localPart(size_t slot, const TensorType &type);
  std::shared_ptr<Storage> newStorage(size_t slot) const;
  HostTensor hostValue(size_t slot, const Argument &argument) const;
  std::vector<Use> examine(const std::vector<Argument> &arguments, const std::vector<bool> &donate);
  Binding bind(size_t slot, const Argument &argument, const Use &use, const std::shared_ptr<Call> &call);
  void provide(size_t slot);
  std::vector<Result> bindResults(std::vector<Binding> &bindings, const std::shared_ptr<Call> &call) const;
  std::vector<Agreement::Said> describe(const std::vector<Argument> &arguments) const;
  void releaseDone();

  LoadedPlan loaded;
  Slots slots;
  Executor &executor;
  Frame frame;
  std::vector<SlotMemory> slotMemory; // of each part
  OutsideSlots outsideSlots;
  std::unique_ptr<ResultMessages> resultMessages;              // null if there is no other process
  std::unique_ptr<Agreement> agreement;                        // the same
  std::vector<std::shared_ptr<const StateBuffer::Kind>> kinds; // of the slots
  std::map<std::pair<size_t, size_t>, LocalPart> localParts;   // by slot and dimension
  std::deque<std::shared_ptr<Call>> calls;                     // those that may still hold their arguments
  std::shared_ptr<Call> newest;
  uint64_t callCount = 0;
  std::string stopped; // why, if it is
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_SESSION_SESSION_H
