#include "runtime/servers/drive/WorkerDriver.h"

#include "runtime/servers/drive/SendPieces.h"

namespace epl::runtime::servers {

namespace act = worker_actions;

namespace {

std::span<const std::byte> bytesOf(const HostTensor &tensor) { return {tensor.data, tensor.type.bytes()}; }

} // namespace

void Worker::Driver::opened(uint64_t stream) noexcept {
  std::scoped_lock lock(mutex);
  logic.accepted(linkOf(stream), Ticker::now());
}

void Worker::Driver::received(uint64_t stream, std::span<const std::byte> head, const Payload &payload) {
  std::scoped_lock lock(mutex);
  perform(logic.received(linkOf(stream), head, payload, Ticker::now()));
}

void Worker::Driver::broke(uint64_t stream, const Ending &ending) {
  std::scoped_lock lock(mutex);
  perform(ending.isFinal ? logic.refused(linkOf(stream), ending.why)
                         : logic.broke(linkOf(stream), ending.why, Ticker::now()));
  changed.notify_all();
}

void Worker::Driver::perform(const act::CloseStream &action) {
  streams.close(numberOf(action.link), !action.last);
}

void Worker::Driver::perform(const act::SendFrame &action) {
  streams.send(numberOf(action.link), action.head);
}

void Worker::Driver::perform(const act::MergeGradient &action) { held.merge(action); }

void Worker::Driver::perform(const act::SendGradient &action) {
  held.send(action, numberOf(action.link), streams);
}

void Worker::Driver::perform(const act::OpenStream &action) {
  open(numberOf(action.link), options.addresses[action.link.server],
       [&](const std::string &why) { perform(logic.refused(action.link, why)); });
}

void Worker::Driver::perform(const act::SendSetup &action) {
  std::shared_ptr<Stream> stream = streams.find(numberOf(action.link));
  if (!stream || !source)
    return;
  frames::SetupT message;
  message.kind = action.item.kind, message.index = action.item.index, message.state = action.item.state;
  auto sendBytes = [&](std::vector<uint8_t> bytes) {
    auto owner = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
    sendPieces(*stream, message, std::as_bytes(std::span(*owner)), owner);
  };
  if (action.item.kind == frames::SetupKind::manifest)
    return sendBytes(source->manifest);
  if (action.item.kind == frames::SetupKind::plan)
    return sendBytes(source->plan(action.item.index));
  HostTensor whole = source->value(parameterOf[action.item.index], action.item.state);
  HostTensor value = take(whole, partOf(*job, action.item.index, action.item.state));
  sendPieces(*stream, message, bytesOf(value), value.owner);
}

void Worker::Driver::perform(const act::SendIds &action) {
  std::shared_ptr<Stream> stream = streams.find(numberOf(action.link));
  if (!stream)
    return;
  frames::PullRowsT message;
  message.block = action.rows.block, message.least = action.least, message.create = action.rows.create;
  const std::shared_ptr<RowPulls> &pulls = rowPulls.at(action.rows.block);
  sendPieces(*stream, message, pulls->ids(action.rows.block), pulls);
}

void Worker::Driver::perform(const act::StoreValue &action) {
  if (action.bytes.size() == 0)
    return;
  if (job->blocks.isPart(action.block))
    return rowPulls.at(action.block)->store(action.block, action.offset, action.bytes);
  std::byte *whole = coming.find({parameterOf[action.block], action.state});
  if (!whole)
    return; // nobody waits for it any more
  std::byte *target = whole + partOf(*job, action.block, action.state).begin + action.offset;
  action.bytes.copyTo({target, action.bytes.size()});
}

} // namespace epl::runtime::servers
