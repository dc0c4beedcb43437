// What a kind of devices is to the rest of the runtime: memory, copies, and the code of a plan.
#ifndef EPL_RUNTIME_DEVICE_DEVICE_H
#define EPL_RUNTIME_DEVICE_DEVICE_H

#include "runtime/device/Command.h"
#include "runtime/host/Memory.h"
#include "runtime/plan/model/Channels.h"
#include "runtime/plan/model/LocalRanks.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace epl::runtime {

/// Memory of one rank on its device, aligned to Memory::kAlignment.
class Allocation {
public:
  virtual ~Allocation() = default;
  Allocation(const Allocation &) = delete;

  /// Where commands find it. The host may look there if DeviceSet::usesHostMemory says so, or if it was taken
  /// in the host.
  std::byte *address() const { return start; }
  size_t size() const { return bytes; }

protected:
  Allocation(std::byte *start, size_t bytes) : start(start), bytes(bytes) {}

private:
  std::byte *start;
  size_t bytes;
};

/// A message that a process waits for: of a command that has begun and cannot end before it.
struct Waiting {
  std::string command, location; ///< its name, and the user's source line
  bool isGuarded;                ///< a member whose guard does not hold neither sends nor receives it
  bool isSend;                   ///< whether it has not gone; else it has not come
  uint32_t device;               ///< the device here that sends it, or the first of those that wait for it
  uint32_t holder;               ///< the device whose memory it is of
  uint32_t process;              ///< to which it goes, from which it comes
  size_t bytes;                  ///< that are missing
};

/// All commands of a loaded plan, for devices that run a step as a whole. For one thread at a time, which may
/// be another one at each call.
class BoundStep {
public:
  virtual ~BoundStep() = default;

  /// Begins a step on buffers that are where the tables of the plan's parts say. `isTimed`: times are wanted.
  /// `isStopped`: whether the step is given up, for devices that wait in here. Throws Error if it fails: then
  /// the step has ended.
  virtual void start(std::span<const AddressTable *const> meshes, bool isTimed,
                     const std::function<bool()> &isStopped) = 0;
  /// Whether the step that was begun, and what was begun behind it, has ended; asked again and again. Throws
  /// Error if it failed.
  virtual bool isDone() = 0;
  /// When a command of a rank ran, in seconds from the begin of the step.
  struct Span {
    uint32_t part, rank, command;
    double begin, end;
  };
  /// The commands that the last step has run, if that was timed and is done.
  virtual std::vector<Span> times() const = 0;
  /// Waits for the end of a step that is given up, and of what was delivered to it: when this returns, they
  /// touch no memory any more.
  virtual void cancel() noexcept = 0;

  // Of messages between processes through memory of the host; threads that watch a step call these, too.

  /// What it waits for now.
  virtual std::vector<Waiting> waiting() const = 0;
  /// How many messages, or pieces of large ones, have come and gone: if it stays the same, nothing moves.
  virtual uint64_t numMoved() const noexcept = 0;
};

/// The commands of a plan that need no other rank: its kernels, library calls and copies. Or all of them.
class Code {
public:
  virtual ~Code() = default;

  /// For devices that run steps as a whole: all commands of the plan that was loaded, whose `ranks` are here.
  /// The arguments outlive what it gives. Null for devices whose commands are bound one by one. Throws Error
  /// if a kernel or a library is missing.
  virtual std::unique_ptr<BoundStep> bindStep(const Channels &, const LocalRanks &) const { return nullptr; }

  /// Binds a launch, a contraction or a copy of `plan`: the whole plan that was loaded, or one of its parts.
  /// The plan and the code outlive what is bound. Throws Error if a kernel or a library is missing.
  virtual std::unique_ptr<Command> bind(const plan::PlanT &plan, uint32_t command) const = 0;
};

/// Memory of the host from which a device copies by itself, beside its steps: what callers pass to a step is
/// on its way while the one before still runs. For one thread at a time.
class ArgumentStage {
public:
  virtual ~ArgumentStage() = default;

  /// What the host writes there, all of it, `send` takes.
  virtual std::byte *host() const = 0;
  /// Whether the host may write: what was sent before is on the device. Throws Error, as all that follows,
  /// if the device has failed.
  virtual bool isFree() = 0;
  /// Waits until it is.
  virtual void await() = 0;
  /// Begins to copy to the device.
  virtual void send() = 0;
  /// Puts what was sent into `to`, which has the same size, before the commands of the next step that begins.
  virtual void deliver(Allocation &to) = 0;
};

/// Memory of the host to which a device copies by itself, behind a step. For one thread at a time.
class ResultStage {
public:
  virtual ~ResultStage() = default;

  /// Begins to copy `from`, which has the same size, behind the step that has begun, which is not done before
  /// it is here. Throws Error if the device has failed.
  virtual void fetch(const Allocation &from) = 0;
  virtual const std::byte *host() const = 0;
};

/// All devices of one kind. Threads may call it at once.
class DeviceSet {
public:
  virtual ~DeviceSet() = default;

  /// Whether the devices' memory is the process's own: the host reads and writes it, and every command finds
  /// the memory of all ranks and of callers where it is. Else what goes between them is copied.
  virtual bool usesHostMemory() const = 0;

  /// The card that a device which is here is on, by its driver's number; nothing of devices that are none.
  virtual std::optional<uint32_t> cardOf(uint32_t) const { return std::nullopt; }

  /// Memory of a device of the plan. Throws Error if there is none left.
  virtual std::unique_ptr<Allocation> allocate(uint32_t device, size_t size, Memory::Fill fill) = 0;
  /// Memory of the host that a device of the plan, and every other one here, copies from and to in its steps;
  /// of devices whose memory is the host's it is that. Throws Error if there is none left.
  virtual std::unique_ptr<Allocation> allocateInHost(uint32_t device, size_t size) {
    return allocate(device, size, Memory::Fill::none);
  }

  // Copies of whole allocations, which are complete when the call returns. Throw Error if the device fails.

  virtual void copyIn(const std::byte *host, Allocation &to) = 0;
  virtual void copyOut(const Allocation &from, std::byte *host) = 0;
  /// Both of one size.
  virtual void copy(const Allocation &from, Allocation &to) = 0;

  // Memory of the host for what goes to a device and comes from it again and again; null for devices whose
  // memory the host reaches, and for those that copy while somebody waits. Throw Error if there is none left.

  virtual std::unique_ptr<ArgumentStage> stageArgument(uint32_t, size_t) { return nullptr; }
  virtual std::unique_ptr<ResultStage> stageResult(uint32_t, size_t) { return nullptr; }

  /// Puts the machine code of a whole plan, which has passed the verifier, on the devices. Throws Error if it
  /// is for others, naming what these lack.
  virtual std::unique_ptr<Code> load(const plan::PlanT &plan) = 0;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_DEVICE_DEVICE_H
