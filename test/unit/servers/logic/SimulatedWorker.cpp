#include "test/unit/servers/logic/SimulatedWorker.h"

#include <algorithm>
#include <numeric>

namespace epl::runtime::servers::test {

using namespace worker_actions;

namespace {

WorkerOptions optionsOf(uint32_t worker, uint64_t life, const Scenario &scenario) {
  WorkerOptions options;
  options.worker = worker, options.life = life, options.job = hashBytes(scenario.bytes);
  for (uint32_t server = 0; server < scenario.job->manifest.servers; ++server)
    options.addresses.push_back("host:" + std::to_string(6174 + server));
  options.seed = scenario.seed, options.merge = scenario.merge, options.maxMerge = scenario.maxMerge;
  options.timing = scenario.timing;
  return options;
}

GatherOptions membershipOf(uint32_t worker, uint64_t life, const Scenario &scenario) {
  GatherOptions options;
  options.worker = worker, options.workers = scenario.job->manifest.workers, options.life = life;
  options.seed = scenario.seed, options.timing = scenario.timing;
  return options;
}

} // namespace

SimulatedWorker::SimulatedWorker(uint32_t worker, uint64_t life, const Scenario &scenario, Network &network,
                                 Record &record, Servers &servers)
    : worker(worker), ownLife(life), scenario(scenario), network(network), record(record), servers(servers),
      membership(membershipOf(worker, life, scenario), optionsOf(worker, life, scenario).addresses,
                 network.now()) {
  membership.knows(!scenario.isSync() || scenario.job->manifest.on_lost == manifest::OnLost::go_on);
  network.after(network.delay(), *this, [this] { look(); });
  Milliseconds compiling = network.randomness()() % (scenario.maxCompile + 1);
  network.after(network.delay() + compiling, *this, [this] { start(); });
}

/// It has compiled the step, and needs the servers.
void SimulatedWorker::start() {
  if (hasEnded())
    return;
  logic.emplace(scenario.job, optionsOf(worker, ownLife, scenario), network.now());
  tick();
}

/// At its membership, until it ends or says goodbye.
void SimulatedWorker::look() {
  act(membership.tick(network.now()));
  if (membership.error().empty())
    network.after(200, *this, [this] { look(); });
}

void SimulatedWorker::opened(uint64_t stream) {
  if (auto found = memberLinks.find(stream); found != memberLinks.end())
    membership.accepted(found->second, network.now()), known.insert(linkOf(found->second).server);
  else
    logic->accepted(links.at(stream), network.now());
}

void SimulatedWorker::act(const Membership::Actions &actions) {
  for (const GatherAction &action : actions) {
    if (auto *open = std::get_if<gather_actions::OpenStream>(&action)) {
      uint64_t stream = network.open(*this, *servers[linkOf(open->stream).server]);
      memberLinks[stream] = open->stream, memberStreams[open->stream] = stream;
    } else if (auto *frame = std::get_if<gather_actions::SendFrame>(&action)) {
      network.send(memberStreams.at(frame->stream), *this, {frame->head, {}});
    } else if (auto *close = std::get_if<gather_actions::CloseStream>(&action)) {
      if (!close->atOnce)
        network.send(memberStreams.at(close->stream), *this, lastFrame);
      network.close(memberStreams.at(close->stream), *this, !close->atOnce);
    }
  }
  if (membership.error().empty() || hasBegun || hasEnded())
    return;
  if (logic)
    return act(logic->fail(membership.error()));
  endedEarly = true;
  record.workerEnded(worker, ownLife, step, hasStoodStill(), membership.error());
}

void SimulatedWorker::received(uint64_t stream, const NetworkFrame &frame) {
  if (auto found = memberLinks.find(stream); found != memberLinks.end())
    return act(membership.received(found->second, frame.head, Payload(frame.payload), network.now()));
  act(logic->received(links.at(stream), frame.head, Payload(frame.payload), network.now()));
}

void SimulatedWorker::broke(uint64_t stream) {
  if (auto found = memberLinks.find(stream); found != memberLinks.end())
    return act(membership.broke(found->second, "reset", network.now()));
  act(logic->broke(links.at(stream), "reset", network.now()));
}

void SimulatedWorker::tick() {
  act(logic->tick(network.now()));
  if (!hasEnded())
    network.after(100, *this, [this] { tick(); });
}

/// Asks for all blocks, in an order of this step's own; or saves, behind the last step.
void SimulatedWorker::beginStep() {
  if (step >= scenario.steps[worker])
    return save();
  std::vector<uint32_t> blocks(scenario.job->blocks.size());
  std::iota(blocks.begin(), blocks.end(), 0);
  std::ranges::shuffle(blocks, network.randomness());
  awaited = blocks.size();
  act(logic->pull(step, blocks));
  pullRows();
}

/// Asks parts of tables for rows; of sync all, some for none.
void SimulatedWorker::pullRows() {
  std::vector<RowsRequest> rows;
  ids.clear();
  for (uint32_t part = scenario.job->blocks.size(); part < scenario.job->blocks.total(); ++part) {
    uint64_t count = network.randomness()() % 6;
    if (count == 0 && !scenario.isSync())
      continue;
    ids[part].clear();
    for (uint64_t word = 0; word < 2 * count; ++word)
      ids[part].push_back(uint32_t(network.randomness()()));
    rows.push_back({part, part, count, /*create=*/part % 2 == 0});
  }
  awaited += rows.size();
  act(logic->pullRows(step, rows));
}

void SimulatedWorker::endStep() {
  uint32_t blocks = scenario.job->blocks.total();
  for (uint32_t block = 0; block < blocks && logic->isPushed(step); ++block) {
    Values gradient = gradientOf(scenario, worker, ownLife, step, block);
    record.pushed(worker, ownLife, block, gradient);
    gradients[++lastHandle] = gradient;
    act(logic->push(step, block, lastHandle));
  }
  ++step;
  network.after(network.randomness()() % (scenario.maxWork + 1), *this, [this] { beginStep(); });
}

/// Worker 0 has all states before it leaves.
void SimulatedWorker::save() {
  if (worker != 0 || std::exchange(saving, true)) {
    act(membership.leave(""));
    return act(logic->finish(step));
  }
  const BlockTable &blocks = scenario.job->blocks;
  awaited = 3 * blocks.size() + (blocks.total() - blocks.size());
  for (uint32_t part = blocks.size(); part < blocks.total(); ++part) {
    frames::RunTaskT task;
    task.block = part, task.task = frames::TableTask::save, task.unseen = part + step;
    act(logic->runTask(step, task));
  }
  for (uint32_t block = 0; block < blocks.size(); ++block)
    for (int32_t state : {-1, 0, 1})
      act(logic->fetch(step, block, state));
}

void SimulatedWorker::act(std::vector<WorkerAction> actions) {
  for (const WorkerAction &action : actions)
    std::visit([this](const auto &which) { (*this)(which); }, action);
}

void SimulatedWorker::operator()(const OpenStream &action) {
  uint64_t stream = network.open(*this, *servers[action.link.server]);
  streams[{action.link.server, action.link.stream}] = stream;
  links[stream] = action.link;
}

void SimulatedWorker::operator()(const CloseStream &action) {
  network.close(streams.at({action.link.server, action.link.stream}), *this, action.last);
}

void SimulatedWorker::operator()(const SendFrame &action) {
  network.send(streams.at({action.link.server, action.link.stream}), *this, {action.head, {}});
}

std::vector<std::byte> SimulatedWorker::itemBytes(const SetupItem &item) const {
  switch (item.kind) {
  case frames::SetupKind::manifest: {
    auto bytes = std::as_bytes(std::span(scenario.bytes));
    return {bytes.begin(), bytes.end()};
  }
  case frames::SetupKind::plan:
    return planBytes(item.index);
  case frames::SetupKind::parameter:
    return bytesOf(initialOf(scenario, item.index));
  default:
    return std::vector<std::byte>(scenario.job->blocks.stateBytes(item.index, uint32_t(item.state)));
  }
}

/// Sends the head with every piece of the bytes.
void SimulatedWorker::sendPieces(LinkId link, const Message &head, std::span<const std::byte> bytes) {
  // A manifest in as many pieces as a tensor would hardly ever come whole where streams break.
  bool isLong = bytes.size() > 30 * simulatedPayload;
  for (Piece piece : cutPieces(bytes.size(), isLong ? 30 * simulatedPayload : simulatedPayload)) {
    Message message = head;
    if (auto *setup = std::get_if<frames::SetupT>(&message))
      setup->offset = piece.offset, setup->total = bytes.size();
    if (auto *push = std::get_if<frames::PushT>(&message))
      push->offset = piece.offset, push->total = bytes.size();
    if (auto *rows = std::get_if<frames::PullRowsT>(&message))
      rows->offset = piece.offset, rows->total = bytes.size();
    auto part = bytes.subspan(piece.offset, piece.size);
    network.send(streams.at({link.server, link.stream}), *this,
                 {encode(message), {part.begin(), part.end()}});
  }
}

void SimulatedWorker::operator()(const SendSetup &action) {
  frames::SetupT setup;
  setup.kind = action.item.kind, setup.index = action.item.index, setup.state = action.item.state;
  sendPieces(action.link, setup, itemBytes(action.item));
}

void SimulatedWorker::operator()(const SendGradient &action) {
  frames::PushT push;
  push.step = action.step, push.block = action.block;
  sendPieces(action.link, push, bytesOf(gradients.at(action.gradient)));
}

void SimulatedWorker::operator()(const SendIds &action) {
  frames::PullRowsT rows;
  rows.block = action.rows.block, rows.least = action.least, rows.create = action.rows.create;
  sendPieces(action.link, rows, bytesOf(ids.at(action.rows.block)));
}

void SimulatedWorker::operator()(const MergeGradient &action) {
  if (scenario.isSync())
    record.fault("gradients are merged in sync");
  addTo(gradients.at(action.into), gradients.at(action.from));
  gradients.erase(action.from);
}

void SimulatedWorker::operator()(const ReleaseGradient &action) {
  if (gradients.erase(action.gradient) != 1)
    record.fault("worker ", worker, " releases a gradient twice");
}

void SimulatedWorker::operator()(const BeginSteps &action) {
  step = action.step, hasBegun = true;
  record.begun(worker, ownLife, step);
  network.after(0, *this, [this] { beginStep(); });
}

void SimulatedWorker::operator()(const StoreValue &action) {
  values[{action.block, action.state}].store(action.offset, action.total, action.bytes);
}

void SimulatedWorker::operator()(const HaveValue &action) {
  Values value = values[{action.block, action.state}].values();
  if (scenario.job->blocks.isPart(action.block))
    record.gotRows(worker, step, action.block, action.version, value, ids.at(action.block));
  else if (action.state == -1)
    record.got(worker, step, action.block, action.version, value);
  else if (action.state == 1 && value != Values{uint32_t(action.version)})
    record.fault("block ", action.block, " has count ", value.at(0), " at version ", action.version);
  haveOne();
}

void SimulatedWorker::operator()(const HaveTask &action) {
  frames::RunTaskT task;
  task.block = action.block, task.unseen = action.block + step;
  if (action.rows != rowsOfTask(task))
    record.fault("a task with block ", action.block, " is done with ", action.rows, " rows");
  haveOne();
}

void SimulatedWorker::haveOne() {
  if (--awaited == 0)
    network.after(network.randomness()() % (scenario.maxWork + 1), *this,
                  [this] { saving ? save() : endStep(); });
}

void SimulatedWorker::operator()(const EndWorker &action) {
  record.workerEnded(worker, ownLife, step, hasStoodStill(), action.error);
  act(membership.leave(action.error));
  if (action.error.empty() && !gradients.empty())
    record.fault("worker ", worker, " has gradients left");
}

} // namespace epl::runtime::servers::test
