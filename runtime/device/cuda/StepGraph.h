// A plan's step as one graph of the driver.
//
// Each lane of each rank is a stream; commands are enqueued in an order in which those they wait for, on
// whatever rank and mesh, come before them; each command that others wait for leaves an event. All of that is
// captured once into one graph, which a step launches: a graph for each rank, with events between them, would
// be wrong, as a wait takes an event's last record before the launch. Nothing but the waits of the plan and
// the order of lanes stands in the graph, as the verifier has proved that these suffice.
//
// Launches of one code that do not need one another, as those of an optimizer, are one launch in the graph
// (LaunchLists.h).
//
// A step whose times are wanted is enqueued on the same streams without a capture: what is captured has no
// times. So is one of EPL_CUDA_BLOCKING, which waits for each command and so knows which one failed, and the
// first one that a library has a part in, as it loads code.
//
// What is moved by NCCL, or through the host, is on a stream of each card (TransferChains.h), and steps that
// do so are no graph.
//
// Guards are not looked at: the plan is proved as if all commands ran, and what a command writes whose guard
// does not hold is read by none whose guard holds. Owners are: on other ranks a command does nothing.
#ifndef EPL_RUNTIME_DEVICE_CUDA_STEPGRAPH_H
#define EPL_RUNTIME_DEVICE_CUDA_STEPGRAPH_H

#include "runtime/device/cuda/TransferChains.h"

#include <functional>
#include <set>

namespace epl::runtime::cuda {

/// The commands of a loaded plan. Addresses are part of a graph: one is made for those of the first step, and
/// nodes get others when these have changed, ours one by one; if calls of a library have changed, all get
/// what another capture has.
class StepGraph final : public BoundStep {
public:
  /// As StepWork.
  StepGraph(std::shared_ptr<const Cards> cards, std::shared_ptr<Copies> copies,
            std::shared_ptr<const Images> images, std::shared_ptr<Communicators> communicators,
            const plan::PlanT &plan, const Channels &channels, const LocalRanks &ranks);
  ~StepGraph() override;

  void start(std::span<const AddressTable *const> meshes, bool isTimed,
             const std::function<bool()> &stopped) override;
  bool isDone() override;
  std::vector<Span> times() const override;
  void cancel() noexcept override;
  std::vector<Waiting> waiting() const override { return work.waiting(); }
  uint64_t numMoved() const noexcept override { return work.numMoved(); }

private:
  /// The streams and events of a rank.
  struct Rank {
    std::vector<Stream> lanes;
    std::vector<bool> hasBegun; // of each lane: whether it has a command of this step
    // Of each command; null before it has run so.
    std::vector<Event> events, timedBegins, timedEnds;
  };
  /// How the commands of a step are enqueued.
  enum class Mode { captured, single, timed, blocking };

  void addRank(const StepWork::Rank &rank);
  void bind(std::span<const AddressTable *const> meshes);
  void update(uint32_t item);
  Graph captureAll();
  void capture();
  void run(Mode mode);
  bool haveLibrariesRun();
  void enqueueAll(CUstream origin, Mode mode);
  void enqueue(uint32_t begin, uint32_t end, Mode mode);
  void begin(uint32_t item, Mode mode);
  void giveUp() noexcept;
  CUresult awaitStream(const StepWork::Item &item, CUstream stream);
  CUevent eventOfSend(const StepWork::Item &item) const;
  void end(uint32_t item, Mode mode);
  void join(CUstream origin);
  CUresult enqueueJoint(const StepWork::Joint &joint, uint32_t item, CUstream stream);
  CUresult enqueueCalls(uint32_t item, CUstream stream);
  CUresult takeNode(uint32_t item, CUstream stream);
  void awaitOthers(const StepWork::Item &item, CUstream stream);
  void awaitMessage(const StepWork::Item &item, CUstream stream);
  void await(uint32_t part, uint32_t rank, uint32_t command, CUstream stream);
  void enter(const StepWork::Rank &place, Rank &rank, uint32_t lane, Mode mode);
  double secondsFromBegin(uint32_t card, const Event &event) const;

  std::shared_ptr<const Cards> cards;
  const Driver &api;
  const Channels &channels;
  StepWork work;
  TransferChains chains;
  std::vector<Rank> ranks; // of those that are here
  bool isBlocking;
  Stream capturing;
  Event begun;
  std::vector<Event> timedBegins; // of each card: times of two cards have no difference
  std::vector<bool> hasBegun;     // of each card: whether it has a command of this step
  Graph graph;
  std::vector<std::vector<CUgraphNode>> nodes; // of each item's kernels
  ExecutableGraph executable;
  bool isCurrent = false;              // it is of the calls as they are
  std::set<const void *> librariesRun; // what libraries have chosen
  bool isRunning = false;
  std::function<bool()> isStopped; // the step that was begun last
  bool wasTimed = false;           // the last step
};

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_STEPGRAPH_H
