// Who may run what is decided without locks. Every rank belongs to one slice of the step, and the one thread
// that runs the slice (see Executor.cpp) alone moves its lanes on.
// A command at the head of its lane is ready when what it waits for has run: on its own rank the thread knows
// that; for others, each rank publishes how far its lanes have come in counters that it alone writes. So a
// command that no other rank waits for costs no atomic operation, and no cache line has two writers. A
// receive waits in the same way for those ranks of another mesh whose memory it reads. A worker that finds
// nothing ready polls, then sleeps until one that it may wait for wakes it.
#include "runtime/executor/Step.h"

#include <algorithm>
#include <exception>

namespace epl::runtime {

void Step::begin() {
  began = Frame::Clock::now();
  frame.beginStep();
}

bool Step::run(uint32_t worker) {
  if (isStopped())
    return true;
  if (!frame.workers[worker].isPrepared)
    prepareSlice(worker);
  if (!awaitPrepared(worker) || !runCommands(worker))
    return false;
  for (const Frame::Cursor &cursor : frame.workers[worker].cursors)
    if (!isStopped())
      collect(cursor);
  return true;
}

void Step::end() { frame.lastDuration = Frame::Clock::now() - began; }

void Step::prepareSlice(uint32_t worker) {
  Frame::Worker &self = frame.workers[worker];
  self.left = 0;
  for (Frame::Cursor &cursor : self.cursors) {
    prepare(cursor);
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
  for (int idling = 0;;) {
    uint32_t seen = executor.signal(worker);
    if (prepared.load(std::memory_order_acquire) == numWorkers() || isStopped())
      return true;
    if (!executor.idle(worker, seen, idling))
      return false;
  }
}

/// The same for all commands of the slice.
bool Step::runCommands(uint32_t worker) {
  size_t &left = frame.workers[worker].left;
  for (int idling = 0; left != 0;) {
    uint32_t seen = executor.signal(worker);
    if (sweep(worker, left))
      idling = 0;
    else if (isStopped())
      return true;
    else if (!executor.idle(worker, seen, idling))
      return false;
  }
  return true;
}

/// Runs one command of each rank that has one ready; whether there was any.
bool Step::sweep(uint32_t worker, size_t &left) {
  bool ran = false;
  for (Frame::Cursor &cursor : frame.workers[worker].cursors) {
    Frame::Lane *lane = nextLane(cursor);
    if (!lane)
      continue;
    if (isStopped())
      return false;
    runCommand(worker, cursor, lane->commands[lane->head]);
    lane->advance();
    --left;
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
  if (othersAreReady(cursor, first))
    return &first;
  for (uint32_t lane : program.computingLanes())
    if (isReady(cursor, cursor.lanes[lane]))
      return &cursor.lanes[lane];
  return nullptr;
}

bool Step::isReady(const Frame::Cursor &cursor, Frame::Lane &lane) const {
  if (lane.isDone())
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
    std::span<const uint32_t> members = cursor.program.topology().members(communicator, cursor.rank);
    for (; lane.member < members.size(); ++lane.member)
      if (!cursor.mesh.isPublished(members[lane.member], place))
        return false;
  }
  int32_t channel = cursor.program.receivedChannel(command);
  return channel < 0 || isSent(cursor, uint32_t(channel), lane.member);
}

/// Whether all from whom a rank receives have sent; the first `seen` of them have.
bool Step::isSent(const Frame::Cursor &cursor, uint32_t channel, uint32_t &seen) const {
  PartCommand sender = plan.channels().sender(channel);
  Program::Place place = plan.program(sender.part).place(sender.command);
  std::span<const uint32_t> sources = plan.channels().sources(channel, cursor.rank);
  while (seen < sources.size() && frame.meshes[sender.part].isPublished(sources[seen], place))
    ++seen;
  return seen == sources.size();
}

void Step::runCommand(uint32_t worker, const Frame::Cursor &cursor, uint32_t command) {
  const Program &program = cursor.program;
  bool traced = frame.trace.isEnabled();
  Trace::Clock::time_point begin = traced ? Trace::Clock::now() : Trace::Clock::time_point();
  bool isDone = true;
  try {
    isDone = program.actions().run(command, {program.topology(), cursor.mesh.addresses, cursor.rank,
                                             frame.workers[worker].pointers.data()});
  } catch (const std::exception &error) {
    const plan::CommandT &source = *program.plan().commands[command];
    fail("command \"" + source.name + "\"" + (source.location.empty() ? "" : " of " + source.location) +
         " on rank " + std::to_string(plan.device(program.part(), cursor.rank)) + ": " + error.what());
    return;
  }
  if (traced && isDone)
    frame.trace.record(worker, {program.part(), cursor.rank, command}, index, begin, Trace::Clock::now());
  if (!program.listeners(command).empty())
    announce(worker, cursor, command);
  if (int32_t channel = program.sentChannel(command); channel >= 0)
    announceSent(worker, cursor, uint32_t(channel));
}

/// Tells other ranks that a command has run. Workers that poll see it by themselves.
void Step::announce(uint32_t worker, const Frame::Cursor &cursor, uint32_t command) {
  const Program &program = cursor.program;
  cursor.mesh.publish(cursor.rank, program.place(command));
  for (uint32_t communicator : program.listeners(command))
    for (uint32_t member : program.topology().members(communicator, cursor.rank))
      if (uint32_t owner = frame.workerOf(plan.device(program.part(), member)); owner != worker)
        executor.wakeSleeper(owner);
}

/// The same for those who receive what a rank has sent.
void Step::announceSent(uint32_t worker, const Frame::Cursor &cursor, uint32_t channel) {
  cursor.mesh.publish(cursor.rank, cursor.program.place(plan.channels().sender(channel).command));
  for (uint32_t listener : plan.channels().listeners(channel, cursor.rank))
    if (uint32_t owner = frame.workerOf(plan.device(plan.channels().receiver(channel), listener));
        owner != worker)
      executor.wakeSleeper(owner);
}

} // namespace epl::runtime
