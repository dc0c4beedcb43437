#include "runtime/collective/messages/Endpoint.h"

#include "runtime/Error.h"
#include "runtime/host/Memory.h"

namespace epl::runtime {

Endpoint::Endpoint(std::shared_ptr<Transport> opened, bool isAlone)
    : transport(std::move(opened)), watched{*transport}, isAlone(isAlone) {
  if (!isAlone)
    ProgressThread::shared().add(watched);
}

Endpoint::~Endpoint() {
  if (!isAlone)
    ProgressThread::shared().remove(watched);
}

void Endpoint::requireWhole() const {
  if (isBroken.load(std::memory_order_relaxed))
    throw Error("a step before was broken off, and other processes wait for the rest of it: this process has "
                "to end");
}

void Endpoint::send(const Message &message, std::span<const std::byte> bytes, std::atomic<uint32_t> &left) {
  requireWhole();
  transport->send(message.process, message.number, bytes, left);
  ProgressThread::shared().wake();
}

void Endpoint::receive(const Message &message, std::span<std::byte> bytes, std::atomic<uint32_t> &left) {
  requireWhole();
  transport->receive(message.process, message.number, bytes, left);
  ProgressThread::shared().wake();
}

void Endpoint::cancel(std::atomic<uint32_t> &left) noexcept {
  if (left.load(std::memory_order_acquire) == 0)
    return;
  if (!transport->cancel(left))
    Memory::keepAll();
  left.store(0, std::memory_order_relaxed);
}

} // namespace epl::runtime
