#include "runtime/device/cuda/StepGraph.h"

#include "runtime/device/cuda/Environment.h"

#include <algorithm>

namespace epl::runtime::cuda {

// A launch of a graph takes the host about as long as launches of so many kernels.
static constexpr uint32_t kCallsOfGraph = 2;

StepGraph::StepGraph(std::shared_ptr<const Cards> shared, std::shared_ptr<Copies> copies,
                     std::shared_ptr<const Images> images, std::shared_ptr<Communicators> communicators,
                     const plan::PlanT &plan, const Channels &channels, const LocalRanks &local)
    : cards(std::move(shared)), api(cards->driver()),
      work(cards, std::move(copies), std::move(images), std::move(communicators), plan, channels, local),
      chains(*cards, work), lanes(makeLanes()), calls(api, work), graphs(*cards, work, lanes),
      isBlocking(isSwitchedOn("EPL_CUDA_BLOCKING")) {
  cards->use(0);
  begun = makeEvent(api);
  timedBegins.resize(cards->size());
}

StepGraph::~StepGraph() {
  isRunning = false; // what runs ends by itself
  cancel();
}

/// Of all local ranks. The first one that computes on the card of the stream of steps is that one in graphs.
std::vector<Stream> StepGraph::makeLanes() {
  std::vector<Stream> made;
  for (const StepWork::Rank &rank : work.localRanks()) {
    cards->use(rank.card);
    for (const auto &lane : work.plan(rank.part).lanes) {
      bool isUrgent = lane->kind == plan::LaneKind::communicate; // others wait for it
      if (origin == kNowhere && rank.card == 0 && !isUrgent)
        origin = uint32_t(made.size());
      made.push_back(makeStream(api, isUrgent));
    }
  }
  return made;
}

/// For the items of the work, which are new.
void StepGraph::makeSchedules() {
  std::span<const StepNode> nodes = work.nodes();
  single = {orderLaunches(nodes, launchEach(nodes), kNowhere), {}, {}};
  Launches launches = joinPieces(nodes, work.pieces(), work.transfers() ? kCallsOfGraph : 0);
  joined = {orderLaunches(nodes, launches, origin), {}, {}};
  for (Schedule *schedule : {&single, &joined})
    for (std::vector<Event> *events : {&schedule->ends, &schedule->gates})
      events->resize(schedule->order.launches.size());
  graphs.reset(joined.order, single.order);
  itemBegins.resize(work.items().size());
  itemEnds.resize(work.items().size());
}

//===----------------------------------------------------------------------===//
// Launches on streams
//===----------------------------------------------------------------------===//

CUstream StepGraph::streamOf(const Launch &launch, Mode mode) const {
  if (launch.isTransfer)
    return chains.stream(launch.card);
  return mode == Mode::graphs && launch.stream == origin ? cards->steps() : lanes[launch.stream].get();
}

/// The stream of a launch goes on behind all that the launch needs. Times begin with the step.
void StepGraph::awaitNeeds(Schedule &schedule, size_t place, Mode mode) {
  const Launch &launch = schedule.order.launches[place];
  CUstream own = streamOf(launch, mode);
  cards->use(launch.card);
  bool beginsCard = mode == Mode::timed && !hasBegun[launch.card];
  if (launch.awaitsBegin || beginsCard)
    await(api, own, begun);
  if (beginsCard)
    record(api, timedBegins[launch.card], own, true);
  hasBegun[launch.card] = true;
  for (uint32_t before : launch.waits)
    await(api, own, schedule.ends[before]);
  if (launch.gate != kNowhere)
    await(api, own, schedule.gates[launch.gate]);
  if (launch.isGate)
    record(api, schedule.gates[place], own);
}

void StepGraph::recordEnd(Schedule &schedule, size_t place, Mode mode) {
  const Launch &launch = schedule.order.launches[place];
  if (!launch.isAwaited)
    return;
  cards->use(launch.card);
  record(api, schedule.ends[place], streamOf(launch, mode));
}

void StepGraph::enqueueNode(const StepNode &node, CUstream own, Mode mode) {
  if (mode == Mode::timed && node.kind != StepNode::Kind::behind)
    record(api, itemBegins[node.item], own, true);
  const StepWork::Item &item = work.items()[node.item];
  if (work.transfers() && !item.calls.isCapturable())
    work.check(item, awaitStream(item, own)); // here, as messages do not go on while a library waits
  calls.enqueue(node, own);
  if (mode == Mode::timed && node.kind != StepNode::Kind::before)
    record(api, itemEnds[node.item], own, true);
  if (mode == Mode::blocking)
    work.check(item, awaitStream(item, own));
}

void StepGraph::enqueue(Schedule &schedule, size_t place, Mode mode) {
  const Launch &launch = schedule.order.launches[place];
  CUstream own = streamOf(launch, mode);
  awaitNeeds(schedule, place, mode);
  if (launch.isGraph)
    api.check(graphs.launch(place, own), "cannot launch the step");
  else
    enqueueNode(work.nodes()[launch.nodes.front()], own, mode);
  recordEnd(schedule, place, mode);
}

/// Those of one command, from a place on: where they end.
size_t StepGraph::enqueueTransfers(Schedule &schedule, size_t first, Mode mode) {
  const std::vector<Launch> &launches = schedule.order.launches;
  uint32_t item = work.nodes()[launches[first].nodes.front()].item, endItem = item;
  size_t end = first;
  for (; end < launches.size() && launches[end].isTransfer &&
         work.nodes()[launches[end].nodes.front()].item == item;
       ++end)
    awaitNeeds(schedule, end, mode);
  for (; endItem < work.items().size() && work.items()[endItem].command == work.items()[item].command;
       ++endItem)
    if (work.items()[endItem].isSent)
      chains.pack(work.items()[endItem]);
  chains.run(work.items().subspan(item, endItem - item));
  for (size_t place = first; place < end; ++place)
    recordEnd(schedule, place, mode);
  return end;
}

/// All commands, behind what is on the stream of steps, which goes on behind all of them.
void StepGraph::enqueueAll(Schedule &schedule, Mode mode) {
  cards->use(0);
  if (schedule.order.isBeginAwaited)
    record(api, begun, cards->steps());
  hasBegun.assign(cards->size(), false);
  chains.clear();
  for (size_t place = 0; place < schedule.order.launches.size();)
    if (schedule.order.launches[place].isTransfer)
      place = enqueueTransfers(schedule, place, mode);
    else
      enqueue(schedule, place++, mode);
  cards->use(0);
  for (uint32_t last : schedule.order.ends)
    await(api, cards->steps(), schedule.ends[last]);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void StepGraph::bind(std::span<const AddressTable *const> meshes) {
  if (work.bind(meshes) == StepWork::Change::items)
    return makeSchedules();
  for (uint32_t item : work.changed())
    graphs.change(item);
}

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

void StepGraph::run(Mode mode) {
  auto enqueuing = cards->enqueuing();
  try {
    if (mode == Mode::graphs)
      graphs.capture();
    enqueueAll(mode == Mode::graphs ? joined : single, mode);
  } catch (...) {
    giveUp();
    for (const Stream &lane : lanes)
      api.cuStreamSynchronize(lane); // what has begun touches memory
    chains.synchronize();
    api.cuStreamSynchronize(cards->steps());
    throw;
  }
}

/// Whether each call of a library has run once as it is now, on its stream: a library loads its code then,
/// and makes what it has of a stream, which it may not while a graph is captured. Counts those as such that
/// are about to run.
bool StepGraph::haveLibrariesRun() {
  bool haveRun = true;
  for (const StepWork::Item &item : work.items())
    if (item.calls.library)
      haveRun &= !librariesRun.insert({item.calls.library->choice(), work.laneOf(item)}).second;
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
  bool mayBeGraphs = work.isCapturable() && (graphs.areCurrent() || haveLibrariesRun());
  run(mayBeGraphs ? Mode::graphs : Mode::single);
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
  for (size_t index = 0; index < work.items().size(); ++index) {
    const StepWork::Item &item = work.items()[index];
    if (item.calls.isEmpty() || item.isSent)
      continue;
    const StepWork::Rank &place = work.localRanks()[item.rank];
    cards->use(place.card);
    spans.push_back({place.part, place.rank, item.command.command,
                     secondsFromBegin(place.card, itemBegins[index]),
                     secondsFromBegin(place.card, itemEnds[index])});
  }
  return spans;
}

void StepGraph::cancel() noexcept {
  giveUp();
  if (cards->tryUse(0))
    api.cuStreamSynchronize(cards->steps()); // whatever it says: nothing runs any more
}

} // namespace epl::runtime::cuda
