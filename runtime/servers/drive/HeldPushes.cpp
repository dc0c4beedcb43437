#include "runtime/servers/drive/HeldPushes.h"

#include "runtime/plan/model/Mesh.h"
#include "runtime/servers/store/Average.h"

#include <algorithm>
#include <cassert>

namespace epl::runtime::servers {
namespace {

/// sum(addends) * factor, in memory of its own.
HostTensor combined(const std::vector<HostTensor> &addends, double factor) {
  HostTensor result = HostTensor::allocate(addends.front().type, Memory::Fill::none);
  std::vector<const std::byte *> sources(addends.size());
  std::ranges::transform(addends, sources.begin(), &HostTensor::data);
  addScaled(result.type.element, sources, factor, result.data,
            result.type.bytes() / elementBytes(result.type.element));
  return result;
}

} // namespace

GradientHandle HeldPushes::add(HostTensor tensor) {
  uint64_t bytes = tensor.type.bytes();
  return add(std::move(tensor), bytes);
}

GradientHandle HeldPushes::add(HostTensor tensor, uint64_t ready) {
  held.emplace(++last, Held{std::move(tensor), ready});
  return last;
}

void HeldPushes::grow(GradientHandle handle, uint64_t ready, Streams &streams) {
  auto found = held.find(handle);
  if (found == held.end())
    return;
  found->second.ready = ready;
  sendReady(found->second, streams);
}

void HeldPushes::send(const worker_actions::SendGradient &action, uint64_t stream, Streams &streams) {
  Held &push = held.at(action.gradient);
  assert((action.factor == 1 || push.isWhole()) && "what is sent by parts is not scaled");
  HostTensor sent = action.factor == 1 ? push.tensor : combined({push.tensor}, action.factor);
  frames::PushT message;
  message.step = action.step, message.block = action.block;
  std::span<const std::byte> bytes(sent.data, sent.type.bytes());
  push.sending = Sending{stream, PieceSender<frames::PushT>(message, bytes, sent.owner)};
  sendReady(push, streams);
}

void HeldPushes::sendReady(Held &push, Streams &streams) {
  if (!push.sending)
    return; // its turn comes
  if (std::shared_ptr<Stream> stream = streams.find(push.sending->stream))
    push.sending->pieces.send(*stream, push.ready);
  if (push.isWhole())
    push.sending = std::nullopt;
}

void HeldPushes::merge(const worker_actions::MergeGradient &action) {
  Held &into = held.at(action.into), &from = held.at(action.from);
  assert(into.isWhole() && from.isWhole() && "what is sent by parts is not merged");
  into.tensor = combined({into.tensor, from.tensor}, 1);
  held.erase(action.from);
}

} // namespace epl::runtime::servers
