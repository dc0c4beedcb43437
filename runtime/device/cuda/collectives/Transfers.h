// What the commands of a plan need of NCCL, or of messages between processes.
//
// Problem: ranks of a process read one another's memory; they do not read that of other processes.
// Method: a command whose members are in several processes is the library's call for it, where it has one
// (LibraryCalls.h). Else each rank sends the others what they read of its memory, the bytes that runsOf
// names, put together in one message for each of them, and the plugin's own kernels read these messages
// instead. So it is with what one part of a plan receives of another one: the sender's message leaves from
// its channel's memory at the place of the command that receives it. Messages are NCCL's; where that does not
// connect the devices they go through the host (HostRoom.h). Where all members are here, each on a card of
// its own, the library's calls take the place of own kernels, too.
//
// All processes derive the same messages in the same order.
#ifndef EPL_RUNTIME_DEVICE_CUDA_COLLECTIVES_TRANSFERS_H
#define EPL_RUNTIME_DEVICE_CUDA_COLLECTIVES_TRANSFERS_H

#include "runtime/device/Device.h"
#include "runtime/device/cuda/collectives/Communicators.h"
#include "runtime/device/cuda/collectives/LibraryCalls.h"
#include "runtime/plan/model/LocalRanks.h"

#include <map>
#include <tuple>

namespace epl::runtime::cuda {

/// What one rank reads of another one's memory, in one message; one of the two is here.
struct Message {
  uint32_t part, holder;            ///< the rank whose memory it is of
  uint32_t member;                  ///< the other one, in the group
  bool isSent;                      ///< by the rank that is here
  uint32_t process = 0, number = 0; ///< through the host: the other one's, and which message to it or from it
  std::vector<ByteRun> runs{};      ///< of a transfer: of the value that is sent, whose buffer is 0
  std::vector<uint64_t> places{};   ///< where each begins in the message
  uint64_t offset = 0, bytes = 0;   ///< of the message, in the staging memory

  /// Its bytes without what only fills it up.
  uint64_t size() const { return places.back() + (runs.back().bytes.end - runs.back().bytes.begin); }
};

/// What a command has to do on a rank beside own kernels.
struct Transfer {
  std::shared_ptr<const Group> group; ///< null if it has nothing to do
  bool isLibraryCall = false;         ///< else messages
  bool isThroughHost = false;         ///< messages that NCCL does not carry
  std::vector<Message> sent{}, received{};
  uint64_t stagingBytes = 0; ///< for all of them

  bool isEmpty() const { return !isLibraryCall && sent.empty() && received.empty(); }
};

/// Those of all commands of a plan, for the ranks that are here.
class Transfers {
public:
  /// All processes of the run make theirs together. The arguments outlive it.
  Transfers(const plan::PlanT &plan, const Channels &channels, const LocalRanks &ranks,
            Communicators &communicators);

  /// The groups that need a communicator, the same in all processes.
  const std::vector<Group> &groupsOfLibrary() const { return groups; }
  /// What a command does on a rank of its part.
  const Transfer &of(PartCommand command, uint32_t rank) const { return find(transfers, command, rank); }
  /// What a command that receives has a rank of the sending part do.
  const Transfer &sentBy(PartCommand receive, uint32_t rank) const { return find(sends, receive, rank); }
  /// Of messages that go through the host; null if there are none.
  Transport *transport() const { return hostTransport.get(); }
  /// Those of them that have begun and not ended.
  std::vector<Waiting> waiting() const;

private:
  using Key = std::tuple<uint32_t, uint32_t, uint32_t>; // part, command, rank
  using Table = std::map<Key, Transfer>;

  static const Transfer &find(const Table &table, PartCommand command, uint32_t rank);
  bool isHere(uint32_t part, uint32_t rank) const { return ranks.has(part, rank); }
  Group devicesOf(uint32_t part, std::span<const uint32_t> members) const;
  void addCollective(uint32_t part, uint32_t command);
  void addGroup(uint32_t part, uint32_t command, const std::vector<uint32_t> &members);
  void addMessages(uint32_t part, uint32_t command, const std::vector<uint32_t> &members,
                   const std::shared_ptr<const Group> &group);
  void addReceive(uint32_t part, uint32_t command);
  void addFetch(PartCommand receive, uint32_t holder, uint32_t listener,
                const std::shared_ptr<const Group> &group);
  bool goesThroughHost(const Group &group);
  void numberMessages();
  Waiting describe(PartCommand command, uint32_t rank, const Message &message, size_t bytes) const;

  std::vector<const plan::PlanT *> plans; // of the parts
  std::vector<Mesh> meshes;
  const Channels &channels;
  const LocalRanks &ranks;
  Communicators &communicators;
  std::vector<Group> groups; // that need a communicator
  Table transfers, sends;
  bool useHost = false; // some messages of some processes
  std::shared_ptr<Transport> hostTransport;
};

/// Addresses of ranks elsewhere: numbers that no memory has, by which it is found where their bytes are in
/// the messages that have come.
class RemoteAddresses {
public:
  /// `staging`: the memory that the messages come to.
  RemoteAddresses(std::span<const Message> received, CUdeviceptr staging)
      : received(received), staging(staging) {}

  /// Where a buffer would begin. Throws Error if it has more bytes than such numbers count.
  unsigned long add(uint32_t part, uint32_t rank, uint32_t buffer);
  /// Where the bytes from such an address on are; any other address as it is.
  unsigned long locate(unsigned long address) const;
  /// The same for all that is moved.
  void locate(Moves &moves) const;

private:
  /// A buffer of a rank, and the message with its bytes.
  struct Place {
    uint32_t buffer;
    const Message *message;
  };
  std::span<const Message> received;
  CUdeviceptr staging;
  std::vector<Place> places;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, size_t> known; // of them, by part, rank and buffer
};

/// What a rank puts together for its messages; those of one run leave from where it is. `addressOf` a buffer
/// as runs name it.
std::vector<CopyRun> packsOf(std::span<const Message> sent, CUdeviceptr staging,
                             const std::function<CUdeviceptr(uint32_t buffer)> &addressOf);
/// Its calls for these, and for what it receives.
std::vector<LibraryCall> callsOf(const Transfer &transfer, CUdeviceptr staging,
                                 const std::function<CUdeviceptr(uint32_t buffer)> &addressOf);
/// Has what is only copied to one place received there.
void receiveInPlace(std::vector<LibraryCall> &calls, Moves &moves);

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_COLLECTIVES_TRANSFERS_H
