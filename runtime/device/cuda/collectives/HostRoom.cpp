#include "runtime/device/cuda/collectives/HostRoom.h"

#include "runtime/host/Memory.h"

namespace epl::runtime::cuda {

/// Behind the two numbers.
static constexpr size_t kFirst = Memory::kAlignment;

HostRoom::HostRoom(const Driver &api, const Transfer &transfer, Transport &transport)
    : api(api), transfer(transfer), transport(transport) {
  size_t size = kFirst;
  for (const auto *messages : {&transfer.sent, &transfer.received})
    for (const Message &message : *messages) {
      offsets.push_back(size);
      size += message.bytes;
    }
  memory = takePinned(api, size);
  begin = static_cast<std::byte *>(memory.get());
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

CUresult HostRoom::send(std::span<const LibraryCall> calls, CUstream stream) {
  CUresult result = CUDA_SUCCESS;
  for (size_t i = 0; i < calls.size() && result == CUDA_SUCCESS; ++i)
    if (calls[i].kind == LibraryCall::Kind::send)
      result = api.cuMemcpyDtoHAsync(placeOf(i), calls[i].from, calls[i].count, stream);
  return result == CUDA_SUCCESS ? api.cuStreamWriteValue32(stream, addressOf(&ready()), 1, 0) : result;
}

CUresult HostRoom::receive(std::span<const LibraryCall> calls, CUstream stream) {
  CUresult result = api.cuStreamWaitValue32(stream, addressOf(&done()), 1, CU_STREAM_WAIT_VALUE_EQ);
  for (size_t i = 0; i < calls.size() && result == CUDA_SUCCESS; ++i)
    if (calls[i].kind == LibraryCall::Kind::receive)
      result = api.cuMemcpyHtoDAsync(calls[i].to, placeOf(i), calls[i].count, stream);
  return result;
}

void HostRoom::post() {
  isPosted = true;
  left->store(uint32_t(offsets.size()), std::memory_order_relaxed);
  size_t index = transfer.sent.size();
  for (const Message &message : transfer.received)
    transport.receive(message.process, message.number, {placeOf(index++), message.size()}, *left);
  index = 0;
  for (const Message &message : transfer.sent)
    transport.send(message.process, message.number, {placeOf(index++), message.size()}, *left);
}

void HostRoom::progress() {
  if (!isPosted && isSet(ready()))
    post();
  if (isPosted && !isSet(done()) && left->load(std::memory_order_acquire) == 0)
    set(done(), 1);
}

void HostRoom::cancel() noexcept {
  if (isPosted && left->load(std::memory_order_acquire) != 0 && !transport.cancel(*left)) {
    Memory::keepAll();
    (void)left.release(); // messages may touch both, until the process ends
    left = std::make_unique<std::atomic<uint32_t>>(0);
    memory.release();
  }
  isPosted = false;
  if (begin)
    set(done(), 1);
}

} // namespace epl::runtime::cuda
