#include "runtime/device/cuda/StepGraph.h"

#include "runtime/device/cuda/Environment.h"

#include <algorithm>

namespace epl::runtime::cuda {

StepGraph::StepGraph(std::shared_ptr<const Cards> shared, std::shared_ptr<Copies> copies,
                     std::shared_ptr<const Images> images, std::shared_ptr<Communicators> communicators,
                     const plan::PlanT &plan, const Channels &channels, const LocalRanks &local)
    : cards(std::move(shared)), api(cards->driver()), channels(channels),
      work(cards, std::move(copies), std::move(images), std::move(communicators), plan, channels, local),
      chains(*cards, work), isBlocking(isSwitchedOn("EPL_CUDA_BLOCKING")) {
  for (const StepWork::Rank &rank : work.localRanks())
    addRank(rank);
  cards->use(0);
  capturing = makeStream(api);
  begun = makeEvent(api);
  timedBegins.resize(cards->size());
  hasBegun.resize(cards->size());
}

StepGraph::~StepGraph() {
  isRunning = false; // what runs ends by itself
  cancel();
}

void StepGraph::addRank(const StepWork::Rank &rank) {
  const plan::PlanT &plan = work.plan(rank.part);
  Rank &made = ranks.emplace_back();
  cards->use(rank.card);
  for (const auto &lane : plan.lanes) // others wait for what communicates
    made.lanes.push_back(makeStream(api, /*isUrgent=*/lane->kind == plan::LaneKind::communicate));
  made.hasBegun.resize(plan.lanes.size());
  for (std::vector<Event> *events : {&made.events, &made.timedBegins, &made.timedEnds})
    events->resize(plan.commands.size());
}

//===----------------------------------------------------------------------===//
// Commands on streams
//===----------------------------------------------------------------------===//

/// A stream waits for a command of another lane, rank or part. Of a rank in another process it need not: what
/// that has is read by a call that begins when it comes to the command there, and what it reads has been read
/// when the own call has ended, for which the own rank waits.
void StepGraph::await(uint32_t part, uint32_t rank, uint32_t command, CUstream waiting) {
  if (std::optional<uint32_t> place = work.placeOf(part, rank))
    cuda::await(api, waiting, ranks[*place].events[command]);
}

void StepGraph::awaitOthers(const StepWork::Item &item, CUstream waiting) {
  auto [part, self, card, coordinates] = work.localRanks()[item.rank];
  const plan::PlanT &plan = work.plan(part);
  const plan::CommandT &command = *plan.commands[item.command.command];
  for (const plan::Wait &wait : command.waits) {
    std::span<const uint32_t> members = wait.scope() == plan::WaitScope::self
                                            ? std::span<const uint32_t>(&self, 1)
                                            : work.topology(part).members(wait.communicator(), self);
    for (uint32_t member : members)
      if (member != self || plan.commands[wait.command()]->lane != command.lane)
        await(part, member, wait.command(), waiting);
  }
  awaitMessage(item, waiting);
}

/// A receive waits until the message was sent, a send until there is room for it.
void StepGraph::awaitMessage(const StepWork::Item &item, CUstream waiting) {
  const StepWork::Rank &place = work.localRanks()[item.rank];
  const plan::CommandT &command = *work.plan(place.part).commands[item.command.command];
  if (const plan::ReceiveT *receive = command.action.AsReceive()) {
    PartCommand send = channels.messages(receive->channel)[receive->message].send;
    for (uint32_t source : channels.sources(receive->channel, place.rank))
      await(send.part, source, send.command, waiting);
  }
  const plan::SendT *send = command.action.AsSend();
  if (!send || send->message < channels.depth(send->channel))
    return;
  uint32_t before = send->message - channels.depth(send->channel);
  PartCommand receive = channels.messages(send->channel)[before].receive;
  for (uint32_t listener : channels.listeners(send->channel, place.rank))
    await(receive.part, listener, receive.command, waiting);
  chains.awaitSent(item.rank, send->channel, before, waiting);
}

/// The node that was captured last from a stream.
CUresult StepGraph::takeNode(uint32_t item, CUstream stream) {
  CUstreamCaptureStatus status{};
  const CUgraphNode *last = nullptr;
  size_t count = 0;
  CUresult result = api.cuStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &last, nullptr, &count);
  if (result == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_ACTIVE)
    nodes[item].push_back(count == 1 ? *last : nullptr);
  return result;
}

/// In a graph the last item of a joint stands for all of it.
CUresult StepGraph::enqueueJoint(const StepWork::Joint &joint, uint32_t index, CUstream own) {
  CUresult result = CUDA_SUCCESS;
  for (size_t i = 0; index == joint.items.back() && i < joint.kernels.size() && result == CUDA_SUCCESS; ++i)
    result = joint.kernels[i].enqueue(api, own);
  return result;
}

CUresult StepGraph::enqueueCalls(uint32_t index, CUstream own) {
  const StepWork::Item &item = work.items()[index];
  const Calls &calls = item.calls;
  for (const KernelCall &call : calls.kernels) {
    if (CUresult result = call.enqueue(api, own); result != CUDA_SUCCESS)
      return result;
    if (CUresult result = takeNode(index, own); result != CUDA_SUCCESS)
      return result;
  }
  work.enqueueCall(item, own);
  return CUDA_SUCCESS;
}

/// The first command of a lane comes behind the begin of the step.
void StepGraph::enter(const StepWork::Rank &place, Rank &rank, uint32_t lane, Mode mode) {
  CUstream own = rank.lanes[lane];
  cuda::await(api, own, begun);
  if (mode == Mode::timed && !hasBegun[place.card])
    record(api, timedBegins[place.card], own, true);
  rank.hasBegun[lane] = hasBegun[place.card] = true;
}

/// All that comes before the calls of an item, or before its transfers if it has some.
void StepGraph::begin(uint32_t index, Mode mode) {
  const StepWork::Item &item = work.items()[index];
  const StepWork::Rank &place = work.localRanks()[item.rank];
  if (item.isSent)
    return chains.beginSend(item, eventOfSend(item));
  Rank &rank = ranks[item.rank];
  uint32_t command = item.command.command, lane = work.plan(place.part).commands[command]->lane;
  CUstream own = rank.lanes[lane];
  cards->use(place.card);
  if (!rank.hasBegun[lane])
    enter(place, rank, lane, mode);
  awaitOthers(item, own);
  if (mode == Mode::timed)
    record(api, rank.timedBegins[command], own, true);
  for (const KernelCall &call : item.calls.packs)
    work.check(item, call.enqueue(api, own));
  if (item.calls.transfer)
    chains.begin(item, own);
}

/// Of the command that has put what an item sends into the channel's memory.
CUevent StepGraph::eventOfSend(const StepWork::Item &item) const {
  const plan::ReceiveT &receive =
      *work.plan(item.command.part).commands[item.command.command]->action.AsReceive();
  return ranks[item.rank].events[channels.messages(receive.channel)[receive.message].send.command];
}

/// The calls of an item, and the events behind it.
void StepGraph::end(uint32_t index, Mode mode) {
  const StepWork::Item &item = work.items()[index];
  if (item.isSent)
    return;
  const StepWork::Rank &place = work.localRanks()[item.rank];
  Rank &rank = ranks[item.rank];
  uint32_t command = item.command.command;
  CUstream own = rank.lanes[work.plan(place.part).commands[command]->lane];
  cards->use(place.card);
  if (item.calls.transfer)
    chains.end(item, own);
  const StepWork::Joint *joint = mode == Mode::captured ? work.jointOf(index) : nullptr;
  CUresult result = joint ? enqueueJoint(*joint, index, own) : enqueueCalls(index, own);
  if (result == CUDA_SUCCESS && mode == Mode::blocking)
    result = awaitStream(item, own);
  work.check(item, result);
  if (mode == Mode::timed)
    record(api, rank.timedEnds[command], own, true);
  if (!joint)
    return record(api, rank.events[command], own, false);
  if (index == joint->items.back())
    for (uint32_t member : joint->items)
      record(api, rank.events[work.items()[member].command.command], own, false);
}

/// The items of one command.
void StepGraph::enqueue(uint32_t first, uint32_t last, Mode mode) {
  for (uint32_t item = first; item < last; ++item)
    begin(item, mode);
  chains.run(work.items().subspan(first, last - first));
  for (uint32_t item = first; item < last; ++item)
    end(item, mode);
}

/// All commands, behind what is on a stream, which goes on behind all of them.
void StepGraph::enqueueAll(CUstream origin, Mode mode) {
  cards->use(0);
  record(api, begun, origin, false);
  hasBegun.assign(cards->size(), false);
  for (Rank &rank : ranks)
    std::fill(rank.hasBegun.begin(), rank.hasBegun.end(), false);
  chains.clear();
  auto count = uint32_t(work.items().size());
  for (uint32_t first = 0, last = 0; first < count; first = last) {
    while (last < count && work.items()[last].command == work.items()[first].command)
      ++last;
    enqueue(first, last, mode);
  }
  join(origin);
}

/// A stream goes on behind all commands.
void StepGraph::join(CUstream origin) {
  cards->use(0);
  chains.join(origin);
  for (size_t i = 0; i < ranks.size(); ++i)
    for (size_t lane = 0; lane < ranks[i].lanes.size(); ++lane)
      if (ranks[i].hasBegun[lane]) {
        uint32_t last = work.plan(work.localRanks()[i].part).lanes[lane]->commands.back();
        cuda::await(api, origin, ranks[i].events[last]);
      }
}

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

/// All commands, and into `nodes` where their kernels are.
Graph StepGraph::captureAll() {
  cards->use(0);
  api.check(api.cuStreamBeginCapture(capturing, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
            "cannot begin a capture");
  CUgraph captured = nullptr;
  nodes.assign(work.items().size(), {});
  try {
    enqueueAll(capturing, Mode::captured);
  } catch (...) {
    cards->use(0);
    if (api.cuStreamEndCapture(capturing, &captured) == CUDA_SUCCESS)
      api.cuGraphDestroy(captured);
    throw;
  }
  api.check(api.cuStreamEndCapture(capturing, &captured), "cannot end a capture");
  return {api, captured};
}

/// Whether items have as many kernels.
static bool haveSameSizes(const std::vector<std::vector<CUgraphNode>> &a,
                          const std::vector<std::vector<CUgraphNode>> &b) {
  return std::ranges::equal(a, b, {}, &std::vector<CUgraphNode>::size, &std::vector<CUgraphNode>::size);
}

/// Makes the executable graph that of the calls as they are: another one only if it is not of the same nodes.
void StepGraph::capture() {
  std::vector<std::vector<CUgraphNode>> nodesBefore = nodes;
  ExecutableGraph old = std::move(executable); // if it throws, there is none
  Graph captured = captureAll();
  CUgraphExecUpdateResultInfo info{};
  if (old && haveSameSizes(nodes, nodesBefore) &&
      api.cuGraphExecUpdate(old, captured, &info) == CUDA_SUCCESS) {
    executable = std::move(old);
    nodes = std::move(nodesBefore); // updates name nodes of the graph that it was made of
  } else {
    CUgraphExec made = nullptr;
    api.check(api.cuGraphInstantiate(&made, captured, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY),
              "cannot make a graph of the step");
    executable = {api, made};
    graph = std::move(captured);
  }
  isCurrent = true;
}

/// Gives the nodes of an item the arguments that its calls have now.
void StepGraph::update(uint32_t index) {
  const std::vector<KernelCall> &kernels = work.items()[index].calls.kernels;
  for (size_t i = 0; i < kernels.size(); ++i)
    if (CUresult result = kernels[i].update(api, executable, nodes[index][i]); result != CUDA_SUCCESS)
      throw Error(work.describe(work.items()[index]) + ": " + api.describe(result));
}

/// A graph that is for other addresses, or for these in part, is captured again.
void StepGraph::bind(std::span<const AddressTable *const> meshes) {
  bool wasCurrent = std::exchange(isCurrent, false);
  StepWork::Change change = work.bind(meshes);
  if (change == StepWork::Change::calls || !wasCurrent)
    return;
  for (uint32_t item : work.changed())
    update(item);
  isCurrent = true;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// As cuStreamSynchronize, while messages go on.
CUresult StepGraph::awaitStream(const StepWork::Item &item, CUstream stream) {
  CUresult result = CUDA_ERROR_NOT_READY;
  while ((result = api.cuStreamQuery(stream)) == CUDA_ERROR_NOT_READY) {
    if (std::string problem = isStopped() ? "it is given up" : chains.progress(); !problem.empty())
      throw Error(work.describe(item) + ": " + problem);
  }
  return result;
}

/// What has begun ends without other processes, and no step begins any more.
void StepGraph::giveUp() noexcept {
  if (std::exchange(isRunning, false))
    chains.giveUp();
}

/// Runs the commands without a graph.
void StepGraph::run(Mode mode) {
  auto enqueuing = cards->enqueuing();
  try {
    enqueueAll(cards->steps(), mode);
  } catch (...) {
    giveUp();
    for (const Rank &rank : ranks)
      for (const Stream &lane : rank.lanes)
        api.cuStreamSynchronize(lane); // what has begun touches memory
    chains.synchronize();
    throw;
  }
}

/// Whether each call of a library has run once as it is now: a library loads its code then, which it may not
/// while a graph is captured. Counts those as such that are about to run.
bool StepGraph::haveLibrariesRun() {
  bool haveRun = true;
  for (const StepWork::Item &item : work.items())
    if (const void *choice = item.calls.choice())
      haveRun &= !librariesRun.insert(choice).second;
  return haveRun;
}

void StepGraph::start(std::span<const AddressTable *const> meshes, bool isTimed,
                      const std::function<bool()> &stopped) {
  if (work.communicators().areAborted())
    throw Error("this process has to end, as a step before was broken off");
  isStopped = stopped;
  chains.start();
  work.communicators().begin(
      [this] { return isStopped() ? std::string("it is given up") : chains.findProblem(); });
  bind(meshes);
  wasTimed = isTimed;
  isRunning = true;
  if (isTimed || isBlocking)
    return run(isTimed ? Mode::timed : Mode::blocking);
  if (work.transfers() || (!isCurrent && !haveLibrariesRun()))
    return run(Mode::single);
  if (!isCurrent)
    capture();
  auto enqueuing = cards->enqueuing();
  cards->use(0);
  api.check(api.cuGraphLaunch(executable, cards->steps()), "cannot launch the step");
}

bool StepGraph::isDone() {
  cards->use(0);
  CUresult result = api.cuStreamQuery(cards->steps());
  if (std::string problem = chains.progress(); !problem.empty())
    throw Error(problem);
  if (result == CUDA_ERROR_NOT_READY)
    return false;
  api.check(result, "the step failed on the device (EPL_CUDA_BLOCKING=1 in the environment tells which "
                    "command of it)");
  isRunning = false;
  cards->freeUnused();
  for (uint32_t index : work.hostItems()) {
    const StepWork::Item &item = work.items()[index];
    if (std::string error = item.calls.host->takeError(); !error.empty())
      throw Error(work.describe(item) + ": " + error);
  }
  return true;
}

double StepGraph::secondsFromBegin(uint32_t card, const Event &event) const {
  float milliseconds = 0;
  api.check(api.cuEventElapsedTime(&milliseconds, timedBegins[card], event), "cannot read a time");
  return double(milliseconds) * 1e-3;
}

std::vector<StepGraph::Span> StepGraph::times() const {
  std::vector<Span> spans;
  if (!wasTimed)
    return spans;
  for (const StepWork::Item &item : work.items()) {
    if (item.calls.isEmpty() || item.isSent)
      continue;
    const Rank &rank = ranks[item.rank];
    const StepWork::Rank &place = work.localRanks()[item.rank];
    uint32_t command = item.command.command;
    cards->use(place.card);
    spans.push_back({place.part, place.rank, command, secondsFromBegin(place.card, rank.timedBegins[command]),
                     secondsFromBegin(place.card, rank.timedEnds[command])});
  }
  return spans;
}

void StepGraph::cancel() noexcept {
  giveUp();
  if (cards->tryUse(0))
    api.cuStreamSynchronize(cards->steps()); // whatever it says: nothing runs any more
}

} // namespace epl::runtime::cuda
