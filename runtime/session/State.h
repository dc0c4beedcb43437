// State between steps: parameters and the like, which stay on their devices.
#ifndef EPL_RUNTIME_SESSION_STATE_H
#define EPL_RUNTIME_SESSION_STATE_H

#include "runtime/device/cpu/Memory.h"
#include "runtime/session/Call.h"
#include "runtime/session/SlotLayout.h"
#include "runtime/session/TensorType.h"

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

/// The memory of one state: its block on every rank. Whoever makes one fills it.
class Storage {
public:
  /// `shared`: all ranks have one memory, for values that are replicated and only read.
  Storage(SlotLayout layout, uint32_t numRanks, bool shared = false);

  const SlotLayout &layout() const { return blocks; }
  uint32_t numRanks() const { return rankCount; }
  bool isShared() const { return ranks.size() < rankCount; }
  std::byte *data(uint32_t rank) const { return ranks[ranks.size() == 1 ? 0 : rank].data(); }

  void copyFromHost(const std::byte *global);
  void copyToHost(std::byte *global) const;
  /// From storage of the same layout.
  void copyFrom(const Storage &other);

  /// Why the contents cannot be used: the error of the call that was writing them; empty if they can.
  /// Written by a step at its end, read by steps after it and by those who waited for it.
  std::string poison;
  /// Views that people hold of the memory: while there is one, no step writes in place.
  std::atomic<uint32_t> numViews = 0;

private:
  SlotLayout blocks;
  uint32_t rankCount;
  std::vector<Memory> ranks; // of every rank, or one of all
};

/// A value of a state: what one call made and the next consumes. For one thread at a time.
class StateBuffer {
public:
  /// How the devices of a mesh hold a tensor.
  struct Sharding {
    std::vector<std::pair<std::string, uint32_t>> axes; ///< of the mesh, major first, with their sizes
    std::vector<int64_t> shape;                         ///< that is split: the tensor's, or with segments
    std::vector<std::vector<std::string>> dims;         ///< the axes that split each dimension of it
  };

  /// What all values of one state share.
  struct Kind {
    std::string name;
    TensorType type;
    std::optional<Sharding> sharding; ///< none if the state is on one of several meshes
  };

  StateBuffer(std::shared_ptr<const Kind> kind, std::shared_ptr<Storage> storage,
              std::shared_ptr<Call> producer)
      : kind(std::move(kind)), memory(std::move(storage)), call(std::move(producer)) {}

  const std::string &name() const { return kind->name; }
  const TensorType &type() const { return kind->type; }
  const std::optional<Sharding> &sharding() const { return kind->sharding; }

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
  /// the value was donated or its call failed.
  HostTensor toHost() const;
  /// As toHost, always a copy.
  HostTensor copyToHost() const;
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
