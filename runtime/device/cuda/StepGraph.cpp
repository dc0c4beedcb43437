#include "runtime/device/cuda/StepGraph.h"

#include "runtime/Error.h"

#include <algorithm>

namespace epl::runtime::cuda {

//===----------------------------------------------------------------------===//
// What no step changes
//===----------------------------------------------------------------------===//

StepGraph::StepGraph(std::shared_ptr<const Cards> shared, std::shared_ptr<Copies> copies,
                     std::shared_ptr<const Images> images, const plan::PlanT &plan, const Channels &channels,
                     const LocalRanks &ranks)
    : cards(std::move(shared)), copies(std::move(copies)), images(std::move(images)), api(cards->driver()),
      plans(meshPlansOf(plan)), channels(channels), ranks(ranks) {
  cards->use(0);
  stream = makeStream(api);
  begin = makeEvent(api);
  for (uint32_t part = 0; part < plans.size(); ++part)
    addRanks(part);
  putCoordinates();
  addChannels();
  orderCommands();
}

StepGraph::~StepGraph() { cancel(); }

void StepGraph::addRanks(uint32_t part) {
  const plan::PlanT &plan = *plans[part];
  topologies.emplace_back(plan);
  places.emplace_back(topologies.back().size(), UINT32_MAX);
  for (uint32_t rank : ranks.of(part)) {
    places[part][rank] = uint32_t(here.size());
    Rank &made = here.emplace_back(Rank{part, rank, cards->cardOf(ranks.device(part, rank)), 0, {}, {}, {}});
    cards->use(made.card);
    for (size_t lane = 0; lane < plan.lanes.size(); ++lane)
      made.lanes.push_back(makeStream(api));
    made.events.resize(plan.commands.size());
    bound.resize(bound.size() + plan.buffers.size());
    made.isForked.resize(plan.lanes.size());
  }
}

void StepGraph::putCoordinates() {
  coordinates = std::make_unique<Tables>(cards);
  std::vector<uint64_t> offsets;
  for (const Rank &rank : here) {
    std::span<const int64_t> own = topologies[rank.part].coordinates(rank.rank);
    offsets.push_back(coordinates->add(rank.card, std::vector<int64_t>(own.begin(), own.end())));
  }
  coordinates->upload(*copies);
  for (size_t i = 0; i < here.size(); ++i)
    here[i].coordinates = coordinates->begin(here[i].card) + offsets[i];
}

void StepGraph::addChannels() {
  rings.resize(channels.size());
  for (uint32_t channel = 0; channel < channels.size(); ++channel) {
    uint32_t part = channels.sender(channel);
    rings[channel].resize(places[part].size());
    for (uint32_t rank : ranks.of(part))
      if (!channels.listeners(channel, rank).empty())
        rings[channel][rank] = allocateOn(cards, here[places[part][rank]].card,
                                          channels.depth(channel) * channels.sentBytes(channel),
                                          "what a mesh sends another one");
  }
}

/// Whether what a command waits for in other parts is in order before it.
bool StepGraph::canFollow(PartCommand at, const std::vector<uint32_t> &next) const {
  const plan::ActionUnion &action = plans[at.part]->commands[at.command]->action;
  auto isBefore = [&](PartCommand other) { return other.command < next[other.part]; };
  if (const plan::ReceiveT *receive = action.AsReceive())
    return isBefore(channels.messages(receive->channel)[receive->message].send);
  const plan::SendT *send = action.AsSend();
  uint32_t depth = send ? channels.depth(send->channel) : 0;
  return !send || send->message < depth ||
         isBefore(channels.messages(send->channel)[send->message - depth].receive);
}

/// All commands, each behind those that it waits for: in the program order of each part.
void StepGraph::orderCommands() {
  std::vector<uint32_t> next(plans.size());
  for (bool moves = true; moves;) {
    moves = false;
    for (uint32_t part = 0; part < plans.size(); ++part)
      while (next[part] < plans[part]->commands.size() && canFollow({part, next[part]}, next)) {
        order.push_back({part, next[part]++});
        moves = true;
      }
  }
  for (uint32_t part = 0; part < plans.size(); ++part)
    if (next[part] != plans[part]->commands.size())
      throw Error(
          "the plan's parts wait for each other in another order than that of their programs, at command \"" +
          plans[part]->commands[next[part]]->name + "\"");
}

//===----------------------------------------------------------------------===//
// The calls of all commands
//===----------------------------------------------------------------------===//

bool StepGraph::isOwner(const Rank &rank, const plan::CommandT &command) const {
  return !command.owner ||
         topologies[rank.part].position(command.owner->communicator(), rank.rank) == command.owner->member();
}

MoveAddresses StepGraph::addressesOf(uint32_t part, std::span<const AddressTable *const> meshes) const {
  return {[table = meshes[part]](uint32_t rank, uint32_t buffer) {
            return reinterpret_cast<unsigned long>(table->get(rank, buffer));
          },
          [this](uint32_t channel, uint32_t message, uint32_t rank) {
            return rings[channel][rank]->pointer() +
                   message % channels.depth(channel) * channels.sentBytes(channel);
          }};
}

std::string StepGraph::describe(const Work &work) const {
  const plan::CommandT &command = *plans[work.command.part]->commands[work.command.command];
  return "command \"" + command.name + "\"" + (command.location.empty() ? "" : " of " + command.location) +
         " on rank " + std::to_string(ranks.device(work.command.part, here[work.rank].rank));
}

void StepGraph::makeWork(std::span<const AddressTable *const> meshes) {
  work.clear();
  tables = std::make_unique<Tables>(cards);
  std::vector<CallMaker> makers;
  std::vector<MoveAddresses> addresses;
  for (uint32_t part = 0; part < plans.size(); ++part) {
    makers.emplace_back(api, *plans[part], channels, topologies[part], *images, *tables);
    addresses.push_back(addressesOf(part, meshes));
  }
  for (PartCommand at : order)
    for (uint32_t rank : ranks.of(at.part)) {
      const plan::CommandT &command = *plans[at.part]->commands[at.command];
      const Rank &on = rankOf(at.part, rank);
      Work &made = work.emplace_back(Work{at, places[at.part][rank], {}});
      try {
        if (isOwner(on, command))
          made.calls = makers[at.part].make(command, rank, on.card, on.coordinates, addresses[at.part]);
      } catch (const Error &error) {
        throw Error(describe(made) + ": " + error.what());
      }
    }
  tables->upload(*copies);
  for (Work &each : work)
    for (KernelCall &call : each.calls.kernels)
      call.setTable(tables->begin(here[each.rank].card));
}

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

/// A stream waits for a command of another lane, rank or part.
void StepGraph::await(uint32_t part, uint32_t rank, uint32_t command, CUstream waiting) {
  api.check(api.cuStreamWaitEvent(waiting, rankOf(part, rank).events[command], 0),
            "cannot wait for an event");
}

void StepGraph::awaitOthers(Rank &rank, uint32_t index, CUstream waiting) {
  const plan::PlanT &plan = *plans[rank.part];
  const plan::CommandT &command = *plan.commands[index];
  for (const plan::Wait &wait : command.waits) {
    bool isSelf = wait.scope() == plan::WaitScope::self;
    std::span<const uint32_t> members = isSelf
                                            ? std::span<const uint32_t>(&rank.rank, 1)
                                            : topologies[rank.part].members(wait.communicator(), rank.rank);
    for (uint32_t member : members)
      if (member != rank.rank || plan.commands[wait.command()]->lane != command.lane)
        await(rank.part, member, wait.command(), waiting);
  }
  if (const plan::ReceiveT *receive = command.action.AsReceive()) {
    PartCommand send = channels.messages(receive->channel)[receive->message].send;
    for (uint32_t source : channels.sources(receive->channel, rank.rank))
      await(send.part, source, send.command, waiting);
  }
  if (const plan::SendT *send = command.action.AsSend();
      send && send->message >= channels.depth(send->channel)) {
    PartCommand receive =
        channels.messages(send->channel)[send->message - channels.depth(send->channel)].receive;
    for (uint32_t listener : channels.listeners(send->channel, rank.rank))
      await(receive.part, listener, receive.command, waiting);
  }
}

CUresult StepGraph::enqueueCalls(Work &each, CUstream own) const {
  for (const KernelCall &call : each.calls.kernels)
    if (CUresult result = call.enqueue(api, own); result != CUDA_SUCCESS)
      return result;
  return each.calls.host ? each.calls.host->enqueue(own) : CUDA_SUCCESS;
}

void StepGraph::enqueue(Work &each) {
  Rank &rank = here[each.rank];
  uint32_t lane = plans[rank.part]->commands[each.command.command]->lane;
  CUstream own = rank.lanes[lane];
  cards->use(rank.card);
  if (!rank.isForked[lane])
    api.check(api.cuStreamWaitEvent(own, begin, 0), "cannot wait for an event");
  rank.isForked[lane] = true;
  awaitOthers(rank, each.command.command, own);
  if (CUresult result = enqueueCalls(each, own); result != CUDA_SUCCESS)
    throw Error(describe(each) + ": " + api.describe(result));
  Event &event = rank.events[each.command.command];
  if (!event)
    event = makeEvent(api);
  api.check(api.cuEventRecord(event, own), "cannot record an event");
}

/// Streams that have joined the capture wait for nothing at its end, and the first one for all of them.
void StepGraph::captureAll() {
  api.check(api.cuEventRecord(begin, stream), "cannot record an event");
  for (Rank &rank : here)
    std::fill(rank.isForked.begin(), rank.isForked.end(), false);
  for (Work &each : work)
    enqueue(each);
  for (Rank &rank : here)
    for (size_t lane = 0; lane < rank.lanes.size(); ++lane)
      if (rank.isForked[lane]) {
        cards->use(rank.card);
        uint32_t last = plans[rank.part]->lanes[lane]->commands.back();
        api.check(api.cuStreamWaitEvent(stream, rank.events[last], 0), "cannot wait for an event");
      }
}

void StepGraph::capture() {
  cards->use(0);
  api.check(api.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "cannot begin a capture");
  CUgraph captured = nullptr;
  try {
    captureAll();
  } catch (...) {
    cards->use(0);
    if (api.cuStreamEndCapture(stream, &captured) == CUDA_SUCCESS)
      api.cuGraphDestroy(captured);
    throw;
  }
  cards->use(0);
  api.check(api.cuStreamEndCapture(stream, &captured), "cannot end a capture");
  Graph owned(api, captured);
  CUgraphExec made = nullptr;
  api.check(api.cuGraphInstantiate(&made, captured, 0), "cannot make a graph of the step");
  graph = {api, made};
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Whether the graph is for these addresses; takes note of them.
bool StepGraph::areBound(std::span<const AddressTable *const> meshes) {
  bool areSame = graph != nullptr;
  size_t next = 0;
  for (const Rank &rank : here)
    for (size_t buffer = 0; buffer < plans[rank.part]->buffers.size(); ++buffer, ++next) {
      void *address = meshes[rank.part]->get(rank.rank, uint32_t(buffer));
      areSame = areSame && bound[next] == address;
      bound[next] = address;
    }
  return areSame;
}

void StepGraph::start(std::span<const AddressTable *const> meshes) {
  if (!areBound(meshes)) {
    graph = {};
    makeWork(meshes);
    capture();
  }
  cards->use(0);
  api.check(api.cuGraphLaunch(graph, stream), "cannot launch the step");
}

bool StepGraph::isDone() {
  cards->use(0);
  CUresult result = api.cuStreamQuery(stream);
  if (result == CUDA_ERROR_NOT_READY)
    return false;
  api.check(result, "the step failed on the device");
  for (Work &each : work)
    if (std::string error = each.calls.host ? each.calls.host->takeError() : ""; !error.empty())
      throw Error(describe(each) + ": " + error);
  return true;
}

void StepGraph::cancel() noexcept {
  try {
    cards->use(0);
    api.cuStreamSynchronize(stream); // whatever it says: nothing runs any more
  } catch (const Error &) {
    return; // a card that has failed runs nothing
  }
}

} // namespace epl::runtime::cuda
