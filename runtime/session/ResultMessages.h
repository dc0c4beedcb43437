// Results for processes that have no rank of the mesh that makes them.
#ifndef EPL_RUNTIME_SESSION_RESULTMESSAGES_H
#define EPL_RUNTIME_SESSION_RESULTMESSAGES_H

#include "runtime/session/Slots.h"

#include <functional>

namespace epl::runtime {

/// A result that all ranks of its mesh hold, say the loss of a pipeline's last stage, is a tensor of the host
/// in every process. The first process that has one of these ranks sends it to those that have none. The
/// messages of one step at a time.
class ResultMessages {
public:
  /// `transport` belongs to all processes of the plan, and has no other messages with the numbers of slots.
  /// `plan` and `slots` outlive it.
  ResultMessages(const LoadedPlan &plan, const Slots &slots, const ProcessGroup &processes,
                 std::shared_ptr<Transport> transport);
  ~ResultMessages() { cancel(); }
  ResultMessages(const ResultMessages &) = delete;

  /// Begins a step: receives to where `addressOf` says that a slot's tensor is. Throws Error if a process is
  /// lost.
  void begin(const std::function<std::byte *(size_t slot)> &addressOf);
  /// Sends the tensor of a slot, if it is one that other processes lack. Its bytes stay until `haveMoved`.
  void send(size_t slot, const std::byte *tensor);
  /// Whether all that begin and send began has ended; to be asked until then.
  bool haveMoved();
  /// Gives up what has not moved, of a step that was stopped. False if messages may still touch the tensors,
  /// until the process ends.
  bool cancel();

private:
  struct Message {
    size_t slot;
    uint32_t process, number;
  };

  size_t bytesOf(size_t slot) const;

  const LoadedPlan &plan;
  std::shared_ptr<Transport> transport;
  std::vector<Message> sent, received;
  std::atomic<uint32_t> left = 0; // of both
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_SESSION_RESULTMESSAGES_H
