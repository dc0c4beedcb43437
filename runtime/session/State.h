// State between steps: parameters and the like, which stay on their devices.
#ifndef EPL_RUNTIME_SESSION_STATE_H
#define EPL_RUNTIME_SESSION_STATE_H

#include "runtime/device/Device.h"
#include "runtime/plan/model/Processes.h"
#include "runtime/session/Call.h"
#include "runtime/session/SlotLayout.h"
#include "runtime/session/TensorType.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace epl::runtime {

/// Bytes of a tensor in memory of this process, row-major, and what keeps them alive.
struct HostTensor {
  TensorType type;
  std::byte *data;
  std::shared_ptr<const void> owner;

  /// A new tensor.
  static HostTensor allocate(TensorType type, Memory::Fill fill = Memory::Fill::zeros);
};

/// Which ranks of a mesh are here, and their devices.
using RankDevices = std::vector<std::optional<uint32_t>>;

/// How the ranks of a mesh, or those of several of which each has some of the rows, hold a tensor.
struct StorageKind {
  /// What the ranks of one mesh hold: all, or some rows.
  struct Piece {
    /// `devices`: of all ranks, wherever they are. Of `ranks` those that hold nothing count as elsewhere.
    Piece(SlotLayout layout, RankDevices ranks, std::vector<uint32_t> devices);

    SlotLayout layout;
    RankDevices ranks;
    std::vector<uint32_t> devices;
    /// Of each rank: whether it is the first one here that has its elements, and so gives them.
    std::vector<bool> gives;
    /// Whether all elements are here.
    bool isHere;
  };
  std::shared_ptr<DeviceSet> devices;
  std::vector<Piece> pieces;
  bool inHost = false; ///< in memory of the host, whosever memory else is

  /// Whether the host finds it where it is.
  bool usesHostMemory() const { return inHost || devices->usesHostMemory(); }

  /// Whether this process has all of the tensor.
  bool isHere() const { return std::ranges::all_of(pieces, &Piece::isHere); }
  /// Whether every rank of the only mesh that has it holds all of it.
  bool isReplicated() const { return pieces.size() == 1 && pieces.front().layout.isReplicated(); }
  /// Whether the ranks of each mesh that has it hold the same, in memory of this process.
  bool isShareable() const;
  /// Whether what is held in one way is held in the other, too. Where all memory is the process's, one device
  /// finds what another one has.
  bool operator==(const StorageKind &other) const;
};

/// A box of a tensor in the memory of a device.
struct Shard {
  uint32_t device;
  Box box;
  std::byte
      *data;     ///< its first element in memory of the host; null if the device, or all of it, is elsewhere
  uint32_t copy; ///< how many devices before this one, wherever they are, have the box
};

/// A device that has some of a state.
struct Holder {
  uint32_t device;
  std::optional<uint32_t>
      card; ///< that it is on; none of CPU devices, of those of other processes, and in the host
};

/// Blocks of the ranks that are here in memory of the host, of a state whose devices have memory of their
/// own. Ranks that hold the same have one block.
class HostBlocks {
public:
  explicit HostBlocks(const StorageKind &kind);

  /// A rank's block of a piece; null if it is elsewhere.
  std::byte *at(size_t piece, uint32_t rank) const {
    return pieces[piece][rank] ? pieces[piece][rank]->data() : nullptr;
  }

private:
  std::vector<std::vector<std::shared_ptr<Memory>>> pieces; // of each rank; null for those elsewhere
};

/// The memory of one state: its block on every rank that is here. Whoever makes one fills it.
class Storage {
public:
  /// `shared`: all ranks have one memory, for values that are replicated and only read, where devices allow
  /// it.
  explicit Storage(std::shared_ptr<const StorageKind> kind, bool shared = false);
  /// Another one of the same kind: the spare one, or a new one.
  std::shared_ptr<Storage> makeAlike();

  /// Keeps the storage from which `copier` copies to this one, so that a later copy finds memory whose pages
  /// are there: to have the system map and clear new ones takes as long as to copy. There is one spare at a
  /// time, as large as this storage and freed with it: the memory that a save takes anyway, kept until the
  /// next one.
  void keepSpare(std::shared_ptr<Storage> storage, std::shared_ptr<const Call> copier);
  /// The spare storage, which may be overwritten; null if there is none, or somebody still reads it.
  std::shared_ptr<Storage> takeSpare();

  bool isShared() const { return shared; }
  /// Whether its tensor is held so.
  bool is(const std::shared_ptr<const StorageKind> &other) const { return kind == other || *kind == *other; }

  /// Whether there is a block of a rank: it is here, and holds some of the tensor.
  bool has(uint32_t piece, uint32_t rank) const { return pieces[piece].memory[shared ? 0 : rank] != nullptr; }
  /// A rank's block of a piece; only where there is one. The address of another one is null.
  Allocation &block(uint32_t piece, uint32_t rank) const { return *pieces[piece].memory[shared ? 0 : rank]; }
  std::byte *address(uint32_t piece, uint32_t rank) const {
    return pieces[piece].addresses[shared ? 0 : rank];
  }
  /// The whole tensor in memory of the host, if it is somewhere there as the caller has it; else null.
  const std::byte *wholeInHost() const;

  /// Whether this process has all of the tensor.
  bool isHere() const { return kind->isHere(); }
  void copyFromHost(const std::byte *global);
  /// What is here.
  void copyToHost(std::byte *global) const;
  /// What all devices have, wherever they are, device by device. Where devices have memory of their own it is
  /// said to be in `host`, if that is not null. Throws Error if it is in no boxes of the tensor.
  std::vector<Shard> shards(const HostBlocks *host = nullptr) const;
  /// What is here, device by device; `data` is where commands find it. Throws Error as shards does.
  std::vector<Shard> blocks() const;
  /// All that have some of it, wherever they are, by their numbers.
  std::vector<Holder> holders() const;
  /// A copy of what is here, of devices with memory of their own; null of others.
  std::shared_ptr<const HostBlocks> copyBlocks() const;
  /// Memory of the host in which the elements are written, before they are used: null where they are written
  /// in place.
  const std::shared_ptr<HostBlocks> &makeDraft();
  /// Puts what was written there on the devices, once.
  void takeDraft();
  /// From storage that was made alike.
  void copyFrom(const Storage &other);

  /// Why the contents cannot be used: the error of the call that was writing them; empty if they can.
  /// Written by a step at its end, read by steps after it and by those who waited for it.
  std::string poison;
  /// Views that people hold of the memory: while there is one, no step writes in place. Those of other
  /// libraries (StateBuffer::lend) are counted for ever.
  std::atomic<uint32_t> numViews = 0;
  /// Those of them that are snapshots: a step that consumes the value keeps the memory as its copy's spare.
  std::atomic<uint32_t> numSnapshots = 0;

private:
  struct Piece {
    std::vector<std::unique_ptr<Allocation>> memory; // of each rank, or one of all; null for those elsewhere
    std::vector<std::byte *> addresses;              // of each of these

    uint32_t firstHere() const;
  };
  Piece allocate(const StorageKind::Piece &piece) const;
  /// `find`: where the block of a rank of a piece begins.
  std::vector<Shard> shardsAt(const std::function<std::byte *(uint32_t, uint32_t)> &find) const;

  std::shared_ptr<const StorageKind> kind;
  bool shared;
  std::vector<Piece> pieces;
  std::shared_ptr<HostBlocks> draft; // not taken yet
  std::shared_ptr<Storage> spare;
  std::shared_ptr<const Call> spareReader; // the last call that reads the spare one
};

/// A value of a state: what one call made and the next consumes. For one thread at a time.
class StateBuffer {
public:
  /// How the devices of a mesh hold a tensor.
  struct Sharding {
    std::vector<std::pair<std::string, uint32_t>> axes; ///< of the mesh, major first, with their sizes
    std::vector<int64_t> shape;                         ///< that is split: the tensor's, or with segments
    std::vector<std::vector<std::string>> dims;         ///< the axes that split each dimension of it
    /// Of a tensor that its owners have alone: their coordinates on some axes.
    std::vector<std::pair<std::string, uint32_t>> owner;
  };

  /// What all values of one state share.
  struct Kind {
    std::string name;
    TensorType type;
    std::optional<Sharding> sharding; ///< none if the state is on one of several meshes
    /// Who has which devices; none if no other process has parts or copies of it.
    std::optional<Processes> processes;
  };

  StateBuffer(std::shared_ptr<const Kind> kind, std::shared_ptr<Storage> storage,
              std::shared_ptr<Call> producer)
      : kind(std::move(kind)), memory(std::move(storage)), call(std::move(producer)) {}

  const std::string &name() const { return kind->name; }
  const TensorType &type() const { return kind->type; }
  const std::optional<Sharding> &sharding() const { return kind->sharding; }
  bool isDivided() const { return kind->processes.has_value(); }
  /// The process that has a device; 0 if it is this one alone.
  uint32_t processOf(uint32_t device) const { return kind->processes ? kind->processes->of(device) : 0; }

  /// The call that makes the value; null for a value that came from the host.
  const std::shared_ptr<Call> &producer() const { return call; }
  /// Waits for the producer; throws Error if it failed.
  void wait() const;

  /// Whether a call has consumed the value, so that it cannot be used again.
  bool isDonated() const { return consumer != nullptr; }

  /// Lets go of the memory: the value cannot be used again. Of one that was donated there is nothing to
  /// remove.
  void remove() { memory.reset(); }
  /// Whether it was donated or removed.
  bool isGone() const { return memory == nullptr; }

  /// The value in host memory, after waiting. A replicated value is a view of the first rank's memory,
  /// without a copy: nobody may write it, and while its owner lives no step writes it either. Throws Error if
  /// the value was donated, its call failed, or other processes have parts of it.
  HostTensor toHost() const;
  /// As toHost, always a copy.
  HostTensor copyToHost() const;

  /// All that is here, device by device, after waiting, and what keeps it: nobody may write it, and while
  /// that lives no step writes it either. Of devices with memory of their own it is a copy. Throws Error as
  /// use does, and if it is in no boxes of the tensor.
  std::pair<std::vector<Shard>, std::shared_ptr<const void>> shards() const;
  /// All that is here, of devices with memory of their own, where it is there; does not wait. Throws Error as
  /// shards does.
  std::vector<Shard> blocks() const;
  /// Waits for the value, and gives what keeps its memory for another library, which enqueues its own work on
  /// it. That may run when the library has let go: so no step ever writes there in place again, and the
  /// memory is freed, which a driver does behind all work, when nobody has it. Throws Error as toHost does.
  std::shared_ptr<const void> lend() const;
  /// All devices that have some of it.
  std::vector<Holder> holders() const { return use()->holders(); }
  /// The same value, whose memory no step writes in place while this one lives. Does not wait, and copies
  /// nothing. Throws Error as use does.
  std::shared_ptr<StateBuffer> view() const;
  /// The same of a value whose elements are still to be written, there, by the caller, before he uses it.
  std::pair<std::vector<Shard>, std::shared_ptr<const void>> draft() const;
  /// What all devices have, wherever they are; does not wait. Throws Error as shards does.
  std::vector<Shard> allShards() const { return use()->shards(); }
  /// The same value for somebody who reads it later: it stays when a step consumes this one, which then does
  /// not write in place. Does not wait, and copies nothing. Throws Error as use does.
  std::shared_ptr<StateBuffer> snapshot() const;
  /// A value of the same kind whose elements are still to be written, by whoever asks for it.
  std::shared_ptr<StateBuffer> makeAlike() const;
  /// Whether this process has all of it.
  bool isHere() const { return use()->isHere(); }
  /// A copy on the same devices, after waiting; throws Error as toHost does.
  std::shared_ptr<StateBuffer> copy() const;

  // For sessions.
  /// The memory; throws DonatedError if the value was donated, Error if it was removed or is known to be
  /// lost.
  const std::shared_ptr<Storage> &use() const;
  /// Lets go of the memory: who keeps the handle does not keep that.
  void donate(std::shared_ptr<const Call> to) {
    consumer = std::move(to);
    memory.reset();
  }

private:
  std::shared_ptr<const Kind> kind;
  std::shared_ptr<Storage> memory;
  std::shared_ptr<Call> call;
  std::shared_ptr<const Call> consumer;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_SESSION_STATE_H
