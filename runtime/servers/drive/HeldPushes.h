// What a worker has pushed, until servers have it.
#ifndef EPL_RUNTIME_SERVERS_DRIVE_HELDPUSHES_H
#define EPL_RUNTIME_SERVERS_DRIVE_HELDPUSHES_H

#include "runtime/servers/drive/SendPieces.h"
#include "runtime/servers/logic/WorkerActions.h"
#include "runtime/session/State.h"

#include <map>
#include <optional>

namespace epl::runtime::servers {

/// Gradients by the handles of the logic. One may be handed over while it is made: what there is of it is
/// sent, and the rest as it comes. Whoever has it guards it.
class HeldPushes {
public:
  /// A push that is whole, or the first `ready` bytes of which are there.
  GradientHandle add(HostTensor tensor);
  GradientHandle add(HostTensor tensor, uint64_t ready);
  /// Of one that was not whole `ready` bytes are there now. Nothing if it is not held any more.
  void grow(GradientHandle handle, uint64_t ready, Streams &streams);

  /// Sends one by a stream, if that is open; what it lacks follows there. One that is scaled, or merged, is
  /// whole.
  void send(const worker_actions::SendGradient &action, uint64_t stream, Streams &streams);
  void merge(const worker_actions::MergeGradient &action);
  void release(GradientHandle handle) { held.erase(handle); }

private:
  struct Sending {
    uint64_t stream;
    PieceSender<frames::PushT> pieces;
  };
  struct Held {
    bool isWhole() const { return ready == tensor.type.bytes(); }

    HostTensor tensor;
    uint64_t ready;
    std::optional<Sending> sending = std::nullopt; ///< the last time, if it has not all gone
  };

  static void sendReady(Held &push, Streams &streams);

  std::map<GradientHandle, Held> held;
  GradientHandle last = 0;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_DRIVE_HELDPUSHES_H
