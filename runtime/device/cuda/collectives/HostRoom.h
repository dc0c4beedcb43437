// Messages between processes through memory of the host, where NCCL does not connect their cards: because two
// processes share one, or because there is no NCCL.
//
// Problem: the host would have to wait for the card in the midst of a step, and the card for the host.
// Method: a stream copies what is sent to memory that both see, and writes there that it has. Whoever waits
// for the step looks, begins the messages by the transport and, when they have gone and come, writes that in
// turn; the stream waits for it. So nothing blocks a thread.
//
//     stream:  copies out, "ready" = 1        waits until "done" = 1, copies in
//     host:                            sends, receives, "done" = 1
//
// The host clears both before each step.
#ifndef EPL_RUNTIME_DEVICE_CUDA_COLLECTIVES_HOSTROOM_H
#define EPL_RUNTIME_DEVICE_CUDA_COLLECTIVES_HOSTROOM_H

#include "runtime/device/cuda/Handles.h"
#include "runtime/device/cuda/collectives/Transfers.h"

namespace epl::runtime::cuda {

/// The messages of one command on a rank. For one thread at a time.
class HostRoom {
public:
  /// `memory` has the transfer's staging bytes, and is for all commands of a lane in turn. The other
  /// arguments outlive it. Throws Error if there is no memory left.
  HostRoom(const Driver &api, const Transfer &transfer, Transport &transport, std::shared_ptr<Pinned> memory);
  HostRoom(const HostRoom &) = delete;
  ~HostRoom();

  // On a stream; `calls` are those of the transfer (callsOf).

  CUresult send(std::span<const LibraryCall> calls, CUstream stream);
  CUresult receive(std::span<const LibraryCall> calls, CUstream stream);

  // For who waits for a step.

  /// Before it.
  void clear();
  /// Throws Error if a process is lost.
  void progress();
  /// Gives up a step: streams go on, with whatever is here.
  void cancel() noexcept;

private:
  /// What messages touch.
  struct Room {
    std::shared_ptr<Pinned> memory;
    std::atomic<uint32_t> left = 0;
  };
  std::byte *placeOf(const Message &message) const {
    return static_cast<std::byte *>(room->memory->get()) + message.offset;
  }
  uint32_t &ready() const { return numbers[0]; }
  uint32_t &done() const { return numbers[1]; }
  void post();

  const Driver &api;
  const Transfer &transfer;
  Transport &transport;
  std::unique_ptr<Room> room; // null once messages may touch it for ever
  Pinned shared;
  uint32_t *numbers; // there: ready and done
  bool isPosted = false;
};

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_COLLECTIVES_HOSTROOM_H
