// Who may run what is decided without locks. Every rank belongs to one slice of the step, and the one thread
// that runs the slice (see Executor.cpp) alone moves its lanes on.
// A command at the head of its lane is ready when what it waits for has run: on its own rank the thread knows
// that; for others, each rank publishes how far its lanes have come in counters that it alone writes. So a
// command that no other rank waits for costs no atomic operation, and no cache line has two writers. A
// receive waits in the same way for those ranks of another mesh whose memory it reads, and a send for those
// that fetch the message in whose place it comes. A worker that finds nothing ready polls, then sleeps until
// one that it may wait for wakes it.
// A command may be complete when its start returns, as every one of a CPU is, or later: then its lane stands
// still, other lanes and ranks go on, and the thread asks it again. Meanwhile it sleeps for short times only.
#include "runtime/executor/Step.h"

#include "runtime/plan/model/Names.h"

#include <algorithm>
#include <exception>

namespace epl::runtime {

void Step::begin() {
  began = Frame::Clock::now();
  frame.beginStep();
}

bool Step::run(uint32_t worker) {
  if (!isStopped() && !runPhases(worker))
    return false;
  cancelAll(worker);
  return true;
}

/// As long as nothing stops it; false if the thread shall leave the slice.
bool Step::runPhases(uint32_t worker) {
  if (!frame.workers[worker].isPrepared) {
    if (!await(worker, &Step::haveArgumentsCome, "arguments"))
      return false;
    prepareSlice(worker);
  }
  if (!frame.workers[worker].isCollected) {
    if (!awaitPrepared(worker) || !runCommands(worker))
      return false;
    collectSlice(worker);
  }
  return await(worker, &Step::haveResultsCome, "results");
}

void Step::collectSlice(uint32_t worker) {
  for (const Frame::Cursor &cursor : frame.workers[worker].cursors)
    if (!isStopped())
      attempt(cursor, &Step::collect, "results");
  frame.workers[worker].isCollected = true;
}

/// False if the thread shall leave the slice.
bool Step::await(uint32_t worker, bool (Step::*isThere)(), const char *what) {
  for (Executor::Idling idling; !isStopped();) {
    uint32_t seen = executor.signal(worker);
    try {
      if ((this->*isThere)())
        return true;
    } catch (const std::exception &error) {
      fail(std::string(what) + ": " + error.what());
      return true;
    }
    if (!executor.poll(worker, seen, idling))
      return false;
  }
  return true;
}

/// Prepares a rank or takes its results.
void Step::attempt(const Frame::Cursor &cursor, void (Step::*phase)(const Frame::Cursor &),
                   const char *what) {
  try {
    (this->*phase)(cursor);
  } catch (const std::exception &error) {
    fail(std::string(what) + " of rank " +
         std::to_string(plan.ranks().device(cursor.program.part(), cursor.rank)) + ": " + error.what());
  }
}

bool Step::isWhole() const {
  return std::ranges::all_of(
      frame.workers, [](const Frame::Worker &worker) { return worker.isPrepared && worker.left == 0; });
}

void Step::end() {
  frame.lastDuration = Frame::Clock::now() - began;
  if (!isWhole())
    plan.collectives().breakOff();
}

void Step::prepareSlice(uint32_t worker) {
  Frame::Worker &self = frame.workers[worker];
  self.left = 0;
  for (Frame::Cursor &cursor : self.cursors) {
    attempt(cursor, &Step::prepare, "arguments");
    std::ranges::for_each(cursor.lanes, &Frame::Lane::rewind);
    cursor.next = 0;
    self.left += cursor.program.numCommands();
  }
  self.isPrepared = true;
  if (prepared.fetch_add(1, std::memory_order_acq_rel) + 1 != numWorkers())
    return;
  for (uint32_t other = 0; other < numWorkers(); ++other)
    if (other != worker)
      executor.wake(other);
}

/// A collective reads other ranks' slots without waiting for any command: they must be prepared. False if the
/// thread shall leave the slice.
bool Step::awaitPrepared(uint32_t worker) {
  for (Executor::Idling idling;;) {
    uint32_t seen = executor.signal(worker);
    if (prepared.load(std::memory_order_acquire) == numWorkers() || isStopped())
      return true;
    if (!executor.idle(worker, seen, idling))
      return false;
  }
}

/// The same for all commands of the slice.
bool Step::runCommands(uint32_t worker) {
  if (plan.step())
    return runWhole(worker);
  const Frame::Worker &self = frame.workers[worker];
  for (Executor::Idling idling; self.left != 0;) {
    uint32_t seen = executor.signal(worker);
    if (sweep(worker))
      idling = {};
    else if (isStopped())
      return true;
    else if (!rest(worker, seen, idling))
      return false;
  }
  return true;
}

/// Nobody wakes a thread for a command that is pending. While messages move, the next one is not far.
bool Step::rest(uint32_t worker, uint32_t seen, Executor::Idling &idling) {
  Frame::Worker &self = frame.workers[worker];
  if (self.pending.empty())
    return executor.idle(worker, seen, idling);
  if (self.seesMoved(plan.collectives().numMoved()))
    idling.since = {};
  lookAtOthers();
  return executor.poll(worker, seen, idling);
}

/// Completes what is pending, and starts one command of each rank that has one ready; whether anything was
/// done.
bool Step::sweep(uint32_t worker) {
  Frame::Worker &self = frame.workers[worker];
  bool ran = !self.pending.empty() && proceedAll(worker);
  for (Frame::Cursor &cursor : self.cursors) {
    Frame::Lane *lane = nextLane(cursor);
    if (!lane)
      continue;
    if (isStopped())
      return false;
    if (start(worker, cursor, *lane))
      --self.left;
    ran = true;
  }
  return ran;
}

/// The lane whose head a rank should run now; null if no head is ready. First comes what communicates, since
/// others wait for it; then program order, in which a command cannot wait for its own rank; then any lane.
Frame::Lane *Step::nextLane(Frame::Cursor &cursor) const {
  const Program &program = cursor.program;
  for (uint32_t lane : program.communicatingLanes())
    if (isReady(cursor, cursor.lanes[lane]))
      return &cursor.lanes[lane];
  while (cursor.next < program.numCommands() && cursor.hasRun(program.place(cursor.next)))
    ++cursor.next;
  if (cursor.next == program.numCommands())
    return nullptr;
  Frame::Lane &first = cursor.lanes[program.place(cursor.next).lane];
  if (!first.isPending && othersAreReady(cursor, first))
    return &first;
  for (uint32_t lane : program.computingLanes())
    if (isReady(cursor, cursor.lanes[lane]))
      return &cursor.lanes[lane];
  return nullptr;
}

bool Step::isReady(const Frame::Cursor &cursor, Frame::Lane &lane) const {
  if (lane.isDone() || lane.isPending)
    return false;
  auto hasRun = [&](Program::Place place) { return cursor.hasRun(place); };
  return std::ranges::all_of(cursor.program.localWaits(lane.commands[lane.head]), hasRun) &&
         othersAreReady(cursor, lane);
}

/// Whether other ranks have run what the head of a lane waits for. Begins where the look before it ended.
bool Step::othersAreReady(const Frame::Cursor &cursor, Frame::Lane &lane) const {
  uint32_t command = lane.commands[lane.head];
  std::span<const Program::RemoteWait> waits = cursor.program.remoteWaits(command);
  for (; lane.wait < waits.size(); ++lane.wait, lane.member = 0) {
    auto [place, communicator] = waits[lane.wait];
    std::span<const uint32_t> members = cursor.program.peers(communicator, cursor.rank);
    for (; lane.member < members.size(); ++lane.member)
      if (!cursor.mesh.isPublished(members[lane.member], place))
        return false;
  }
  if (const std::optional<Program::Message> &received = cursor.program.received(command))
    return isSent(cursor, *received, lane.member);
  const std::optional<Program::Message> &sent = cursor.program.sent(command);
  return !sent || hasRoom(cursor, *sent, lane.member);
}

/// Whether all from whom a rank receives have sent; the first `seen` of them have.
bool Step::isSent(const Frame::Cursor &cursor, Program::Message message, uint32_t &seen) const {
  auto [channel, index] = message;
  return haveRun(plan.channels().sources(channel, cursor.rank), plan.channels().messages(channel)[index].send,
                 seen);
}

/// Whether all who fetch from a rank have fetched the message that the next one takes the place of.
bool Step::hasRoom(const Frame::Cursor &cursor, Program::Message message, uint32_t &seen) const {
  auto [channel, index] = message;
  uint32_t depth = plan.channels().depth(channel);
  return index < depth || haveRun(plan.channels().listeners(channel, cursor.rank),
                                  plan.channels().messages(channel)[index - depth].receive, seen);
}

/// Whether those ranks of the command's part that are here have run it; the first `seen` of them have.
bool Step::haveRun(std::span<const uint32_t> others, PartCommand command, uint32_t &seen) const {
  Program::Place place = plan.program(command.part).place(command.command);
  auto isHere = [&](uint32_t rank) { return plan.ranks().has(command.part, rank); };
  while (seen < others.size() &&
         (!isHere(others[seen]) || frame.meshes[command.part].isPublished(others[seen], place)))
    ++seen;
  return seen == others.size();
}

CommandContext Step::contextOf(uint32_t worker, const Frame::Cursor &cursor) const {
  return {cursor.program.topology(), cursor.mesh.addresses, cursor.rank,
          frame.workers[worker].pointers.data()};
}

/// Begins a command on a rank, or asks for one that is pending; none if it fails.
std::optional<CommandState> Step::run(uint32_t worker, const Frame::Cursor &cursor, uint32_t command,
                                      bool isPending) {
  Command *bound = cursor.program.command(command);
  try {
    if (!bound)
      return exchange(cursor, command);
    return isPending ? bound->proceed(contextOf(worker, cursor)) : bound->start(contextOf(worker, cursor));
  } catch (const std::exception &error) {
    reportError(cursor, command, error.what());
    return std::nullopt;
  }
}

/// Starts the head of a lane; whether it has run.
bool Step::start(uint32_t worker, Frame::Cursor &cursor, Frame::Lane &lane) {
  uint32_t command = lane.commands[lane.head];
  bool isTraced = frame.trace.isEnabled();
  Frame::Clock::time_point begin = isTraced ? Frame::Clock::now() : Frame::Clock::time_point();
  std::optional<CommandState> state = run(worker, cursor, command, /*isPending=*/false);
  if (!state)
    return false;
  if (state == CommandState::pending) {
    lane.isPending = true;
    frame.workers[worker].pending.push_back({&cursor, &lane, begin});
    return false;
  }
  if (isTraced)
    record(worker, cursor, command, *state, begin);
  complete(worker, cursor, lane);
  return true;
}

/// Asks for a command that is pending; whether it has ended.
bool Step::proceed(uint32_t worker, const Frame::Pending &pending) {
  const Frame::Cursor &cursor = *pending.cursor;
  uint32_t command = pending.lane->commands[pending.lane->head];
  std::optional<CommandState> state = run(worker, cursor, command, /*isPending=*/true);
  if (!state)
    return true;
  if (state == CommandState::pending)
    return false;
  if (frame.trace.isEnabled())
    record(worker, cursor, command, *state, pending.begin);
  pending.lane->isPending = false;
  complete(worker, cursor, *pending.lane);
  --frame.workers[worker].left;
  return true;
}

/// The same for all of them; whether any has ended.
bool Step::proceedAll(uint32_t worker) {
  return std::erase_if(frame.workers[worker].pending, [&](const Frame::Pending &pending) {
    return !isStopped() && proceed(worker, pending);
  });
}

/// Ends what is still pending, of a step that was stopped.
void Step::cancelAll(uint32_t worker) {
  cancelWhole(worker);
  for (const Frame::Pending &pending : frame.workers[worker].pending) {
    uint32_t command = pending.lane->commands[pending.lane->head];
    if (Command *bound = pending.cursor->program.command(command))
      bound->cancel(contextOf(worker, *pending.cursor));
  }
  frame.workers[worker].pending.clear();
}

void Step::record(uint32_t worker, const Frame::Cursor &cursor, uint32_t command, CommandState state,
                  Frame::Clock::time_point begin) {
  if (state == CommandState::done)
    frame.trace.record(worker, {cursor.program.part(), cursor.rank, command}, index, begin,
                       Frame::Clock::now());
}

/// The head of a lane has run: tells who waits for it.
void Step::complete(uint32_t worker, const Frame::Cursor &cursor, Frame::Lane &lane) {
  uint32_t command = lane.commands[lane.head];
  if (cursor.program.isHeard(command))
    announce(worker, cursor, command);
  lane.advance();
}

void Step::reportError(const Frame::Cursor &cursor, uint32_t command, const char *reason) {
  const plan::CommandT &source = *cursor.program.plan().commands[command];
  fail(commandOnRank(source, plan.ranks().device(cursor.program.part(), cursor.rank)) + ": " + reason);
}

/// Tells other ranks that a command has run. Workers that poll see it by themselves.
void Step::announce(uint32_t worker, const Frame::Cursor &cursor, uint32_t command) {
  const Program &program = cursor.program;
  cursor.mesh.publish(cursor.rank, program.place(command));
  for (uint32_t communicator : program.listeners(command))
    for (uint32_t member : program.peers(communicator, cursor.rank))
      if (uint32_t owner = frame.workerOf(program.part(), member); owner != worker)
        executor.wakeSleeper(owner);
  const Channels &channels = plan.channels();
  if (const std::optional<Program::Message> &sent = program.sent(command))
    wakeRanks(worker, channels.receiver(sent->channel), channels.listeners(sent->channel, cursor.rank));
  if (const std::optional<Program::Message> &received = program.received(command))
    wakeRanks(worker, channels.sender(received->channel), channels.sources(received->channel, cursor.rank));
}

/// Wakes ranks of another part, which wait for what has run.
void Step::wakeRanks(uint32_t worker, uint32_t part, std::span<const uint32_t> ranks) {
  for (uint32_t rank : ranks)
    if (uint32_t owner = frame.workerOf(part, rank); owner != worker && owner < numWorkers())
      executor.wakeSleeper(owner);
}

} // namespace epl::runtime
