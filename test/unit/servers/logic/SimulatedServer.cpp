#include "test/unit/servers/logic/SimulatedServer.h"

#include <algorithm>

namespace epl::runtime::servers::test {

using namespace server_actions;

void Buffer::store(uint64_t offset, uint64_t total, const Payload &piece) {
  if (offset == 0)
    bytes.assign(total, std::byte(0xee));
  piece.copyTo(std::span(bytes).subspan(offset));
}

Values Buffer::values() const {
  Values values(bytes.size() / sizeof(uint32_t));
  std::ranges::copy(std::span(bytes).first(values.size() * sizeof(uint32_t)),
                    std::as_writable_bytes(std::span(values)).begin());
  return values;
}

std::vector<std::byte> bytesOf(const Values &values) {
  auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> planBytes(uint32_t index) {
  return std::vector<std::byte>(size_t(40 + index), std::byte(index));
}

SimulatedServer::SimulatedServer(uint32_t server, const Scenario &scenario, Network &network, Record &record)
    : server(server), scenario(scenario), network(network), record(record), gather(scenario.timing),
      logic(server, scenario.timing, network.now(), gather) {
  tick();
}

void SimulatedServer::received(uint64_t stream, const NetworkFrame &frame) {
  if (frame.head.empty())
    return act(gather.broke(stream, ""));
  Decoded decoded = decode(frame.head, frame.payload.size());
  if (auto *join = std::get_if<frames::JoinT>(&std::get<Message>(decoded)))
    act(gather.join(stream, *join, network.now()));
  else if (gather.has(stream))
    act(gather.received(stream, frame.head, Payload(frame.payload), network.now()));
  else
    act(logic.received(stream, frame.head, Payload(frame.payload), network.now()));
}

void SimulatedServer::broke(uint64_t stream) {
  act(gather.broke(stream, "reset"));
  act(logic.broke(stream, network.now()));
}

void SimulatedServer::tick() {
  act(gather.tick(network.now()));
  act(logic.tick(network.now()));
  if (!hasEnded())
    network.after(250, *this, [this] { tick(); });
}

void SimulatedServer::act(std::vector<ServerAction> actions) {
  for (const ServerAction &action : actions)
    std::visit([this](const auto &which) { (*this)(which); }, action);
}

/// There are no rounds.
void SimulatedServer::act(const GatherServer::Actions &actions) {
  for (const GatherAction &action : actions)
    if (auto *frame = std::get_if<gather_actions::SendFrame>(&action))
      network.send(frame->stream, *this, {frame->head, {}});
    else if (auto *close = std::get_if<gather_actions::CloseStream>(&action))
      network.close(close->stream, *this, !close->atOnce);
}

void SimulatedServer::operator()(const SendFrame &action) {
  network.send(action.stream, *this, {action.head, {}});
}

void SimulatedServer::operator()(const CloseStream &action) { network.close(action.stream, *this, true); }

void SimulatedServer::operator()(const StoreSetup &action) {
  setup[{int(action.item.kind), action.item.index, action.item.state}].store(action.offset, action.total,
                                                                             action.bytes);
}

void SimulatedServer::operator()(const LoadJob &) {
  load();
  network.after(network.delay(), *this, [this] { act(logic.loaded(network.now())); });
}

/// Takes what worker 0 has sent for what it should be.
void SimulatedServer::load() {
  const Job &job = *logic.job();
  for (uint32_t number : job.blocks.ofServer(server)) {
    blocks[number].value = setup[{int(frames::SetupKind::parameter), number, -1}].values();
    if (blocks[number].value != initialOf(scenario, number))
      record.fault("block ", number, " begins with a damaged value");
    uint32_t plan = job.blocks[number].plan;
    if (setup[{int(frames::SetupKind::plan), plan, -1}].bytes != planBytes(plan))
      record.fault("plan ", plan, " has come damaged");
    if (setup[{int(frames::SetupKind::state), number, 1}].values() != Values{0})
      record.fault("the count of block ", number, " has come damaged");
  }
}

void SimulatedServer::operator()(const StoreGradient &action) {
  gradients[action.key].store(action.offset, action.total, action.bytes);
}

void SimulatedServer::operator()(const DiscardGradient &action) { gradients.erase(action.key); }

void SimulatedServer::operator()(const UpdateBlock &action) {
  if (std::exchange(blocks[action.block].updating, true))
    record.fault("two updates of block ", action.block, " at once");
  network.after(network.randomness()() % (scenario.maxWork + 1), *this, [this, action] { update(action); });
}

void SimulatedServer::update(const UpdateBlock &action) {
  Block &block = blocks[action.block];
  std::vector<Values> parts;
  for (const GradientKey &key : action.gradients) {
    parts.push_back(gradients[key].values());
    addTo(block.value, parts.back());
    gradients.erase(key);
    if (scenario.job->manifest.mode == manifest::Mode::dc_asgd && !block.backups.contains(key.worker))
      record.fault("block ", action.block, " is updated by worker ", key.worker, ", which has no backup");
  }
  block.updating = false;
  ++block.count;
  record.updated(action.block, ++block.version, action.gradients, parts, action.factor, block.value);
  act(logic.updateEnded(action.block, network.now()));
}

void SimulatedServer::operator()(const SendValue &action) {
  Block &block = blocks[action.block];
  if (block.updating)
    record.fault("block ", action.block, " is sent while it is updated");
  if (action.version != block.version)
    record.fault("block ", action.block, " is sent as version ", action.version, ", expected ",
                 block.version);
  if (action.keep != (scenario.job->manifest.mode == manifest::Mode::dc_asgd && action.state == -1))
    record.fault("block ", action.block, " is kept as a backup, or not, against its mode");
  if (action.keep)
    block.backups[action.worker] = block.value;
  Values value = action.state == -1  ? block.value
                 : action.state == 1 ? Values{block.count}
                                     : Values(block.value.size());
  send(action.stream, action.block, action.state, action.version, value);
}

void SimulatedServer::send(StreamId stream, uint32_t block, int32_t state, uint64_t version,
                           const Values &value) {
  std::vector<std::byte> bytes = bytesOf(value);
  for (Piece piece : cutPieces(bytes.size(), simulatedPayload)) {
    frames::ValueT head;
    head.block = block, head.state = state, head.version = version;
    head.offset = piece.offset, head.total = bytes.size();
    auto begin = bytes.begin() + int64_t(piece.offset);
    network.send(stream, *this, {encode(head), {begin, begin + int64_t(piece.size)}});
  }
}

void SimulatedServer::operator()(const StoreIds &action) {
  ids[{action.worker, action.block}].store(action.offset, action.total, action.bytes);
}

/// Rows are looked up beside all else, so they go some time later, and are those of now.
void SimulatedServer::operator()(const SendRows &action) {
  Block &block = blocks[action.block];
  if (block.updating || action.version != block.version)
    record.fault("rows of block ", action.block, " are sent as version ", action.version, ", expected ",
                 block.version, block.updating ? ", which is updated" : "");
  Values rows = rowsOf(scenario, action.block, block.value, ids[{action.worker, action.block}].values());
  if (action.create != (action.block % 2 == 0))
    record.fault("rows of block ", action.block, " are made, or not, against what their worker wants");
  network.after(network.randomness()() % (scenario.maxWork + 1), *this,
                [this, action, rows] { send(action.stream, action.block, -1, action.version, rows); });
}

void SimulatedServer::operator()(const RunTask &action) {
  const Block &block = blocks[action.task.block];
  if (block.updating || (scenario.isSync() && block.version < action.task.least))
    record.fault("a task is done with block ", action.task.block, " at version ", block.version);
  record.ranTask(action.worker, action.life, action.task);
  network.after(network.randomness()() % (scenario.maxTask + 1), *this, [this, action] {
    frames::TaskDoneT done;
    done.block = action.task.block, done.number = action.task.number, done.rows = rowsOfTask(action.task);
    act(logic.taskEnded(action.worker, action.life, done, network.now()));
  });
}

void SimulatedServer::operator()(const EndServer &action) {
  record.serverEnded(server, action.error);
  act(gather.end(action.error));
  network.after(1000, *this,
                [this] { network.kill(*this, /*silently=*/false); }); // what it has said comes before
  for (const auto &[key, buffer] : gradients)
    if (action.error.empty())
      record.fault("a gradient of worker ", key.worker, " for block ", key.block, " is left");
}

} // namespace epl::runtime::servers::test
