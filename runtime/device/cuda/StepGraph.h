// A plan's step as graphs of the driver, with its transfers between them.
//
// Each lane of each rank is a stream; commands are enqueued in an order in which those they wait for, on
// whatever rank and mesh, come before them. All of that is captured once into graphs, each of all ranks,
// which a step launches: graphs of a rank each, with events between them, would be many more. A step that
// moves nothing by NCCL, or through the host, is one graph. Of others what lies between such transfers is
// (pieces/FindPieces.h says which commands are one); these are on a stream of each card (TransferChains.h).
// Launches wait for one another by events (pieces/LaunchOrder.h).
//
// Launches of one code that do not need one another, as those of an optimizer, are one launch in a graph
// (LaunchLists.h).
//
// A step whose times are wanted is enqueued command by command on the same streams: what is captured has no
// times. So is one of EPL_CUDA_BLOCKING, which waits for each command and so knows which one failed, and the
// first one that a library has a part in, as it loads code. So are all steps with calls of cuSOLVER, which
// may wait for what they have enqueued (factorizations/FactorizationCall.h).
//
// Guards are not looked at: the plan is proved as if all commands ran, and what a command writes whose guard
// does not hold is read by none whose guard holds. Owners are: on other ranks a command does nothing.
#ifndef EPL_RUNTIME_DEVICE_CUDA_STEPGRAPH_H
#define EPL_RUNTIME_DEVICE_CUDA_STEPGRAPH_H

#include "runtime/device/cuda/TransferChains.h"
#include "runtime/device/cuda/pieces/PieceGraphs.h"

#include <functional>
#include <set>

namespace epl::runtime::cuda {

/// The commands of a loaded plan.
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
  /// Launches in their order, with events of those that others wait for: behind them, and before.
  struct Schedule {
    LaunchOrder order;
    std::vector<Event> ends, gates;
  };
  /// How the commands of a step are enqueued.
  enum class Mode { graphs, single, timed, blocking };

  std::vector<Stream> makeLanes();
  void bind(std::span<const AddressTable *const> meshes);
  void makeSchedules();
  bool haveLibrariesRun();
  void run(Mode mode);
  void giveUp() noexcept;
  CUresult awaitStream(const StepWork::Item &item, CUstream stream);

  CUstream streamOf(const Launch &launch, Mode mode) const;
  void enqueueAll(Schedule &schedule, Mode mode);
  size_t enqueueTransfers(Schedule &schedule, size_t first, Mode mode);
  void enqueue(Schedule &schedule, size_t place, Mode mode);
  void enqueueNode(const StepNode &node, CUstream stream, Mode mode);
  void awaitNeeds(Schedule &schedule, size_t place, Mode mode);
  void recordEnd(Schedule &schedule, size_t place, Mode mode);
  double secondsFromBegin(uint32_t card, const Event &event) const;

  std::shared_ptr<const Cards> cards;
  const Driver &api;
  StepWork work;
  TransferChains chains;
  uint32_t origin = kNowhere; // the lane that is the stream of steps where there are graphs
  std::vector<Stream> lanes;
  NodeCalls calls;
  Schedule single, joined; // a launch for each node; graphs
  PieceGraphs graphs;
  bool isBlocking;
  Event begun;
  std::vector<Event> timedBegins;          // of each card: times of two cards have no difference
  std::vector<bool> hasBegun;              // of each card: whether it has a command of this step
  std::vector<Event> itemBegins, itemEnds; // null before they have run timed
  std::set<std::pair<const void *, LaneOfRank>> librariesRun; // what libraries have chosen, by lane
  bool isRunning = false;
  std::function<bool()> isStopped; // the step that was begun last
  bool wasTimed = false;           // the last step
};

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_STEPGRAPH_H
