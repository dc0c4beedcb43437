#include "runtime/device/cuda/collectives/HostRoom.h"

#include "runtime/host/Memory.h"

namespace epl::runtime::cuda {

HostRoom::HostRoom(const Driver &api, const Transfer &transfer, Transport &transport,
                   std::shared_ptr<Pinned> memory)
    : api(api), transfer(transfer), transport(transport), room(std::make_unique<Room>(std::move(memory))),
      shared(takePinned(api, 2 * sizeof(uint32_t))), numbers(static_cast<uint32_t *>(shared.get())) {
  clear();
}

HostRoom::~HostRoom() { cancel(); }

static void set(uint32_t &number, uint32_t value) {
  std::atomic_ref(number).store(value, std::memory_order_release);
}
static bool isSet(uint32_t &number) { return std::atomic_ref(number).load(std::memory_order_acquire) == 1; }
static CUdeviceptr addressOf(const void *host) { return reinterpret_cast<CUdeviceptr>(host); }

void HostRoom::clear() {
  set(ready(), 0);
  set(done(), 0);
  isPosted = false;
}

/// Calls are those of what is sent, then of what is received.
CUresult HostRoom::send(std::span<const LibraryCall> calls, CUstream stream) {
  CUresult result = CUDA_SUCCESS;
  for (size_t i = 0; i < transfer.sent.size() && result == CUDA_SUCCESS; ++i)
    result = api.cuMemcpyDtoHAsync(placeOf(transfer.sent[i]), calls[i].from, calls[i].count, stream);
  return result == CUDA_SUCCESS ? api.cuStreamWriteValue32(stream, addressOf(&ready()), 1, 0) : result;
}

CUresult HostRoom::receive(std::span<const LibraryCall> calls, CUstream stream) {
  CUresult result = api.cuStreamWaitValue32(stream, addressOf(&done()), 1, CU_STREAM_WAIT_VALUE_EQ);
  for (size_t i = 0; i < transfer.received.size() && result == CUDA_SUCCESS; ++i) {
    const LibraryCall &call = calls[transfer.sent.size() + i];
    result = api.cuMemcpyHtoDAsync(call.to, placeOf(transfer.received[i]), call.count, stream);
  }
  return result;
}

void HostRoom::post() {
  isPosted = true;
  room->left.store(uint32_t(transfer.sent.size() + transfer.received.size()), std::memory_order_relaxed);
  for (const Message &message : transfer.received)
    transport.receive(message.process, message.number, {placeOf(message), message.size()}, room->left);
  for (const Message &message : transfer.sent)
    transport.send(message.process, message.number, {placeOf(message), message.size()}, room->left);
}

void HostRoom::progress() {
  if (!room)
    return;
  if (!isPosted && isSet(ready()))
    post();
  if (isPosted && !isSet(done()) && room->left.load(std::memory_order_acquire) == 0)
    set(done(), 1);
}

void HostRoom::cancel() noexcept {
  if (isPosted && room && room->left.load(std::memory_order_acquire) != 0 && !transport.cancel(room->left)) {
    Memory::keepAll();
    (void)room.release(); // until the process ends
  }
  isPosted = false;
  set(done(), 1);
}

} // namespace epl::runtime::cuda
