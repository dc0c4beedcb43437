// What is outside of the plans that a session runs, such as parameter servers: who calls it gives it.
#ifndef EPL_RUNTIME_SESSION_OUTSIDE_H
#define EPL_RUNTIME_SESSION_OUTSIDE_H

#include "runtime/session/State.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace epl::runtime {

/// Whence the values of one call's pulled arguments come while its step runs, and where those of its pushed
/// results go. Slots are those of the whole plan.
class Outside {
public:
  /// The step, which waits.
  class Listener {
  public:
    virtual ~Listener() = default;
    /// The tensor of a slot is there. From any thread, in any order, once for each slot.
    virtual void arrived(uint32_t slot) = 0;
    /// Some will not come: the step fails.
    virtual void failed(const std::string &reason) = 0;
  };
  /// Where the whole tensor of a slot goes.
  struct Wanted {
    uint32_t slot;
    HostTensor tensor;
  };

  virtual ~Outside() = default;

  /// The step is about to begin: whatever `pull` will want may be sent for now. If no step follows, `end` is
  /// called. Does not wait; throws Error if it fails.
  virtual void expect(std::span<const Wanted>) {}

  // Threads of the executor call these, which do not wait. Throw Error if it fails: then the step does.

  /// The step begins: it wants all of these, in the order in which it uses them. `listener` may be called
  /// before this returns, until `end` does.
  virtual void pull(std::span<const Wanted> wanted, Listener &listener) = 0;
  /// The value of a slot, which nobody writes any more. Each once, if the step does not fail before.
  virtual void push(uint32_t slot, const HostTensor &tensor) = 0;
  /// The step has ended, well or not, perhaps before it has begun: when this returns, what was wanted is not
  /// written, and the listener not called, any more.
  virtual void end() noexcept = 0;
};

/// Tensors that are there when a call is made, and those that it pushes: for tests, and to run a step by
/// itself.
class OutsideTensors final : public Outside {
public:
  /// Of each pulled slot its tensor, which stays as it is until the call has ended.
  explicit OutsideTensors(std::map<uint32_t, HostTensor> pulled) : pulled(std::move(pulled)) {}

  void pull(std::span<const Wanted> wanted, Listener &listener) override;
  void push(uint32_t slot, const HostTensor &tensor) override;
  void end() noexcept override {}

  /// What was pushed, by slot; after the end of the call.
  const std::map<uint32_t, HostTensor> &pushes() const { return pushed; }

private:
  std::map<uint32_t, HostTensor> pulled, pushed;
  std::mutex mutex;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_SESSION_OUTSIDE_H
