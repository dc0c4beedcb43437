#include "test/unit/servers/logic/ServerHarness.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace epl::runtime::servers::test {

using namespace server_actions;

manifest::ManifestT makeScalar(manifest::Mode mode, uint32_t workers, manifest::OnLost onLost) {
  manifest::ManifestT manifest = makeManifest({{"w", {1}}}, {.servers = 1}, mode, workers);
  manifest.on_lost = onLost;
  return manifest;
}

ServerHarness::ServerHarness(const manifest::ManifestT &manifest, uint32_t server)
    : gather(Timing()), logic(server, Timing(), now, gather), bytes(serializeManifest(manifest)),
      server(server) {
  job = std::make_shared<Job>(parseManifest(bytes, "harness"));
}

StreamId ServerHarness::greet(uint32_t worker, uint64_t life, uint32_t opened) {
  return greet(
      [=](frames::HelloT &hello) { hello.worker = worker, hello.life = life, hello.stream = opened; });
}

StreamId ServerHarness::greet(const std::function<void(frames::HelloT &)> &change) {
  Hash128 hash = hashBytes(bytes);
  frames::HelloT hello;
  hello.protocol = protocolVersion, hello.job_low = hash.low, hello.job_high = hash.high;
  hello.workers = job->manifest.workers, hello.server = server, hello.life = hello.stream = 1;
  change(hello);
  StreamId stream = streams[hello.worker] = ++last;
  receive(stream, hello);
  return stream;
}

void ServerHarness::setUp() {
  std::vector<uint32_t> all(job->manifest.workers);
  std::iota(all.begin(), all.end(), 0);
  setUpOf(all);
}

void ServerHarness::setUpOf(const std::vector<uint32_t> &workers) {
  for (uint32_t worker : workers)
    greet(worker);
  for (const SetupItem &item : setupItems(job->blocks, server)) {
    frames::SetupT setup;
    setup.kind = item.kind, setup.index = item.index, setup.state = item.state;
    std::vector<std::byte> payload(8);
    if (item.kind == frames::SetupKind::manifest)
      payload.assign(std::as_bytes(std::span(bytes)).begin(), std::as_bytes(std::span(bytes)).end());
    if (item.kind == frames::SetupKind::parameter)
      payload.resize(job->blocks.bytes(item.index));
    if (item.kind == frames::SetupKind::state)
      payload.resize(job->blocks.stateBytes(item.index, uint32_t(item.state)));
    setup.total = payload.size();
    receive(streams[0], setup, payload);
  }
  for (uint32_t worker : workers)
    begin(worker, 0);
}

void ServerHarness::begin(uint32_t worker, uint64_t step) {
  frames::BeginT begin;
  begin.step = step;
  receive(streams[worker], begin);
}

void ServerHarness::push(uint32_t worker, uint64_t step, uint32_t block, float gradient) {
  frames::PushT push;
  push.step = step, push.block = block, push.total = sizeof(gradient);
  receive(streams[worker], push, std::as_bytes(std::span(&gradient, 1)));
}

void ServerHarness::pull(uint32_t worker, std::vector<frames::PulledBlock> blocks) {
  frames::PullRequestT request;
  request.blocks = std::move(blocks);
  receive(streams[worker], request);
}

void ServerHarness::leave(uint32_t worker, uint64_t step) {
  frames::GoodbyeT goodbye;
  goodbye.step = step;
  receive(streams[worker], goodbye);
}

void ServerHarness::receive(StreamId stream, const Message &message, std::span<const std::byte> payload) {
  act(logic.received(stream, encode(message), payload, now));
}

void ServerHarness::pass(Milliseconds time, const std::vector<uint32_t> &beating) {
  for (Milliseconds until = now + time; now < until;) {
    now += 500;
    for (uint32_t worker : beating)
      receive(streams[worker], frames::HeartbeatT());
    act(logic.tick(now));
  }
}

void ServerHarness::finishUpdates() {
  while (finished < updates.size()) {
    UpdateBlock action = updates[finished++];
    update(action);
    act(logic.updateEnded(action.block, now));
  }
}

void ServerHarness::update(const UpdateBlock &action) {
  float sum = 0;
  for (const GradientKey &key : action.gradients)
    sum += gradients.at(key);
  float &number = numbers[action.block];
  float backup = backups[{action.gradients.front().worker, action.block}];
  number = apply(number, float(double(sum) * action.factor), backup);
}

void ServerHarness::store(const StoreGradient &store) {
  if (job->blocks.isPart(store.key.block))
    return; // rows, which are not kept
  auto *begin = reinterpret_cast<std::byte *>(&gradients[store.key]) + store.offset;
  store.bytes.copyTo({begin, store.bytes.size()});
}

void ServerHarness::act(ServerLogic::Actions actions) {
  for (const ServerAction &action : actions) {
    if (auto *send = std::get_if<SendFrame>(&action))
      frames[send->stream].push_back(std::get<Message>(decode(send->head, 0)));
    if (auto *close = std::get_if<CloseStream>(&action))
      closed.push_back(close->stream);
    if (auto *item = std::get_if<StoreSetup>(&action))
      items.push_back(item->item);
    if (std::holds_alternative<LoadJob>(action))
      act(logic.loaded(now));
    if (auto *stored = std::get_if<StoreGradient>(&action))
      store(*stored);
    if (auto *update = std::get_if<UpdateBlock>(&action))
      updates.push_back(*update);
    if (auto *value = std::get_if<SendValue>(&action)) {
      values.push_back(*value);
      sentNumbers.push_back(numbers[value->block]);
      if (value->keep)
        backups[{value->worker, value->block}] = numbers[value->block];
    }
    if (auto *stored = std::get_if<StoreIds>(&action)) {
      ids.resize(stored->total / sizeof(int64_t));
      stored->bytes.copyTo(std::as_writable_bytes(std::span(ids)).subspan(stored->offset));
    }
    if (auto *sent = std::get_if<SendRows>(&action))
      rows.push_back(*sent);
    if (auto *task = std::get_if<RunTask>(&action))
      tasks.push_back(*task);
    if (auto *ended = std::get_if<EndServer>(&action))
      end = ended->error;
  }
}

std::string ServerHarness::failure(StreamId stream) const {
  std::vector<frames::FailureT> failures = sent<frames::FailureT>(stream);
  return failures.empty() ? "" : failures.back().text;
}

} // namespace epl::runtime::servers::test
