// A plan's step as one graph of the driver.
//
// Each lane of each rank is a stream; commands are enqueued in an order in which those they wait for, on
// whatever rank and mesh, come before them; each command that others wait for leaves an event. All of that is
// captured once into one graph, which a step launches: a graph for each rank, with events between them, would
// be wrong, as a wait takes an event's last record before the launch. Nothing but the waits of the plan and
// the order of lanes stands in the graph, as the verifier has proved that these suffice.
//
// Guards are not looked at: the plan is proved as if all commands ran, and what a command writes whose guard
// does not hold is read by none whose guard holds. Owners are: on other ranks a command does nothing.
#ifndef EPL_RUNTIME_DEVICE_CUDA_STEPGRAPH_H
#define EPL_RUNTIME_DEVICE_CUDA_STEPGRAPH_H

#include "runtime/device/cuda/Calls.h"

namespace epl::runtime::cuda {

/// The commands of a loaded plan. Addresses are part of a graph: one is made for those of the first step, and
/// anew when they have changed.
class StepGraph final : public BoundStep {
public:
  /// The arguments outlive it. Throws Error if a kernel is missing, or if there is no memory left.
  StepGraph(std::shared_ptr<const Cards> cards, std::shared_ptr<Copies> copies,
            std::shared_ptr<const Images> images, const plan::PlanT &plan, const Channels &channels,
            const LocalRanks &ranks);
  ~StepGraph() override;

  void start(std::span<const AddressTable *const> meshes) override;
  bool isDone() override;
  void cancel() noexcept override;

private:
  /// A rank of a part that is here.
  struct Rank {
    uint32_t part, rank, card;
    uint64_t coordinates; // where they are on the card
    std::vector<Stream> lanes;
    std::vector<Event> events;  // of each command; null if nobody waits for it
    std::vector<bool> isForked; // of each lane: whether it has joined the capture
  };
  /// A command on a rank, with its calls.
  struct Work {
    PartCommand command;
    uint32_t rank; // of those that are here
    Calls calls;
  };

  void addRanks(uint32_t part);
  void putCoordinates();
  void addChannels();
  void orderCommands();
  bool canFollow(PartCommand at, const std::vector<uint32_t> &next) const;
  bool isOwner(const Rank &rank, const plan::CommandT &command) const;
  MoveAddresses addressesOf(uint32_t part, std::span<const AddressTable *const> meshes) const;
  void makeWork(std::span<const AddressTable *const> meshes);
  void capture();
  void captureAll();
  void enqueue(Work &work);
  CUresult enqueueCalls(Work &work, CUstream stream) const;
  void awaitOthers(Rank &rank, uint32_t command, CUstream stream);
  void await(uint32_t part, uint32_t rank, uint32_t command, CUstream stream);
  bool areBound(std::span<const AddressTable *const> meshes);
  Rank &rankOf(uint32_t part, uint32_t rank) { return here[places[part][rank]]; }
  std::string describe(const Work &work) const;

  std::shared_ptr<const Cards> cards;
  std::shared_ptr<Copies> copies;
  std::shared_ptr<const Images> images;
  const Driver &api;
  std::vector<const plan::PlanT *> plans; // of each part
  std::vector<Topology> topologies;
  const Channels &channels;
  const LocalRanks &ranks;
  std::vector<Rank> here;
  std::vector<std::vector<uint32_t>> places; // of each part's ranks, among those
  std::vector<PartCommand> order;
  std::unique_ptr<Tables> coordinates;
  std::vector<std::vector<std::unique_ptr<CudaAllocation>>> rings; // of each channel and sending rank
  std::unique_ptr<Tables> tables;
  std::vector<Work> work;
  std::vector<void *> bound; // the addresses in the graph
  Stream stream;             // on which graphs are launched
  Event begin;
  ExecutableGraph graph;
};

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_STEPGRAPH_H
