// The calls of all commands of a plan, on the ranks that are here, and the addresses in them.
#ifndef EPL_RUNTIME_DEVICE_CUDA_STEPWORK_H
#define EPL_RUNTIME_DEVICE_CUDA_STEPWORK_H

#include "runtime/device/cuda/Calls.h"
#include "runtime/device/cuda/Conditions.h"
#include "runtime/device/cuda/pieces/StepNodes.h"

namespace epl::runtime::cuda {

/// Of a loaded plan. Buffers are where the tables of a step say; when a table has changed, the calls that
/// have the old addresses are made anew.
class StepWork {
public:
  /// The arguments outlive it. Throws Error if there is no memory left, or if the plan has no order.
  StepWork(std::shared_ptr<const Cards> cards, std::shared_ptr<Copies> copies,
           std::shared_ptr<const Images> images, std::shared_ptr<Communicators> communicators,
           const plan::PlanT &plan, const Channels &channels, const LocalRanks &ranks);

  /// A rank of a part that is here.
  struct Rank {
    uint32_t part, rank, card;
    uint64_t coordinates; ///< where they are on the card
  };
  /// A command on a rank; or what a rank sends other processes, which receive it by the command.
  struct Item {
    PartCommand command;
    uint32_t rank; ///< of those that are here
    bool isSent;   ///< the rank is of the part that sends
    Calls calls;
    uint64_t table, tableBytes; ///< what the calls read of the card's table: from where on
  };

  /// Launches on a rank and in a piece of the step as one, which takes the place of the last of them.
  struct Joint {
    uint32_t rank;               ///< of those that are here
    std::vector<uint32_t> items; ///< in their order
    std::vector<KernelCall> kernels;
    uint64_t table; ///< what the calls read of the card's table: from where on
  };

  const plan::PlanT &plan(uint32_t part) const { return *plans[part]; }
  const Topology &topology(uint32_t part) const { return topologies[part]; }
  Communicators &communicators() const { return *connected; }
  /// Whether items move data by NCCL or through the host.
  bool transfers() const { return hasTransfers; }
  /// Whether all items may be captured into a graph.
  bool isCapturable() const { return areCapturable; }
  /// With whom an item does.
  const Group &groupOf(const Item &item) const { return *transferOf(item).group; }
  /// The memory of messages between processes.
  TransferMemory &transferMemory() { return messages; }
  // For threads that watch a step.
  std::vector<Waiting> waiting() const { return moved.waiting(); }
  uint64_t numMoved() const noexcept { return moved.transport() ? moved.transport()->numMoved() : 0; }
  std::span<const Rank> localRanks() const { return here; }
  /// Where a rank of a part is among those; nothing if it is elsewhere.
  std::optional<uint32_t> placeOf(uint32_t part, uint32_t rank) const {
    return ranks.has(part, rank) ? std::optional(places[part][rank]) : std::nullopt;
  }
  /// Each behind all that its command waits for.
  std::span<const Item> items() const { return work; }
  /// What the step consists of, in their order; and the pieces that these are in (pieces/FindPieces.h).
  std::span<const StepNode> nodes() const { return parts; }
  std::span<const uint32_t> pieces() const { return pieceOfNode; }
  /// What an item is part of; null if it is a call of its own.
  const Joint *jointOf(uint32_t item) const {
    return jointOfItem[item] < 0 ? nullptr : &joints[size_t(jointOfItem[item])];
  }
  /// Those that are calls of the host.
  std::span<const uint32_t> hostItems() const { return hosts; }
  /// What the library's call of an item works in; 0 of what needs nothing.
  CUdeviceptr workspaceOf(const Item &item) const;
  /// What is sent is on none of the rank's lanes.
  LaneOfRank laneOf(const Item &item) const;
  /// "command "matmul" of step.py:3 on rank 1"
  std::string describe(const Item &item) const;
  /// Throws Error that names it if a call of the driver has failed.
  void check(const Item &item, CUresult result) const;

  enum class Change { calls, items };
  /// Puts the addresses of a step into the calls, while no step runs: whether those of the `changed` items,
  /// of which none is part of a joint, have others, or all items have been made again, as the first time.
  /// Throws Error if a kernel or a library is missing, or if there is no memory left: then the next call
  /// makes all items again.
  Change bind(std::span<const AddressTable *const> meshes);
  std::span<const uint32_t> changed() const { return changedItems; }

private:
  void addRanks(uint32_t part);
  void putCoordinates();
  void addConditions();
  void addChannels();
  void findLists();
  const plan::KernelT &kernelOf(uint32_t part, uint32_t launch) const;
  bool isOwner(const Rank &rank, const plan::CommandT &command) const;
  std::vector<uint32_t> takeAddresses(std::span<const AddressTable *const> meshes);
  MoveAddresses addressesOf(uint32_t part, RemoteAddresses &remote);
  Calls makeCalls(const Item &item, Tables &into);
  const Transfer &transferOf(const Item &item) const;
  bool sends(PartCommand at, uint32_t part) const;
  void addItem(PartCommand at, uint32_t rank, bool isSent);
  void takeStaging();
  void make(Item &item, Tables &into);
  void makeAll();
  void makeJoints();
  void addJoint(uint32_t rank, std::vector<uint32_t> items);
  void make(Joint &joint, Tables &into);
  void remake(Joint &joint);
  void remakeJoints();
  void takeWorkspaces();
  void awaitArguments();
  bool remake(uint32_t item);
  Change makeAgain(const std::vector<uint32_t> &buffers);

  std::shared_ptr<const Cards> cards;
  std::shared_ptr<Copies> copies;
  std::shared_ptr<const Images> images;
  std::shared_ptr<Communicators> connected;
  std::vector<const plan::PlanT *> plans; // of each part
  std::vector<Topology> topologies;
  const Channels &channels;
  const LocalRanks &ranks;
  std::vector<Rank> here;
  std::vector<std::vector<uint32_t>> places; // of each part's ranks
  std::vector<PartCommand> order;
  std::vector<std::vector<std::vector<uint32_t>>> lists; // of each part: of launches that are one
  Transfers moved;
  std::unique_ptr<Tables> coordinates;
  std::unique_ptr<Conditions> conditions;
  std::vector<std::vector<std::unique_ptr<CudaAllocation>>> rings; // of each channel and sending rank
  std::unique_ptr<Tables> tables;                                  // what all calls read
  std::vector<Item> work;
  std::vector<StepNode> parts;
  std::vector<uint32_t> pieceOfNode;
  std::vector<Joint> joints;
  std::vector<int32_t> jointOfItem; // -1: none
  std::vector<uint32_t> hosts;
  std::map<LaneOfRank, std::unique_ptr<CudaAllocation>> workspaces;
  TransferMemory messages;
  bool hasTransfers = false, areCapturable = true; // any of the items; all of them
  bool isBound = false;                            // whether all calls have the addresses that are bound
  std::vector<uint32_t> changedItems;
  // Of each buffer of each rank that is here, rank by rank:
  std::vector<uint32_t> firstBuffer; // of a rank
  std::vector<CUdeviceptr> bound;
  std::vector<std::vector<uint32_t>> readers; // the items with its address in their calls
  std::vector<uint32_t> read;                 // by the item that is being made
};

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_STEPWORK_H
